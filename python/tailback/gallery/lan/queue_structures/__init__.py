"""What the queue structure of the switches does to back-pressure."""
