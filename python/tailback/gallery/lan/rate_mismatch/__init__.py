"""Rate mismatch."""
