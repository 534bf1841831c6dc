"""Service level management."""
