"""Packet marking in the sender."""
