"""Sources of the LAN experiments."""
