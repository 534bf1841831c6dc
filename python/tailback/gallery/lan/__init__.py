"""Experiments of the slides on Ethernet LANs (Tobagi, Fraleigh and Noureddine)."""
