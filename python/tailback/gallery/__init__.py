"""Experiments that reproduce published figures, a folder each. The README shows how to add one."""
