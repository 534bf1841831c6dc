"""The supplementary traffic as a ramp."""
