"""Exhaustion of an edge's memory by rate-limited frames, and queue management against it."""
