"""Traffic merging."""
