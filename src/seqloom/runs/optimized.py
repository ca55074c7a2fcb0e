"""The optimized form of a run: quantized weights, a shortlist, and the choice between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqloom.engine.core_model import CompiledModel, Engine, core_engine, warn_once
from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.library import core_or_none
from seqloom.engine.matrices import Precision
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.engine.stored_form import StoredStack, check_sides, restore_stack, store_stack
from seqloom.errors import ConfigError, RunError
from seqloom.remedies import Command, Remedy
from seqloom.runs.contents import likely_best_step, weights_name
from seqloom.store import Checkpoint, RunDirectory

__all__ = ["EngineChoice", "OptimizedRun", "choose_engine", "save_optimized"]

SIDES = ("encoder", "decoder")
PRECISIONS: tuple[Precision, ...] = ("float32", "int8")


@dataclass(frozen=True)
class EngineChoice:
    """The precision for decoding, and whether to use shortlists; None is the run's own choice."""

    precision: Precision | None = None
    shortlist: bool | None = None

    @classmethod
    def parse(cls, precision: str | None, shortlist: bool | None) -> "EngineChoice":
        """Parse a caller's choice; ConfigError for an unknown precision."""
        for known in PRECISIONS:
            if precision in (None, known):
                return cls(known if precision else None, shortlist)
        raise ConfigError(
            f"there is no precision {precision!r}", remedy=f"choose {' or '.join(PRECISIONS)}"
        )

    @property
    def is_silent(self) -> bool:
        """Whether nothing is chosen."""
        return self.precision is None and self.shortlist is None


@dataclass(frozen=True)
class OptimizedRun:
    """What `optimize` has stored in a run for its best step."""

    saved: Checkpoint
    facts: Mapping[str, Any]

    @classmethod
    def find(cls, directory: RunDirectory) -> "OptimizedRun | None":
        """The optimized form of the current best step; None if there is none or it is of an older
        step.
        """
        saved = directory.optimized()
        if saved is None:
            return None
        facts, best = saved.progress(), likely_best_step(directory)
        if best is None or facts.get("weights") != best.digest(weights_name(best)):
            warn_once(
                f"{saved.path}: made for step {saved.number}, which is no longer the best, so it "
                f"is not used; make it again with: seqloom optimize {directory.path}"
            )
            return None
        return cls(saved, facts)

    @property
    def choice(self) -> EngineChoice:
        """The choice that was measured as best, or that was given."""
        return EngineChoice.parse(self.facts.get("precision"), bool(self.facts.get("shortlist")))

    @property
    def is_packed(self) -> bool:
        """Whether weights are stored quantized, rather than quantized on loading."""
        forms = self.facts.get("forms")
        return isinstance(forms, dict) and set(forms) == set(SIDES)

    def shortlist(self) -> Shortlist:
        """The run's shortlist; RunError if there is none or it is invalid."""
        arrays = self.saved.load_arrays("shortlist")
        return Shortlist.restore(arrays, place=str(self.saved.path))

    def engine(self, choice: EngineChoice) -> Engine | None:
        """The engine of the quantized form, which needs neither torch nor the float32 weights; None
        if it is not chosen, not stored, or cannot run here.
        """
        if choice.precision != "int8" or not self.is_packed or core_or_none() is None:
            return None
        return core_engine(self.compile(shortlist=bool(choice.shortlist)), "int8")

    def compile(self, *, shortlist: bool) -> CompiledModel:
        """The compiled quantized model."""
        arrays = self.saved.load_arrays("model")
        place, forms = str(self.saved.path), self.facts["forms"]
        encoder, decoder = (
            restore_stack(StoredStack(forms[side], _below(side, arrays)), "int8", place=place)
            for side in SIDES
        )
        check_sides(encoder, decoder, place=place)
        return CompiledModel(
            CompiledEncoder(encoder),
            CompiledDecoder(decoder),
            shortlist=self.shortlist() if shortlist else None,
        )


def save_optimized(
    directory: RunDirectory, model: CompiledModel, shortlist: Shortlist, facts: Mapping[str, Any]
) -> None:
    """Store a quantized model and a shortlist for the run's best step.

    `facts` name the step, the precision and whether to use the shortlist, and the number of
    position vectors.
    """
    best = likely_best_step(directory)
    if best is None:
        raise RunError(
            "no step can be read", place=str(directory.path), remedy="train it first, or again"
        )
    forms = _store_stacks(model, facts["positions"])
    tensors = {
        f"{side}.{name}": array
        for side, form in forms.items()
        for name, array in form.arrays.items()
    }
    directory.save_optimized(
        best.number,
        {"model": tensors, "shortlist": shortlist.arrays()},
        facts={
            "step": best.number,
            "weights": best.digest(weights_name(best)),
            "forms": {side: form.values for side, form in forms.items()},
            **facts,
        },
    )


def _store_stacks(model: CompiledModel, positions: int) -> dict[str, StoredStack]:
    """The quantized stacks of both sides; empty if one of them is unsupported."""
    stacks = {"encoder": model.encoder.stack, "decoder": model.decoder.stack}
    try:
        return {side: store_stack(stack, positions=positions) for side, stack in stacks.items()}
    except TypeError:
        return {}


def _below(side: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    start = f"{side}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def choose_engine(found: OptimizedRun | None, choice: EngineChoice, run: str) -> EngineChoice:
    """The precision and the use of a shortlist: as given, or else as the run has stored."""
    kept = EngineChoice("float32", False) if found is None else found.choice
    short = kept.shortlist if choice.shortlist is None else choice.shortlist
    if short and found is None:
        raise ConfigError(
            "no shortlist is kept here",
            place=run,
            remedy=Remedy("make one with {}", Command("optimize", run)),
        )
    return EngineChoice(choice.precision or kept.precision or "float32", bool(short))
