"""HTML reports on finished runs."""
