"""Laws that the user writes: their interface, and the loader of their files."""
