"""An extended LAN of 300 hosts."""
