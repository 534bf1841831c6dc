"""Backward congestion notification in data-centre Ethernet: Bergamasco's presentation of July 2005."""
