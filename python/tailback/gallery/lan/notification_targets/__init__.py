"""Receivers of notifications, and the addresses in them."""
