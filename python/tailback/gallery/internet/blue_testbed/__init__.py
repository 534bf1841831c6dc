"""Blue on the testbed."""
