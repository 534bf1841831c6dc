"""Headroom above the high threshold."""
