"""Results of runs: reports, metrics with units, confidence intervals, tables, and files."""
