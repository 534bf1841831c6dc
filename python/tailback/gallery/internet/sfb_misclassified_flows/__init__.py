"""Misclassified flows."""
