"""Runs: replications on executors, the loop that adds replications, and the result of a scenario."""
