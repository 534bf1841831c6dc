"""The traffic models of the deck: their bursts, their memory, and what they lose at one load."""
