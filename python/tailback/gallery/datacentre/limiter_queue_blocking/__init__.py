"""Limited frames that exhaust the edge's memory, and queue management against it."""
