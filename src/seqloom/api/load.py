"""A finished run, or several as one, ready for use."""

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
    """The model of a run: the step that did best on held-out data, averaged if so configured.

    With `others`, runs of the same vocabularies, a model that averages what all of them think. It
    decodes in the precision given ("float32" or "int8"), with or without a shortlist of symbols;
    where nothing is said, as `optimize` has found to be best, or else in float32 and without.
    """
    choice = EngineChoice.parse(precision, shortlist)
    models = [_load(each, choice) for each in (run, *others)]
    return replace(ensemble(models), notes=tuple(note for each in models for note in each.notes))


def _load(run: str | Path, choice: EngineChoice) -> Predictor:
    """The model of one run; of a form in bytes, without torch and the float32 weights."""
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
