"""Whom to notify, and of which addresses."""
