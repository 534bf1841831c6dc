"""Figures of a sweep: axes, panels, maps, and which of them a sweep gets."""
