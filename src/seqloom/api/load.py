"""A finished run, or several as one, ready for use."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom.config import DECODERS, Config
from seqloom.engine.matrices import Precision
from seqloom.engine.selection import warn_once
from seqloom.errors import ConfigError
from seqloom.fields import Field
from seqloom.model import build
from seqloom.model.networks import check_fit, load_weights
from seqloom.nn.modules import materialize, meta_device
from seqloom.prediction import Predictor, TextPredictor, ensemble
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import (
    best_validation,
    choose_step,
    load_config,
    load_fields,
    model_weights,
    step_validation,
)
from seqloom.runs.optimized import EngineChoice, OptimizedRun, run_engine
from seqloom.store import Checkpoint, RunDirectory
from seqloom.tasks import task_of

__all__ = ["load", "load_text_predictor", "read_network"]


def load(
    run: str | Path,
    *others: str | Path,
    precision: Precision | None = None,
    shortlist: bool | None = None,
) -> Predictor:
    """The model of a run: the step that did best on held-out data, averaged if so configured.

    With `others`, runs of the same vocabularies, a model that averages what all of them think. It
    decodes in the precision given ("float32" or "int8"), with or without a shortlist of symbols;
    where nothing is said, as `optimize` has found to be best, or else in float32 and without.
    """
    choice = EngineChoice.parse(precision, shortlist)
    models = [_load(each, choice) for each in (run, *others)]
    return replace(ensemble(models), notes=tuple(note for each in models for note in each.notes))


def _load(run: str | Path, choice: EngineChoice) -> Predictor:
    directory = RunDirectory(Path(run))
    config = load_config(directory)
    source, target = load_fields(directory, config)
    notes: list[str] = []

    def read() -> Any:
        chosen = choose_step(directory)
        for note in chosen.notes:
            warn_once(f"{run}: {note}")
            notes.append(note.sentence)
        network = read_network(chosen.step, config, source, target)
        measured = step_validation(chosen.step)
        if measured is not None:
            task.calibrate(network, measured)
        return network

    task = task_of(config)
    if not task.decodes:
        if not choice.is_silent:
            raise ConfigError(
                f"it gives {target.describe()}, and precision and shortlists are for models that "
                "write text",
                place=str(run),
                remedy="leave them out",
            )
        model: Predictor = task.predictor(config, source, target, read(), run=directory)
        return replace(model, notes=tuple(notes))
    usual: str = DECODERS.load_part(config.model.decoder.kind).usual_search
    network, engine = run_engine(read, OptimizedRun.find(directory), choice, str(run), usual)
    writer: TextPredictor = task.predictor(config, source, target, network, run=directory)
    measured = best_validation(directory)
    helps = measured is not None and measured.copies
    return replace(writer, engine=engine, notes=tuple(notes), copying_helps=helps)


def read_network(step: Checkpoint, config: Config, source: Field, target: Field) -> Any:
    """The network of a step of a run, with its weights."""
    tensors = model_weights(step)
    with meta_device():
        network = build(config.model, source=source.items, target=target.items)
    check_fit(network, tensors, place=str(step.path))
    materialize(network)
    load_weights(network, tensors, place=str(step.path))
    return network.eval()


def load_text_predictor(
    run: str | Path,
    *others: str | Path,
    precision: Precision | None = None,
    shortlist: bool | None = None,
) -> TextPredictor:
    """The same for runs whose target is text; ConfigError for any other."""
    model = load(run, *others, precision=precision, shortlist=shortlist)
    writer = model.as_text_predictor()
    if writer is None:
        raise ConfigError(
            f"{run} gives {model.target.describe()}, not text, and this works for models that "
            "write",
            remedy=Remedy(
                "use predict with {}, evaluate or describe",
                Setting("alternatives", 3),
                otherwise="ask for alternatives",
            ),
        )
    return writer
