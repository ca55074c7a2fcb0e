"""What a model has learnt and how it decided, as plain values with `as_dict`."""
