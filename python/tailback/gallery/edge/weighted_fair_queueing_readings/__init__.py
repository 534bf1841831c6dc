"""Four readings of weighted fair queueing."""
