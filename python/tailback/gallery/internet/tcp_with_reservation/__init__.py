"""E18: TCP with a reservation."""
