"""Pictures, pages and tables: what every view is drawn with."""
