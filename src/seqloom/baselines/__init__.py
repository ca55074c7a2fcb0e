"""Simple rules learnt from the same training rows, which a model must beat."""
