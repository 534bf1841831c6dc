"""Data as TCP under tail drop and WRED."""
