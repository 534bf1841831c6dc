"""RED with and without ECN."""
