"""A finished run, or several as one, ready for use."""

from pathlib import Path

from seqloom.errors import ConfigError
from seqloom.model import build
from seqloom.prediction import Predictor, TextPredictor, ensemble
from seqloom.runs.contents import best_step, load_config, load_fields, model_weights
from seqloom.runs.weights import check_fit, load_weights, materialize, meta_device
from seqloom.store import RunDirectory
from seqloom.tasks import task_of

__all__ = ["load", "load_text_predictor"]


def load(run: str | Path, *others: str | Path) -> Predictor:
    """The model of a run: the step that did best on held-out data, averaged if so configured.

    With `others`, runs of the same vocabularies, a model that averages what all of them think.
    """
    return ensemble([_load(each) for each in (run, *others)])


def _load(run: str | Path) -> Predictor:
    directory = RunDirectory(Path(run))
    config = load_config(directory)
    source, target = load_fields(directory, config)
    step = best_step(directory)
    tensors = model_weights(step)
    with meta_device():
        network = build(config.model, source=source.items, target=target.items)
    check_fit(network, tensors, place=str(step.path))
    materialize(network)
    load_weights(network, tensors, place=str(step.path))
    model: Predictor = task_of(config).predictor(
        config, source, target, network.eval(), run=directory
    )
    return model


def load_text_predictor(run: str | Path, *others: str | Path) -> TextPredictor:
    """The same for runs whose target is text; ConfigError for any other."""
    model = load(run, *others)
    writer = model.as_text_predictor()
    if writer is None:
        raise ConfigError(
            f"{run} gives {model.target.describe()}, not text, and this works for models that "
            "write: use predict --alternatives, evaluate or describe"
        )
    return writer
