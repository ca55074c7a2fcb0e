"""Which work is done when and where: a fair queue, workers, and processes that decode."""
