"""`seqloom predict`: its options are those of the Python model (S7.5)."""

import json
from pathlib import Path

import pytest

import seqloom
from seqloom.prediction import OutputOptions, ensemble
from seqloom.search import SEARCHES as SEARCH_FAMILY
from seqloom.search import (
    Beam,
    Completions,
    DiverseBeam,
    Exact,
    Greedy,
    MinimumRisk,
    PatientBeam,
    Ranking,
    Sample,
    Search,
    StochasticBeam,
)
from tests.cli.support import Command
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, options

SOURCES = ["aei", "bfk", "", "cgl"]
LINES = "".join(f"{source}\n" for source in SOURCES).encode()
SEARCHES: list[tuple[str, Search]] = [
    ("--search greedy", Greedy()),
    ("--beam 3", Beam(3)),
    ("--search beam --beam 3 --set search.length_power=0", Beam(3, Ranking())),
    (
        "--beam 3 --set search.length_gnmt=0.6 --set search.length_power=0",
        Beam(3, Ranking(gnmt=0.6)),
    ),
    ("--beam 3 --set search.coverage=0.5", Beam(3, Ranking(power=1.0, coverage=0.5))),
    ("--search sample --temperature 2 --top-k 9 --seed 4", Sample(2.0, top_k=9, seed=4)),
    ("--search sample --top-p 0.8 --min-p 0.01 --draws 3", Sample(top_p=0.8, min_p=0.01, draws=3)),
    ("--search diverse --beam 4 --groups 2 --strength 1", DiverseBeam(4, 2, 1.0)),
    ("--search diverse", DiverseBeam(6, 3)),
    ("--patience 2", PatientBeam(5, patience=2.0)),
    ("--search stochastic --beam 3 --seed 2", StochasticBeam(3, seed=2)),
    ("--search risk --draws 8 --temperature 1.5", MinimumRisk(Sample(1.5, draws=8))),
    ("--search exact --expansions 40", Exact(Ranking(power=1.0), expansions=40)),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize(("arguments", "search"), SEARCHES, ids=[a for a, _ in SEARCHES])
def test_every_search_is_that_of_the_model(
    command: Command, run: Path, arguments: str, search: Search
) -> None:
    result = command("predict", run, *arguments.split(), stdin=LINES)
    assert result.code == 0, result.err
    wanted = seqloom.load(run).predict(SOURCES, search=search)
    assert result.out.splitlines() == [output.text for output in wanted]


def test_all_that_can_be_told(command: Command, run: Path) -> None:
    """N-best, attention, alternatives and tree in the JSON are the model's own."""
    told = ["--n-best", 2, "--attention", "--alternatives", 3, "--tree"]
    rules = ["--prefix", "l", "--require", "g", "--forbid", "a", "--forbid", "b", "--no-repeat", 2]
    result = command("predict", run, "--json", *told, *rules, stdin=LINES)
    assert result.code == 0, result.err
    options = OutputOptions("l", ("g",), ("a", "b"), 2, attention=True, alternatives=3, tree=True)
    wanted = seqloom.load(run).predict(SOURCES, n_best=2, options=options)
    found = [json.loads(line) for line in result.out.splitlines()]
    assert found == [output.as_dict() for output in wanted]
    assert all(each["text"].startswith("l") for each in found if each["text"])


def test_each_line_has_its_prefix(command: Command, run: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun.txt"
    begun.write_text("i\n\nk\nlg\n")
    result = command("predict", run, "--prefix-file", begun, stdin=LINES)
    wanted = seqloom.load(run).predict(SOURCES, options=OutputOptions(prefix=["i", "", "k", "lg"]))
    assert result.out.splitlines() == [output.text for output in wanted]


def test_a_prefix_completed_in_several_ways(command: Command, run: Path) -> None:
    arguments = ["--search", "completions", "--prefix", "i", "--n-best", 3, "--json"]
    result = command("predict", run, *arguments, stdin=b"aei\n")
    (wanted,) = seqloom.load(run).predict(
        ["aei"], search=Completions(3, 5), n_best=3, options=OutputOptions(prefix="i")
    )
    assert json.loads(result.out) == wanted.as_dict()
    assert len({each.tokens[1].text for each in wanted.n_best}) == 3


def test_two_runs_together(command: Command, run: Path, tmp_path: Path) -> None:
    """Runs of one data set and another seed have the same vocabulary and may be averaged."""
    other = tmp_path / "other"
    chosen = {**options("lstm", updates=30, rate=2e-2, average="none"), "seed": 7}
    seqloom.train(PAIRS, run=other, options=chosen)
    result = command("predict", run, "--with", other, "--beam", 3, stdin=LINES)
    assert result.code == 0, result.err
    both = ensemble([seqloom.load(run), seqloom.load(other)])
    wanted = both.predict(SOURCES, search=Beam(3))
    assert result.out.splitlines() == [output.text for output in wanted]
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS[:20]))
    measured = command("evaluate", run, table, "--with", other, "--json")
    assert json.loads(measured.out) == seqloom.evaluate(both, PAIRS[:20]).as_dict()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("--search annealing", "choose greedy, beam"),
        ("--search greedy --beam 3", "--beam has a meaning only with --search beam, textbook"),
        ("--temperature 2", "--temperature has a meaning only with --search stochastic, sample"),
        ("--search sample --temperature 0", "a temperature of 0"),
        ("--tree", "need --json"),
        ("--alternatives 2", "need --json"),
        ("--search completions", "need --json"),
        ("--prefix a --prefix-file b", "leave one out"),
        ("--require ß", "cannot write 'ß'"),
        ("--set data.max_line=3", "search alone"),
        ("--set search.beams=3", "did you mean"),
        ("--json --search sample --draws 2 --n-best 3", "2 outputs are looked for"),
        ("--json --search exact --tree", "no tree"),
    ],
)
def test_what_cannot_be_asked_for(command: Command, run: Path, arguments: str, part: str) -> None:
    result = command("predict", run, *arguments.split(), stdin=LINES)
    assert result.code == 2
    assert part in result.sentence


