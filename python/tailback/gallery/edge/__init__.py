"""Quality of service at the customer edge (Mitroi and Stroescu)."""
