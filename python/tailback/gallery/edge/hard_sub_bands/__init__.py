"""Capacity that hard sub-bands waste."""
