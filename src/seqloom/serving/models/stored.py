"""Stored models that are loaded on demand, and the facts needed before.

Each is loaded once at startup, in a temporary process that reports what the model reads and writes
and how much memory it takes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from seqloom.errors import ConfigError, LimitError
from seqloom.parallel import thread_count
from seqloom.remedies import Remedy, Setting
from seqloom.scheduling.templates import Loader, ProcessTemplate, can_fork
from seqloom.serving.inputs import check_kinds, describe_model, reads_files

__all__ = ["ModelFacts", "StoredModel", "study", "study_all"]

ROLLUP = Path("/proc/self/smaps_rollup")
TWICE = 2  # the server has a copy besides that of the decoding processes
OTHERS = 2  # processes besides workers: for small requests, and the template


@dataclass(frozen=True)
class ModelFacts:
    """The facts about a model that is not loaded."""

    listing: Mapping[str, Any]
    notes: tuple[str, ...]
    reads_files: bool
    bytes: int  # with all processes that decode it


class StoredModel(NamedTuple):
    """A model that can be loaded, with its facts."""

    load: Loader
    facts: ModelFacts


def private_memory() -> int:
    """The private memory of this process in bytes."""
    lines = (line.split() for line in ROLLUP.read_text(encoding="ascii").splitlines()[1:])
    return sum(int(line[1]) * 1024 for line in lines if line[0].startswith("Private_"))


def study_here(name: str, load: Loader, processes: int) -> ModelFacts:
    """The facts about a model, in a temporary fork of the first template."""
    before = private_memory()
    model = load()
    check_kinds(name, model)
    model.warm_up()
    taken = max(0, private_memory() - before)
    if model.as_text_predictor() is not None:
        taken = TWICE * taken + processes * before
    listing = describe_model(model)
    return ModelFacts(listing, model.notes, reads_files(model), taken)


def study(template: ProcessTemplate, name: str, load: Loader, limit: int) -> StoredModel:
    """Study a model; LimitError if it exceeds the memory limit."""
    process, processes = template.fork(), thread_count() + OTHERS
    try:
        facts: ModelFacts = process.call("run", 0, partial(study_here, name, load, processes))
    finally:
        process.close()
    if facts.bytes > limit:
        raise LimitError(
            f"it takes {facts.bytes / 1e6:,.0f} MB with its processes, more than this server's "
            f"memory, {limit / 1e6:,.0f} MB",
            place=name,
            remedy=Remedy(
                "allow more, such as {}, or leave it out", Setting("limit", _room(facts))
            ),
        )
    return StoredModel(load, facts)


def _room(facts: ModelFacts) -> str:
    """A memory limit with room for a model, in full hundreds of megabytes."""
    return f"memory={math.ceil(facts.bytes / 1e8)}00MB"


def study_all(
    loaders: Mapping[str, Loader], limit: int
) -> tuple[ProcessTemplate, dict[str, StoredModel]]:
    """Study all models; also return the template from which theirs are forked."""
    if not (can_fork() and ROLLUP.exists()):
        raise ConfigError(
            "models are loaded on demand on Linux alone",
            place=Setting("limit", "memory=BYTES"),
            remedy="leave it out",
        )
    for load in loaders.values():
        load()  # imports its modules into the template for all forks
    template = ProcessTemplate({}, loaders)
    try:
        found = {name: study(template, name, load, limit) for name, load in loaders.items()}
    except BaseException:
        template.close()  # or this process would wait for it when it ends
        raise
    return template, found
