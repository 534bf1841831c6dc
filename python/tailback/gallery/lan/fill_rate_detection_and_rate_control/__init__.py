"""Fill-rate detection and rate control."""
