"""Figures of a sweep: its axes, panels and maps, and the choice of figures."""
