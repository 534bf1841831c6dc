"""Reservations metered, and WRED."""
