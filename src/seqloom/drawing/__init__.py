"""Pictures, pages and tables, drawn from plain arrays and labels; all use of matplotlib."""
