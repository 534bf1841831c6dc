"""Video and bursty data."""
