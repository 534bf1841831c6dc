"""The simulation of July 2005 with TCP and UDP."""
