"""The fields of a new run, learnt from surveyed data, and cached across interruptions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Literal

from seqloom.config import Config, dump
from seqloom.data import Data, Recasing, describe_data
from seqloom.errors import DataError, RunError
from seqloom.fields import Field, learn_field, learn_target, load_field, needs_all_cells
from seqloom.readers.reader import file_hash
from seqloom.store.durable import remove_tree, rename, run_errors, sync_tree
from seqloom.surveys import Survey, column_cells, survey_mark

__all__ = ["VOCABULARY", "FieldCache", "learn_fields"]

VOCABULARY, MARK = "vocabulary", "mark"
Tell = Callable[[float], None]


@dataclass(frozen=True)
class FieldCache:
    """Caches learnt fields in a folder; without one, it caches nothing."""

    folder: Path | None = None
    mark: str = ""  # a hash of everything that the fields depend on

    @classmethod
    def of(cls, cache: Path | None, config: Config, data: Data) -> "FieldCache":
        """The cache for a configuration and files; fields of rows in memory are not cached."""
        if cache is None or not isinstance(data, str | Path):
            return cls()
        columns = config.source, config.target
        named = filter(None, (getattr(column, "vocabulary", "") for column in columns))
        try:
            listed = [file_hash(Path(path)) for path in named]
        except OSError:
            return cls()  # learning the field tells of it
        facts = dump(config), survey_mark(data, config.data, seed=config.seed), listed
        return cls(cache / VOCABULARY, sha256(repr(facts).encode()).hexdigest())

    def fetch(self, name: str, learn: Callable[[], Field]) -> Field:
        """The cached field of this name, or a newly learnt one, which is cached."""
        if self.folder is None:
            return learn()
        place = self.folder / name
        try:
            if (place / MARK).read_text(encoding="utf-8") == self.mark:
                return load_field(place)
        except (OSError, ValueError, RunError):
            pass  # missing or damaged
        field = learn()
        unfinished = self.folder / f".{name}"
        with run_errors(place):
            remove_tree(unfinished)
            field.save(unfinished)
            (unfinished / MARK).write_text(self.mark, encoding="utf-8")
            sync_tree(unfinished)
            remove_tree(place)
            rename(unfinished, place)
        return field


@dataclass(frozen=True)
class _ColumnCells:
    """The cells from which a column is learnt."""

    config: Config
    data: Data
    found: Survey
    tell: Tell

    def of(self, side: Literal[0, 1]) -> Iterator[str]:
        """The cells of the source or the target; the time needed after the last is unknown."""
        config, found = self.config, self.found
        column = (config.source, config.target)[side]
        if needs_all_cells(column.kind) and len(found.sample) < found.facts.rows:
            yield from column_cells(self.data, config.data, side, tell=self.tell)
        else:
            rows = list(found.sample)
            if config.data.recased and column.is_cut_by_case:
                rows += Recasing.from_config(config).copies(found.sample)
            for number, row in enumerate(rows):
                if not number % TOLD_EVERY:
                    self.tell(number / len(rows))
                yield row[side]
        self.tell(0.0)


TOLD_EVERY = 1_000  # cells between progress reports


def learn_fields(
    config: Config,
    data: Data,
    found: Survey,
    *,
    tell: Tell = lambda share: None,
    kept: FieldCache | None = None,
) -> tuple[Field, Field]:
    """Learn the fields from surveyed data; with a shared vocabulary both are views of one.

    Labels and tags are collected from all rows; everything else is learnt from the sample.
    """
    cells, kept = _ColumnCells(config, data, found, tell), kept or FieldCache()

    def learn_shared() -> Field:
        both = chain(cells.of(0), cells.of(1))
        return learn_field(config.target, both, seed=config.seed)

    def learn_source() -> Field:
        with _named_column(data, config.data.source):
            return learn_field(config.source, cells.of(0), seed=config.seed)

    def learn_target_field(source: Field) -> Field:
        with _named_column(data, config.data.target):
            return learn_target(config.target, cells.of(1), source=source, seed=config.seed)

    if config.model.share_vocabulary:
        shared = kept.fetch("shared", learn_shared)
        return shared, shared.as_target
    source = kept.fetch("source", learn_source)
    return source, kept.fetch("target", lambda: learn_target_field(source))


@contextmanager
def _named_column(data: Data, column: str) -> Iterator[None]:
    """Add the file and the column to an error that has no place."""
    try:
        yield
    except DataError as error:
        if error.place or not column:
            raise
        raise error.at(f"{describe_data(data)}: column {column!r}") from error
