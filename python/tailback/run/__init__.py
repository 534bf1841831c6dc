"""Runs of scenarios: replications on executors, adaptive numbers of replications, and results."""
