"""Switch models side by side."""
