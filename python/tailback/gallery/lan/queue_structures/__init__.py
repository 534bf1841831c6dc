"""Effect of the switches' queue structure on back-pressure."""
