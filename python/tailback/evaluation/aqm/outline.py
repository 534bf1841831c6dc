"""Outline of RFC 7928, sections 4 to 12: each section is a row of the card."""

from __future__ import annotations

from tailback.evaluation.outline import Section

__all__ = ["OUTLINE", "REFERENCE"]

REFERENCE = (
    "N. Kuhn, P. Natarajan, N. Khademi and D. Ros: Characterization Guidelines for Active Queue Management (AQM), "
    "RFC 7928, July 2016"
)


OUTLINE = tuple(
    Section(number, title, number)
    for number, title in (
        ("4", "Methodology, Metrics, AQM Comparisons, Packet Sizes, Scheduling, and ECN"),
        ("4.1", "Methodology"),
        ("4.2", "Comments on Metrics Measurement"),
        ("4.3", "Comparing AQM Schemes"),
        ("4.3.1", "Performance Comparison"),
        ("4.3.2", "Deployment Comparison"),
        ("4.4", "Packet Sizes and Congestion Notification"),
        ("4.5", "Interaction with ECN"),
        ("4.6", "Interaction with Scheduling"),
        ("5", "Transport Protocols"),
        ("5.1", "TCP-Friendly Sender"),
        ("5.1.1", "TCP-Friendly Sender with the Same Initial Congestion Window"),
        ("5.1.2", "TCP-Friendly Sender with Different Initial Congestion Windows"),
        ("5.2", "Aggressive Transport Sender"),
        ("5.3", "Unresponsive Transport Sender"),
        ("5.4", "Less-than-Best-Effort Transport Sender"),
        ("6", "Round-Trip Time Fairness"),
        ("6.1", "Motivation"),
        ("6.2", "Recommended Tests"),
        ("6.3", "Metrics to Evaluate the RTT Fairness"),
        ("7", "Burst Absorption"),
        ("7.1", "Motivation"),
        ("7.2", "Recommended Tests"),
        ("8", "Stability"),
        ("8.1", "Motivation"),
        ("8.2", "Recommended Tests"),
        ("8.2.1", "Definition of the Congestion Level"),
        ("8.2.2", "Mild Congestion"),
        ("8.2.3", "Medium Congestion"),
        ("8.2.4", "Heavy Congestion"),
        ("8.2.5", "Varying the Congestion Level"),
        ("8.2.6", "Varying Available Capacity"),
        ("8.3", "Parameter Sensitivity and Stability Analysis"),
        ("9", "Various Traffic Profiles"),
        ("9.1", "Traffic Mix"),
        ("9.2", "Bidirectional Traffic"),
        ("10", "Example of a Multi-AQM Scenario"),
        ("10.1", "Motivation"),
        ("10.2", "Details on the Evaluation Scenario"),
        ("11", "Implementation Cost"),
        ("11.1", "Motivation"),
        ("11.2", "Recommended Discussion"),
        ("12", "Operator Control and Auto-Tuning"),
        ("12.1", "Motivation"),
        ("12.2", "Recommended Discussion"),
    )
)
"""Sections in the order of the RFC; numbers and titles are those of its table of contents."""
