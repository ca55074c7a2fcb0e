"""Drawings, pages and tables from plain arrays and labels; the only user of matplotlib."""
