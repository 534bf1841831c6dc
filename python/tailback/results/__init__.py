"""Results of runs: reports, metrics with units, intervals, tables, and the files that hold them."""
