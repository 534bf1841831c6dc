"""The simulation of July 2005: six edge switches, one core switch, TCP only."""
