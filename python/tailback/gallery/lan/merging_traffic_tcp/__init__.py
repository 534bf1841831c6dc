"""Traffic merging with TCP sources."""
