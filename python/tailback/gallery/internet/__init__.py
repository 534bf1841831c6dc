"""TCP and active queue management: the experiments of Feng's thesis defence (1999)."""
