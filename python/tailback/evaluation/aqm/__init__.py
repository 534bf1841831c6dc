"""Evaluation of a queue discipline by RFC 7928: outline, choices, and scenarios by section."""
