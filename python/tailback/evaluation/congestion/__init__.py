"""Evaluation of a congestion control by RFC 9743, RFC 5166 and the TCP evaluation suite."""
