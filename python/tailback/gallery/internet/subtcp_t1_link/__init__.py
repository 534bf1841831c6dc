"""SubTCP against TCP on a T1 link."""
