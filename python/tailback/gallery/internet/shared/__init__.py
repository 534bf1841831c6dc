"""Bottlenecks, senders, services and models of the Internet experiments."""
