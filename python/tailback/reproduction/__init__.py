"""Reproduction of experiments: figures, samples, claims as JSON, and the HTML report."""
