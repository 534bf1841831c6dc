"""Blue against RED."""
