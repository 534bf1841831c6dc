"""The moving hash."""
