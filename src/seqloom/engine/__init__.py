"""Decoding made fast: compiled kernels, int8, vocabulary shortlists.

Nothing is imported here, since the builder and the library need no torch: `compiled` makes models,
`shortlist` learns shortlists, `library` tells why there is no core.
"""
