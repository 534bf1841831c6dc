"""The loss model of TCP."""
