"""What priority-based flow control can do wrong."""
