"""Packet traces: the selection of rows, folders of Parquet parts, and reading them."""
