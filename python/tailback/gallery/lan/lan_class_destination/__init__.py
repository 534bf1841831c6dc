"""Class and destination together."""
