"""Decoding made fast: compiled kernels, int8, vocabulary shortlists.

Nothing is imported here, since the builder and the library need no torch: `from_network` makes
models, `shortlists` has vocabulary shortlists, `library` tells why there is no core.
"""
