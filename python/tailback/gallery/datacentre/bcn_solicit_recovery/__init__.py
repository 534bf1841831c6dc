"""Recovery with and without the Solicit bit."""
