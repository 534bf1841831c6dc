"""TCP and active queue management: experiments after the slides of Feng's thesis defence (1999)."""
