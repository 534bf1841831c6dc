"""RED does not lower loss."""
