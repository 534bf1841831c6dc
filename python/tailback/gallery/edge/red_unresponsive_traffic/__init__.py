"""RED and tail drop for traffic that does not respond."""
