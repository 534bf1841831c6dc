"""Parts that the Internet experiments share: bottlenecks, senders, TCP models and service classes."""
