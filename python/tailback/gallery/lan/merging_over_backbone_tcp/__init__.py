"""Merging over the backbone with TCP sources."""
