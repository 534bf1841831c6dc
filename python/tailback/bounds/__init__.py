"""Analytic results without a simulation: worst-case bounds, fluid shares, and PAUSE and PFC headroom."""
