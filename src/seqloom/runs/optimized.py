"""The optimized form of a run: bytes in place of float32 weights, a shortlist, and which to use."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from torch import Tensor, nn

from seqloom.engine.compiled import CompiledModel
from seqloom.engine.decoder import CompiledDecoder
from seqloom.engine.encoder import CompiledEncoder
from seqloom.engine.library import core_or_none
from seqloom.engine.matrices import Precision
from seqloom.engine.selection import Engine, core_engine, select_engine, warn_once
from seqloom.engine.shortlist import Shortlist
from seqloom.engine.stored_form import StoredStack, check_sides, restore_stack, store_stack
from seqloom.errors import ConfigError, RunError
from seqloom.model import SequenceModel
from seqloom.remedies import Command, Remedy
from seqloom.runs.contents import likely_best_step, weights_name
from seqloom.store import Checkpoint, RunDirectory

__all__ = ["DeferredModel", "EngineChoice", "OptimizedRun", "run_engine", "save_optimized"]

SIDES = ("encoder", "decoder")
PRECISIONS: tuple[Precision, ...] = ("float32", "int8")


@dataclass(frozen=True)
class EngineChoice:
    """The precision to decode in and whether by shortlists; None leaves it to the run."""

    precision: Precision | None = None
    shortlist: bool | None = None

    @classmethod
    def parse(cls, precision: str | None, shortlist: bool | None) -> "EngineChoice":
        """What a caller says; ConfigError where there is no such precision."""
        for known in PRECISIONS:
            if precision in (None, known):
                return cls(known if precision else None, shortlist)
        raise ConfigError(
            f"there is no precision {precision!r}", remedy=f"choose {' or '.join(PRECISIONS)}"
        )

    @property
    def is_silent(self) -> bool:
        """Whether nothing is said."""
        return self.precision is None and self.shortlist is None


class DeferredModel(SequenceModel):
    """A network whose weights are read when something asks for its parts."""

    def __init__(self, read: Callable[[], SequenceModel], usual_search: str = "") -> None:
        nn.Module.__init__(self)
        self.training = False
        self.__dict__["_usual_search"] = usual_search
        self.__dict__["_read"] = read
        self.__dict__["_reading"] = threading.Lock()

    @property
    def usual_search(self) -> str:
        """The search that its decoder is made for, for which no weights are read."""
        return str(self.__dict__["_usual_search"])

    def _parts(self) -> None:
        with self.__dict__["_reading"]:
            if not self._modules:
                made = self.__dict__["_read"]()
                if made.aligner is None:
                    self.__dict__["aligner"] = None
                parts = dict(made.named_children())  # whole, so that no thread sees half of them
                self._modules.update(parts)

    def __getattr__(self, name: str) -> Any:
        if name in (*SIDES, "aligner") and not self._modules:
            self._parts()
            return getattr(self, name)
        return super().__getattr__(name)

    def named_modules(self, *options: Any, **named: Any) -> Any:
        self._parts()
        return super().named_modules(*options, **named)

    def named_children(self) -> Iterator[tuple[str, nn.Module]]:
        self._parts()
        return super().named_children()


@dataclass(frozen=True)
class OptimizedRun:
    """What `optimize` has kept in a run, for the step that is used."""

    saved: Checkpoint
    facts: Mapping[str, Any]

    @classmethod
    def find(cls, directory: RunDirectory) -> "OptimizedRun | None":
        """The form of the step that does best now; None where there is none, or an older one's."""
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
        """What was found to be best, or told to be."""
        return EngineChoice.parse(self.facts.get("precision"), bool(self.facts.get("shortlist")))

    @property
    def is_packed(self) -> bool:
        """Whether the weights are kept in bytes, rather than made of float32 when loaded."""
        forms = self.facts.get("forms")
        return isinstance(forms, dict) and set(forms) == set(SIDES)

    def shortlist(self) -> Shortlist:
        """The shortlist of the run; RunError where there is none, or not a sound one."""
        arrays = _arrays(self.saved.load("shortlist"))
        return Shortlist.restore(arrays, place=str(self.saved.path))

    def compile(self, *, shortlist: bool) -> CompiledModel:
        """The model in bytes."""
        tensors = _arrays(self.saved.load("model"))
        place, forms = str(self.saved.path), self.facts["forms"]
        encoder, decoder = (
            restore_stack(StoredStack(forms[side], _below(side, tensors)), "int8", place=place)
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
    """Keep a model in bytes and a shortlist for the run's best step.

    `facts` name the step, the precision and whether the shortlist is to be used, and the positions
    that there are to be vectors for.
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
    """Both sides; nothing where there is no form for one of them."""
    stacks = {"encoder": model.encoder.stack, "decoder": model.decoder.stack}
    try:
        return {side: store_stack(stack, positions=positions) for side, stack in stacks.items()}
    except TypeError:
        return {}


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _below(side: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    start = f"{side}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def run_engine(
    read: Callable[[], SequenceModel],
    found: OptimizedRun | None,
    choice: EngineChoice,
    run: str,
    usual_search: str,
) -> tuple[SequenceModel, Engine]:
    """The network of a run and the engine that it is used by; a form in bytes needs no weights."""
    kept = EngineChoice("float32", False) if found is None else found.choice
    precision = choice.precision or kept.precision or "float32"
    short = kept.shortlist if choice.shortlist is None else choice.shortlist
    if short and found is None:
        raise ConfigError(
            "no shortlist is kept here",
            place=run,
            remedy=Remedy("make one with {}", Command("optimize", run)),
        )
    packed = found is not None and found.is_packed and core_or_none() is not None
    if found is not None and packed and precision == "int8":
        whole = found.compile(shortlist=bool(short))
        return DeferredModel(read, usual_search), core_engine(whole, "int8")
    network = read()
    shortlist = cast(OptimizedRun, found).shortlist() if short else None
    return network, select_engine(network, precision=precision, shortlist=shortlist)
