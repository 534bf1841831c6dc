"""Readings of weighted fair queueing."""
