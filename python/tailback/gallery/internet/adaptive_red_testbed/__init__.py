"""Adaptive RED on a testbed, emulated."""
