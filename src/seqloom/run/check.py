"""What is in the data, what training would make of it, and how long that takes here."""

import resource
from collections.abc import Iterator
from dataclasses import replace

import torch

from seqloom.config import Config, Facts, plan, tokens_per_row
from seqloom.data import Survey, overlap
from seqloom.fields import END
from seqloom.model import Source, build
from seqloom.run.prepare import Request
from seqloom.training import Example, Optimizer, Portion, fit

__all__ = ["check_data"]

TRIAL = 4  # updates that are timed


def check_data(request: Request) -> Iterator[str]:
    """Findings as lines of text, in the order they become known."""
    found = request.survey()
    yield from found.lines()
    if request.valid is not None:
        yield from _held_out(found, replace(request, data=request.valid).survey())
    config = plan(request.options, found.facts, preset=request.preset)
    yield ""
    yield from _choices(config)
    yield from _estimate(config, found.facts)


def _held_out(found: Survey, other: Survey) -> Iterator[str]:
    shared = overlap(found, other)
    yield f"held-out rows: {other.report.kept:,}"
    yield f"held-out rows that are also in the training data: {shared.rows:,}"
    yield f"held-out sources that are also in the training data: {shared.sources:,}"


def _choices(config: Config) -> Iterator[str]:
    for side, text in (("source", config.source), ("target", config.target)):
        yield f"{side} would be cut into {text.unit}s, at most {text.size:,} of them"
    encoder, decoder = config.model.encoder, config.model.decoder
    yield (
        f"model: {encoder.kind}, width {encoder.width}, {encoder.layers}+{decoder.layers} layers; "
        f"{config.training.updates:,} updates of {config.training.batch_tokens:,} positions"
    )


def _estimate(config: Config, facts: Facts) -> Iterator[str]:
    """Time and memory, from a few updates of the planned model on made-up rows."""
    source, target = (
        round(tokens_per_row(side, text.unit))
        for side, text in ((facts.source, config.source), (facts.target, config.target))
    )
    with torch.random.fork_rng():
        network = build(
            config.model, source_size=config.source.size, target_size=config.target.size
        )
        rows = max(1, config.training.batch_tokens // max(source, target))
        batch = Example(
            Source(
                torch.randint(END, config.source.size, (rows, source)), torch.full((rows,), source)
            ),
            torch.randint(END, config.target.size, (rows, target)),
        )
        updates = fit(
            Optimizer(network, config.training),
            lambda _: Portion([batch], rows * target, []),
            seed=config.seed,
        )
        seconds = [update.seconds for update, _ in zip(updates, range(TRIAL), strict=False)]
    minutes = min(seconds) * config.training.updates / 60
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield f"training would take about {minutes:,.0f} minutes here and {memory:.1f} GiB of memory"
