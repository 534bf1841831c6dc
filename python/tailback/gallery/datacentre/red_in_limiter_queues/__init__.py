"""RED in the rate limiters' queues against the simple queue management."""
