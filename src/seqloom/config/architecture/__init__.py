"""Options of models and their parts."""
