"""Growth in one round trip."""
