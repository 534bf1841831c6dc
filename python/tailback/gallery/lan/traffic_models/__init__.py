"""The traffic models of the slides: bursts, long memory, and loss at one load."""
