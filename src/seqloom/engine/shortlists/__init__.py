"""Vocabulary shortlists: the output symbols of a sentence.

Nothing is imported here, since whole searches need no torch: `shortlist` learns which symbols a
source can need, `word_lists` hands them to the core.
"""
