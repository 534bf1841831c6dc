"""Every queue discipline under heavy load."""
