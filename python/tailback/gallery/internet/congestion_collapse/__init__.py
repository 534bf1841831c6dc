"""Congestion collapse and its prevention."""
