"""Idealised notifications against MAC control frames."""
