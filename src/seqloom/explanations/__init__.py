"""Explanations of a model and its outputs, as plain values with `as_dict`."""
