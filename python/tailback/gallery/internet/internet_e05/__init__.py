"""Static early detection."""
