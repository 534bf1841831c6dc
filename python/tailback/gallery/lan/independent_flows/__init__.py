"""Independent flows."""
