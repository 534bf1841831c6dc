"""Figures: style and curves, networks, sweeps and experiments. Needs the extra `tailback[plot]`."""
