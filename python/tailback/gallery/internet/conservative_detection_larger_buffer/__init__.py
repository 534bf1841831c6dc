"""Conservative detection with a larger buffer."""
