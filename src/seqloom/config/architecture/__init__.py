"""The options of a model and of the parts that it is made of."""
