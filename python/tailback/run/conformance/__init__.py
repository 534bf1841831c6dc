"""Conformance of users' queue laws: whether a law keeps the promises of its interface and repeats its results."""
