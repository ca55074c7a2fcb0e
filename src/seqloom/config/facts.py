"""What the automatic choices depend on: a few statistics of the data."""

from dataclasses import dataclass

__all__ = ["ColumnStatistics", "Facts"]


@dataclass(frozen=True)
class ColumnStatistics:
    """What one column looks like."""

    characters: float  # mean length of a row
    words: float  # mean number of words and marks in a row
    spaces: float  # mean number of white space characters in a row
    distinct_characters: int
    distinct_words: int
    sample_rows: int  # rows the distinct counts were made from
    has_capitals: bool = False
    target_overlap: float = 0.0  # mean share of a row's character pairs that its target has too

    @property
    def has_closed_vocabulary(self) -> bool:
        """Whether the words are few and come back often, so that whole words can be learnt."""
        seen = self.words * self.sample_rows
        return self.distinct_words <= 2_000 and seen >= 20 * self.distinct_words

    @property
    def is_feature_list(self) -> bool:
        """Whether a row lists a few features that come back often (`V;PST;3SG`), rather than being
        a text that its target is made of."""
        few = self.distinct_words <= 4 * self.distinct_characters
        often = self.words * self.sample_rows >= 10 * self.distinct_words
        return few and often and self.target_overlap < 0.2 and self.words <= 40

    @property
    def is_short(self) -> bool:
        """Whether a row is a word, a name or a date rather than a sentence."""
        return self.characters <= 40 and self.words <= 5.5

    @property
    def is_sentence(self) -> bool:
        """Whether a row is made of words that are longer than phones or codes."""
        return not self.is_short and self.characters >= 3.5 * self.words

    @property
    def is_symbol_sequence(self) -> bool:
        """Whether a row is already a list of symbols set apart by spaces (phones, say)."""
        return (
            self.has_closed_vocabulary
            and self.words >= 2
            and self.spaces >= 0.95 * (self.words - 1)
        )


@dataclass(frozen=True)
class Facts:
    """What the automatic choices depend on."""

    rows: int
    source: ColumnStatistics
    target: ColumnStatistics
    stream: bool = False  # a plain text file
    columns: tuple[ColumnStatistics, ...] = ()  # of each source column, where there are several
