"""Searches step by step among the symbols of shortlists: which these are, and what writes them."""
