"""The traffic models of the deck: their bursts, their memory, and their losses at one load."""
