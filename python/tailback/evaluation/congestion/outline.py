"""Outlines of RFC 9743, RFC 5166 and the TCP evaluation suite: each section with a criterion or a test is a row."""

from __future__ import annotations

from tailback.evaluation.outline import Section

__all__ = ["CHECKED", "OUTLINE", "REFERENCES"]

REFERENCES = (
    "M. Duke and G. Fairhurst (editors): Specifying New Congestion Control Algorithms, BCP 133, RFC 9743, March 2025",
    "S. Floyd (editor): Metrics for the Evaluation of Congestion Control Mechanisms, RFC 5166, March 2008",
    "D. Hayes, D. Ros, L. Andrew and S. Floyd: Common TCP Evaluation Suite, draft-irtf-iccrg-tcpeval-01, July 2014; "
    "after L. Andrew et al.: Towards a Common TCP Evaluation Suite, PFLDnet 2008",
)
CHECKED = (
    "The numbers and titles of the sections, and the values in the last table that name a section, were compared with "
    "the texts of both RFCs and of the draft, an expired one."
)

_RFC9743 = (
    ("5", "Evaluation Criteria"),
    ("5.1", "Single Algorithm Behavior"),
    ("5.1.1", "Protection Against Congestion Collapse"),
    ("5.1.2", "Protection Against Bufferbloat"),
    ("5.1.3", "Protection Against High Packet Loss"),
    ("5.1.4", "Fairness Within the Proposed Congestion Control Algorithm"),
    ("5.1.5", "Short Flows"),
    ("5.2", "Mixed Algorithm Behavior"),
    ("5.2.1", "Existing General-Purpose Congestion Control"),
    ("5.2.2", "Real-Time Congestion Control"),
    ("5.2.3", "Short and Long Flows"),
    ("5.3", "Other Criteria"),
    ("5.3.1", "Differences with Congestion Control Principles"),
    ("5.3.2", "Incremental Deployment"),
    ("6", "General Use"),
    ("6.1", "Paths with Tail-Drop Queues"),
    ("6.2", "Tunnel Behavior"),
    ("6.3", "Wired Paths"),
    ("6.4", "Wireless Paths"),
    ("7", "Special Cases"),
    ("7.1", "Active Queue Management (AQM)"),
    ("7.2", "Operation with the Envelope Set by Network Circuit Breakers"),
    ("7.3", "Paths with Varying Delay"),
    ("7.4", "Internet of Things and Constrained Nodes"),
    ("7.5", "Paths with High Delay"),
    ("7.6", "Misbehaving Nodes"),
    ("7.7", "Extreme Packet Reordering"),
    ("7.8", "Transient Events"),
    ("7.9", "Sudden Changes in the Path"),
    ("7.10", "Multipath Transport"),
    ("7.11", "Data Centers"),
)
_RFC5166 = (
    ("2", "Metrics"),
    ("2.1", "Throughput, Delay, and Loss Rates"),
    ("2.1.1", "Throughput"),
    ("2.1.2", "Delay"),
    ("2.1.3", "Packet Loss Rates"),
    ("2.2", "Response Times and Minimizing Oscillations"),
    ("2.2.1", "Response to Changes"),
    ("2.2.2", "Minimizing Oscillations"),
    ("2.3", "Fairness and Convergence"),
    ("2.3.1", "Metrics for Fairness between Flows"),
    ("2.3.2", "Metrics for Fairness between Flows with Different Resource Requirements"),
    ("2.3.3", "Comments on Fairness"),
    ("2.4", "Robustness for Challenging Environments"),
    ("2.5", "Robustness to Failures and to Misbehaving Users"),
    ("2.6", "Deployability"),
    ("2.7", "Metrics for Specific Types of Transport"),
    ("2.8", "User-Based Metrics"),
)
_SUITE = (
    ("2", "Traffic generation"),
    ("3", "Achieving reliable results in minimum time"),
    ("4", "Basic scenarios"),
    ("4.1", "Basic topology"),
    ("4.2", "Traffic"),
    ("4.3", "Flows under test"),
    ("4.4", "Scenarios"),
    ("4.4.1", "Data Center"),
    ("4.4.2", "Access Link"),
    ("4.4.3", "Trans-Oceanic Link"),
    ("4.4.4", "Geostationary Satellite"),
    ("4.4.5", "Wireless LAN"),
    ("4.4.6", "Dial-up Link"),
    ("4.5", "Metrics of interest"),
    ("5", "Latency specific experiments"),
    ("5.1", "Delay/throughput tradeoff as function of queue size"),
    ("5.2", "Ramp up time: completion time of one flow"),
    ("5.3", "Transients: release of bandwidth, arrival of many flows"),
    ("6", "Throughput- and fairness-related experiments"),
    ("6.1", "Impact on standard TCP traffic"),
    ("6.2", "Intra-protocol and inter-RTT fairness"),
    ("6.3", "Multiple bottlenecks"),
)
OUTLINE = tuple(
    section
    for document, title, sections in (
        ("rfc9743", "RFC 9743", _RFC9743),
        ("rfc5166", "RFC 5166", _RFC5166),
        ("tcpeval", "TCP evaluation suite", _SUITE),
    )
    for section in (
        Section(document, title, ""),
        *(Section(f"{document}/{number}", text, number) for number, text in sections),
    )
)
"""Documents with their sections, in their order; Potential Revisions and the like are left out."""
