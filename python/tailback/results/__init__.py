"""What a run reports: metrics with units, intervals, tables, and the files that hold them."""
