"""The four special symbols (S1.3): the same ids in every vocabulary, never made from text."""

__all__ = ["BLANK", "EMPTY", "END", "SPECIAL_SYMBOLS", "START", "UNK"]

EMPTY, UNK, START, END = 0, 1, 2, 3
BLANK = START  # in a source, which nothing starts: a token that was left out
SPECIAL_SYMBOLS = ("<empty>", "<unk>", "<start>", "<end>")
