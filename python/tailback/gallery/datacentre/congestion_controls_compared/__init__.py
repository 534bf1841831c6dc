"""Congestion controls of data centres on one bench."""
