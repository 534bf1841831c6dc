"""Experiments of the LAN deck (Tobagi, Fraleigh and Noureddine)."""
