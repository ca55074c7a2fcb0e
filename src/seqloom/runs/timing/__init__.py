"""Fit updates to a time budget, and estimate the time of training."""
