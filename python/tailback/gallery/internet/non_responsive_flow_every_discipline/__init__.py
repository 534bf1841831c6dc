"""One non-responsive flow under every queue discipline."""
