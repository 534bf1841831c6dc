"""Merging over the backbone."""
