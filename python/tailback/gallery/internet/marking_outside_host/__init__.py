"""Packet marking outside the host."""
