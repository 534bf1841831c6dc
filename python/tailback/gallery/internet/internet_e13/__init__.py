"""Understanding Blue."""
