"""RED in the rate limiters' queues compared with the simple queue management."""
