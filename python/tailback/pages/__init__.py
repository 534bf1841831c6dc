"""Self-contained HTML pages of results: with charts that the reader can zoom into, and without scripts."""
