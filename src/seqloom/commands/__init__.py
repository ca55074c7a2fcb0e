"""Commands that are more than a few lines, each in a module of its own."""