def test_outputs_before_a_bad_line_are_written(command: Command, run: Path) -> None:
    """Exit 3 names the line; what came before it has its output, in the same group or not."""
    good = command("predict", run, stdin=b"aei\nbfk\n").out
    result = command("predict", run, stdin=b"aei\nbfk\n\xff\ncgl\n")
    assert result.code == 3
    assert result.out == good
    assert ":3:" in result.sentence


def test_a_judge_tells_no_attention_and_names_the_place_of_what_it_cannot_read(
    command: Command, tmp_path: Path
) -> None:
    """Exit 2 for attention that no label has; exit 3 names file and line, or standard input."""
    rows = [(f"{n} 1", "odd" if n % 2 else "even") for n in range(40)]
    chosen = {
        "source": "vector",
        "target": "label",
        "training": {"updates": 2, "workers": 1, "curves": False},
    }
    seqloom.train(rows, run=tmp_path / "run", options=chosen)
    refused = command("predict", tmp_path / "run", "--json", "--attention", stdin=b"1 1\n")
    assert refused.code == 2
    assert refused.sentence.startswith("a model of labels writes no tokens that could look at")
    inputs = tmp_path / "inputs.txt"
    inputs.write_text("1 1\n2 1\nthree 1\n")
    result = command("predict", tmp_path / "run", inputs)
    assert result.code == 3
    assert result.sentence.startswith(f"{inputs}:3: ")
    assert len(result.out.splitlines()) == 2
    piped = command("predict", tmp_path / "run", stdin=b"x\n")
    assert piped.sentence.startswith("standard input:1: ")
    skipped = command("predict", tmp_path / "run", inputs, "--skip-bad")
    assert f"first at {inputs}:3" in skipped.err


def test_a_module_of_parts_is_imported_first(
    command: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its search and options are the command's; one that is not there is a sentence."""
    (tmp_path / "my_searches.py").write_text(
        "from dataclasses import dataclass\n"
        "from seqloom.search import SEARCHES, Beam, option\n"
        "@SEARCHES.options('pair')\n"
        "@dataclass(frozen=True)\n"
        "class Pair(Beam):\n"
        "    '''A beam of a given width.'''\n"
        "    twice: int = option(1, 'half of the paths', ge=1)\n"
        "    @classmethod\n"
        "    def from_options(cls, given, defaults):\n"
        "        return Beam(2 * given['twice'], defaults.ranking)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ["predict", run, "--search", "pair", "--twice", 2]
    assert command(*arguments, stdin=LINES).code == 2
    try:
        found = command("--import", "my_searches", *arguments, stdin=LINES)
        assert found.code == 0, found.err
        assert found.out == command("predict", run, "--beam", 4, stdin=LINES).out
        assert "half of the paths" in command("predict", "--help").out
    finally:
        del SEARCH_FAMILY._options["pair"]
    missing = command("--import", "no_such_module", "predict", run)
    assert missing.code == 2
    assert missing.sentence.startswith("--import no_such_module: ")
