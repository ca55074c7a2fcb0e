"""A demonstration trains on a built-in data set and shows the results."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console as Terminal
from rich.table import Table

from seqloom.api.console import Console
from seqloom.api.evaluate import evaluate
from seqloom.api.load import load, load_text_predictor
from seqloom.api.train import train
from seqloom.api.training_result import TrainingResult
from seqloom.datasets import BUILTIN
from seqloom.datasets.digit_images import HEIGHT, WIDTH
from seqloom.datasets.splits import Splits, write_splits
from seqloom.demos.homophones import show_search
from seqloom.demos.series import show_series
from seqloom.errors import ConfigError, DataError
from seqloom.explain import (
    AttentionMap,
    attention_over_media,
    draw_attention,
    drawing_of,
    render_text,
    text_of,
)
from seqloom.prediction import Output, TextPredictor
from seqloom.search import Greedy, Sample, Search
from seqloom.tasks import explain_output, task_of

__all__ = ["DEMOS", "run_demo"]

EXAMPLES = 10  # held-out examples shown


@dataclass(frozen=True)
class Demo:
    """The settings in which a demonstration differs from the automatic choices, and an example
    input.
    """

    options: Mapping[str, Any]
    example: str  # a file beside the data, if sources are files
    search: Search | None = None  # if not the default
    flags: str = ""  # the same search as options of `predict`
    invents: bool = False  # whether novel outputs are wanted
    recites: bool = False  # whether to memorize the data


_LOWER = {"lowercase": True}
_LOW_DROPOUT = {"dropout": 0.03}  # generated dates and numbers are free of noise

DEMOS: Mapping[str, Demo] = {
    "french": Demo(
        {
            "source": _LOWER,
            "target": _LOWER,
            "training": {"updates": 1_800, "validate_every": 300},
        },
        "elle ne sait pas où il est.",
    ),
    "dates": Demo(
        {
            "model": {"encoder": _LOW_DROPOUT, "decoder": _LOW_DROPOUT},
            "training": {
                "batch_tokens": 1_024,
                "updates": 1_300,
                "rate": 3e-3,
                "validate_every": 325,
            },
        },
        "mardi 3 mars 2026",
    ),
    "languages": Demo(
        {
            "target": {"kind": "label"},
            "training": {"updates": 300, "validate_every": 100},
        },
        "jeudi 5 mars 2026",
    ),
    "parts": Demo(
        {
            "target": {"kind": "tags"},
            "training": {"updates": 200, "validate_every": 100},
        },
        "mar 3 mar 2026",
    ),
    "sizes": Demo(
        {
            "target": {"kind": "number"},
            "training": {"updates": 600, "validate_every": 200},
        },
        "two thousand and twelve",
    ),
    "places": Demo(
        {
            "source": {"kind": "label"},
            "training": {"updates": 2_000, "validate_every": 500},
        },
        "Italian",
        Sample(temperature=0.8),  # each language has many names
        " --search sample --temperature 0.8",
        invents=True,
    ),
    "counting": Demo(
        {
            "source": {"kind": "none"},
            "data": {"target": "target"},
            "model": {"decoder": _LOW_DROPOUT},
            "training": {"updates": 600, "rate": 4e-3, "validate_every": 150},
        },
        "six hundred and nineteen then",
        Greedy(),  # only one number is correct
        " --search greedy",
    ),
    "missing": Demo(
        {
            "source": {"unit": "symbol"},
            "target": {"kind": "blanks"},
            "data": {"source": "target", "target": "target"},
            "model": {"encoder": _LOW_DROPOUT, "decoder": _LOW_DROPOUT},
            "training": {"updates": 800, "rate": 6e-3, "validate_every": 200},
        },
        "two hundred and nine then two hundred and ___ then two hundred and eleven",
    ),
    "digits": Demo(
        {
            "source": {"kind": "picture", "height": HEIGHT, "width": WIDTH, "colour": False},
            "target": {"unit": "character"},
            "training": {"updates": 1_600, "batch_rows": 32, "validate_every": 400},
        },
        "pictures/00300.png",
    ),
    "melody": Demo(
        {
            "source": {"kind": "sound", "window": 64, "bands": 80},  # semitones are close
            "target": {"unit": "word"},
            "training": {"updates": 1_200, "validate_every": 300},
        },
        "sounds/00150.wav",
    ),
    "clips": Demo(
        {"source": {"kind": "video"}, "training": {"updates": 1_800, "validate_every": 450}},
        "clips/01650.npy",
    ),
    "cats": Demo(
        {
            "source": {"kind": "label"},
            "target": {"unit": "symbol", "specials": "listed"},
            "model": {
                "one_hot": True,
                "tie_output": False,
                "output_bias": False,
                "share_vocabulary": False,
                "encoder": {"kind": "vectors"},
                "decoder": {
                    "kind": "recurrent",
                    "unit": {"kind": "elman", "activation": "sigmoid", "bias": False},
                    "width": 20,
                    "layers": 1,
                    "dropout": 0.0,
                    "first_state": "map",
                    "map_activation": "sigmoid",
                    "map_bias": False,
                    "readout": "affine",
                    "attention": "none",
                },
            },
            "training": {
                "optimizer": "sgd",
                "batch_rows": 1,
                "loss": "sum",
                "rate": 0.5,
                "warmup": 0,
                "decay": "constant",
                "clip_norm": 0,
                "label_smoothing": 0,
                "average": "none",
                "updates": 1_500,
                "validate_every": 300,
            },
        },
        "it",
        Greedy(),
        " --search greedy",
        recites=True,
    ),
}


def run_demo(name: str, run: Path | None = None) -> None:
    """Run a demonstration, training its model unless a run exists; `search` needs no training."""
    if name == "search":
        show_search()
        return
    if name == "series":
        show_series(run)
        return
    if name not in DEMOS:
        raise ConfigError(
            f"there is no demo {name!r}", remedy=f"choose {', '.join(DEMOS)}, search or series"
        )
    began = time.monotonic()
    try:
        splits = BUILTIN[name]()
    except DataError as error:
        if name == "dates":
            raise
        print(f"seqloom: {error}\nSo here is the demo that needs no download.", file=sys.stderr)
        run_demo("dates", run)
        return
    place = run or Path("runs") / f"demo-{name}"
    folder = place.with_name(f"{place.name}-data")
    write_splits(splits, folder)
    options: dict[str, Any] = dict(DEMOS[name].options)
    if splits.vocabulary:
        for side in ("source", "target"):
            options[side] = {**options[side], "vocabulary": str(folder / "vocabulary.txt")}
    with Console() as console:
        trained = train(
            str(folder / "train.tsv"),
            place,
            valid=str(folder / "valid.tsv"),
            options=options,
            watch=console,
        )
    _show(splits, trained, DEMOS[name], folder)
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes in all")


def _show(splits: Splits, trained: TrainingResult, demo: Demo, folder: Path) -> None:
    model = load(trained.run)
    step = max(1, len(splits.test) // EXAMPLES)
    chosen = splits.test[::step][:EXAMPLES]
    inputs = [str(folder / source) if splits.files else source for source, _ in chosen]
    outputs = model.predict(inputs, search=demo.search, attention=True)
    heading = "What it learnt" if demo.recites else "Held-out examples"
    Terminal().print(_table(splits, chosen, outputs, heading))
    if demo.invents:
        known = {target for _, target in splits.train}
        new = sum(output.text not in known for output in outputs)
        print(f"{new} of these {len(outputs)} are not among those it learnt from: it invented them")
    if splits.files:
        _show_media_attention(
            load_text_predictor(trained.run), folder / demo.example, trained.run / "attention.png"
        )
    else:
        _show_attention(model(demo.example), trained.run / "attention.png")
    seen = "it learnt" if demo.recites else "were never seen in training"
    print(f"\nOn {len(splits.test):,} test pairs that {seen}:")
    print("\n".join(f"  {line}" for line in evaluate(model, str(folder / "test.tsv")).lines()))
    if splits.attribution:
        print(f"\n{splits.attribution.strip()}")
    _print_next_steps(trained.run, folder, demo, more=task_of(model.config).more_outputs)


def _table(
    splits: Splits, rows: list[tuple[str, str]], outputs: list[Output], heading: str
) -> Table:
    table = Table(title=heading, title_justify="left", header_style="bold")
    for column in (splits.columns[0], "Seqloom", splits.columns[1], ""):
        table.add_column(column, overflow="fold")
    for (source, target), output in zip(rows, outputs, strict=True):
        table.add_row(source, output.text, target, "✓" if output.text == target else "")
    return table


def _show_attention(output: Output, picture: Path) -> None:
    if output.attention is None or len(output.source) < 2:
        return
    words = tuple(token.text for token in output.tokens)
    attention = AttentionMap(output.source, words, output.attention)
    print(f"\nWhere the model looked while it wrote “{output.text}”:\n")
    print(render_text(attention))
    draw_attention(attention, picture)
    print(f"\nThe same as a picture: {picture}")


def _show_media_attention(model: TextPredictor, file: Path, picture: Path) -> None:
    found = attention_over_media(model, explain_output(model, str(file)))
    print(f"\nWhere the model looked in {file}:\n")
    print(text_of(found))
    drawing_of(found).save(picture)
    print(f"\nThe same as a picture: {picture}")


def _print_next_steps(run: Path, folder: Path, demo: Demo, *, more: str) -> None:
    example = folder / demo.example
    given = example if example.exists() else demo.example
    predict = f"echo '{given}' | seqloom predict {run}"
    print(
        f"\nWhat to try next:\n"
        f"  {predict}{demo.flags}\n"
        f"  {predict} --json {more}\n"
        f"  seqloom evaluate {run} {folder / 'test.tsv'}\n"
        f"  seqloom describe {run}\n"
        f"  seqloom serve {run}    # a playground (pip install 'seqloom[serve]')\n"
        f"  seqloom train YOUR-PAIRS.tsv --run runs/mine"
    )
