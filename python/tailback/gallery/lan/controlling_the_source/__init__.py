"""Controlling the source."""
