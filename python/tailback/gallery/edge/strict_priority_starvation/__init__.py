"""Strict priority starves lower levels."""
