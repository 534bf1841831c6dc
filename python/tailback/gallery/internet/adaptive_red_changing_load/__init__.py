"""Adaptive RED under a changing load."""
