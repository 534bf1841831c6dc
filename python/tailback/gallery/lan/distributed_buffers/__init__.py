"""Distributed buffers."""
