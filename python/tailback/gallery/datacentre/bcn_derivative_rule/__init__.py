"""Signals with and without the derivative rule."""
