"""Traffic sources that the LAN experiments share."""
