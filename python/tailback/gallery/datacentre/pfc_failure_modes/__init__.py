"""Failure modes of priority-based flow control."""
