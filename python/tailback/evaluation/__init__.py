"""Report cards: characterisation of a discipline or a congestion control by the guides of the IETF and the IRTF."""
