"""A member of Seqloom itself is one new file and one line: added to a copy of the source, counted.

The copy is made of links, so only what changes is written.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from tests.extending.support import FOLDER

SOURCE = Path(seqloom.__file__).parent
ADDED = {
    "unit": [("leaky_unit", "nn/units")],
    "attention score": [("distance_score", "nn/attention")],
    "kind of source": [("colour_field", "fields")],
    "kind of target": [("stars_field", "fields"), ("stars_task", "tasks")],
    "search": [("favourite_search", "search")],
    "metric": [("length_metric", "metrics")],
}  # modules, and the packages that they are put into
FILES = {
    "unit": 2,
    "attention score": 2,
    "kind of source": 2,
    "kind of target": 4,
    "search": 2,
    "metric": 2,
}  # with the line that imports each module; a kind of target has a task, too
PROGRAM = """
import json
from seqloom.config import option_rows, parse_assignments, validate
chosen = [
    "model.encoder.kind=recurrent", "model.encoder.unit.kind=leaky", "model.encoder.unit.share=0.1",
    "model.decoder.kind=recurrent", "model.decoder.attention.score=distance",
    "source.kind=colour", "target.kind=stars", "target.most=7", "search.method.kind=favourite",
]
config = validate(parse_assignments(chosen), place="--set")
from seqloom.fields import learn_field
from seqloom.model import build_sequence_model
from seqloom.fields import Symbols
from seqloom.metrics import target_scores
from seqloom.prediction.configured_search import search_from_config
from seqloom.tasks import task_of
build_sequence_model(config.model, source=Symbols(9), target=Symbols(9))
names = {row.name for row in option_rows()}
print(json.dumps({
    "unit": [config.model.encoder.unit.share, "model.encoder.unit.share" in names],
    "attention score": config.model.decoder.attention.score,
    "kind of source": learn_field(config.source, [], seed=1).cell([[1, 0, 0]]),
    "kind of target": [learn_field(config.target, [], seed=1).items.count, task_of(config).kind],
    "search": type(search_from_config(config.search, 1)).__name__,
    "metric": target_scores("text", ["aaa"], ["aa"], seed=None)[-1].value,
}))
"""


def link_tree(copy: Path, opened: set[Path]) -> None:
    """A package of links; folders in `opened` are real, so that files can be added to them."""

    def link(folder: Path) -> None:
        (copy / folder).mkdir(parents=True)
        for entry in (SOURCE / folder).iterdir():
            inner = folder / entry.name
            if entry.is_dir() and any(inner == each or inner in each.parents for each in opened):
                link(inner)
            else:
                (copy / inner).symlink_to(entry)

    link(Path())


@pytest.fixture(scope="module")
def touched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, set[str]]]:
    """The copy with a member of each family, and the files that were written for each."""
    root = tmp_path_factory.mktemp("copy")
    copy = root / "seqloom"
    link_tree(copy, {Path(package) for added in ADDED.values() for _, package in added})
    files: dict[str, set[str]] = {}
    for family, added in ADDED.items():
        for module, package in added:
            new, initial = copy / package / f"{module}.py", copy / package / "__init__.py"
            new.write_text((FOLDER / f"{module}.py").read_text())
            before = initial.read_text()
            initial.unlink()
            initial.write_text(
                f"{before}from seqloom.{package.replace('/', '.')} import {module}\n"
            )
            files.setdefault(family, set()).update({f"{package}/{module}.py", str(initial)})
    return root, files


def test_a_member_is_a_file_and_a_line(touched: tuple[Path, dict[str, set[str]]]) -> None:
    """Each is then chosen, built and listed like any other."""
    root, files = touched
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "unit": [0.1, True],
        "attention score": "distance",
        "kind of source": "#ff0000",
        "kind of target": [8, "stars"],
        "search": "Favourite",
        "metric": 150,
    }
    assert {family: len(each) for family, each in files.items()} == FILES
