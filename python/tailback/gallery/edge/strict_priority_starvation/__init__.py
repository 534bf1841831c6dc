"""Strict priority starves what is below."""
