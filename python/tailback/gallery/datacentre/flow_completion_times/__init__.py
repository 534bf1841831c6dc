"""Completion times of published mixes of flows."""
