"""Experiments on data centres: backward congestion notification (Bergamasco, July 2005), other controls, and PFC."""
