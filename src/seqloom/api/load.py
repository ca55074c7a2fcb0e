"""Load the model of a run, or an ensemble of several."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom.deferred import Deferred
from seqloom.engine.matrices import Precision
from seqloom.errors import ConfigError
from seqloom.fields import as_text_field
from seqloom.prediction.predictor import Predictor, ensemble
from seqloom.prediction.text_predictor import TextPredictor
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import copying_helps, load_config, load_fields
from seqloom.runs.optimized import EngineChoice, OptimizedRun, choose_engine
from seqloom.store import RunDirectory

__all__ = ["load", "load_text_predictor"]


def load(
    run: str | Path,
    *others: str | Path,
    precision: Precision | None = None,
    shortlist: bool | None = None,
) -> Predictor:
    """Load the model of a run: its best step on held-out data, averaged if so configured.

    With `others`, runs with the same vocabularies, it is an ensemble. `precision` ("float32" or
    "int8") and `shortlist` default to what `optimize` chose, or else to float32 without a
    shortlist.
    """
    choice = EngineChoice.parse(precision, shortlist)
    models = [_load(each, choice) for each in (run, *others)]
    return replace(ensemble(models), notes=tuple(note for each in models for note in each.notes))


def _load(run: str | Path, choice: EngineChoice) -> Predictor:
    """Load one run; an optimized one without torch and without its float32 weights."""
    directory = RunDirectory(Path(run))
    config = load_config(directory)
    source, target = fields = load_fields(directory, config)
    found, text = OptimizedRun.find(directory), as_text_field(target)
    engine = None if found is None else found.engine(choose_engine(found, choice, str(run)))
    if engine is None or text is None:
        from seqloom.tasks.task import load_network

        return load_network(directory, config, fields, found, choice)

    def read() -> Any:
        from seqloom.tasks.task import read_best_network

        return read_best_network(directory, config, fields).network

    return TextPredictor(
        config,
        source,
        text,
        Deferred(read),
        directory.cache_directory / "train",
        engine=engine,
        copying_helps=copying_helps(directory),
    )


def load_text_predictor(
    run: str | Path,
    *others: str | Path,
    precision: Precision | None = None,
    shortlist: bool | None = None,
) -> TextPredictor:
    """Load a model that writes text; ConfigError for any other target."""
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
