"""The processes of a run: local workers, ranks of torchrun, and the signals that stop them."""
