"""Experiments on TCP and active queue management (W. Feng's 1999 defence)."""
