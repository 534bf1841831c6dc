"""Congestion collapse, and what prevents it."""
