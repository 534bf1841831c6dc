"""One non-responsive flow against 400 TCP flows."""
