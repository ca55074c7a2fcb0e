"""The commands from outside: documented exit codes, one sentence for an error, what is printed."""

import json
import re
from pathlib import Path

import pytest
import tomli_w

import seqloom
from seqloom.cli.app import app
from tests.cli.support import Command
from tests.runs.finished import make_run
from tests.runs.support import PAIRS, options, write_pairs

ALL = [
    "check",
    "compare",
    "data",
    "demo",
    "describe",
    "distill",
    "chat",
    "evaluate",
    "vectors",
    "export",
    "import",
    "lesson",
    "look",
    "optimize",
    "options",
    "predict",
    "report",
    "score",
    "serve",
    "sweep",
    "train",
    "watch",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.tsv")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(tomli_w.dumps(options(updates=2)))
    return path


def test_every_command_has_help(command: Command) -> None:
    listed = command("--help")
    assert listed.code == 0
    for name in ALL:
        assert name in listed.out
        assert command(name, "--help").code == 0
    names = {
        each.name or each.callback.__name__ for each in app.registered_commands if each.callback
    }
    assert names == {*ALL, "worker"}
    assert "worker" not in listed.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["frob"], "frob"),
        (["predict"], "DIR"),
        (["predict", "RUN", "--beam", "0"], "--beam"),
        (["predict", "RUN", "--beam", "x"], "--beam"),
        (["train", "DATA"], "--run"),
    ],
)
def test_usage_errors(arguments: list[str], part: str, command: Command) -> None:
    """Exit 2: a command line that cannot be read."""
    result = command(*arguments)
    assert result.code == 2
    assert part in result.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--set", "training.updats=3"], "there is no option training.updats; did you mean tr"),
        (["--set", "training.updates=0"], "training.updates = 0: "),
        (["--set", "seed"], "write it as name=value"),
        (["--model", "rnn"], "choose one of auto, transformer"),
        (["--config", "missing.toml"], "missing.toml: cannot be read"),
        (["--set", "model.encoder.heads=3"], "3 heads do not divide a width of 8"),
    ],
)
def test_wrong_options(
    arguments: list[str], part: str, command: Command, tiny: Path, tmp_path: Path
) -> None:
    """Exit 2: an option that does not exist or cannot be, with the nearest name or the cure."""
    data = write_pairs(tmp_path / "pairs.tsv")
    given = [] if "--config" in arguments else ["--config", tiny]
    result = command("train", data, "--run", tmp_path / "run", *given, *arguments)
    assert result.code == 2
    assert part in result.sentence
    assert not (tmp_path / "run" / "config.toml").exists()


def test_data_errors(command: Command, run: Path, tmp_path: Path) -> None:
    """Exit 3: a missing file, or a folder in its place, in every command that reads data."""
    for place, part in ((tmp_path / "none.tsv", "no such file"), (tmp_path, "is a folder")):
        for arguments in (
            ["check", place],
            ["train", place, "--run", tmp_path / "new"],
            ["predict", run, place],
            ["score", run, place],
            ["evaluate", run, place],
        ):
            result = command(*arguments)
            assert (result.code, part in result.sentence) == (3, True), arguments


def test_run_errors(command: Command, data: Path, tmp_path: Path) -> None:
    """Exit 4: no run, or something else, where a run should be."""
    for arguments in (["predict"], ["describe"], ["score", data], ["evaluate", data]):
        result = command(arguments[0], tmp_path / "none", *arguments[1:])
        assert result.code == 4
        assert "no run is here" in result.sentence
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    result = command("train", data, "--run", other)
    assert result.code == 4
    assert "holds thesis.tex, which is not part of a run" in result.sentence


def test_divergence(command: Command, data: Path, tiny: Path, tmp_path: Path) -> None:
    """Exit 5: a rate that leaves the finite numbers, nothing of it saved."""
    result = command(
        *("train", data, "--run", tmp_path / "run", "--config", tiny),
        *("--set", "training.rate=1e38", "--set", "training.clip_norm=0"),
        *("--set", "training.updates=20", "--set", "training.warmup=0"),
        *("--set", "training.validate_every=20"),
    )
    assert result.code == 5
    assert result.sentence.startswith("update ")
    assert not list((tmp_path / "run").glob("step-*"))


def test_unknown_columns_name_the_nearest(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("german\tenglish\n" + "".join(f"{s}\t{t}\n" for s, t in PAIRS))
    result = command("check", path, "--source", "germn", "--target", "english")
    assert result.code == 3
    assert "there is no column 'germn'; did you mean 'german'?" in result.sentence


def test_train_then_use(command: Command, data: Path, tiny: Path, tmp_path: Path) -> None:
    """A first run from the command line, by its own hints."""
    run = tmp_path / "run"
    first = command("train", data, "--run", run, "--config", tiny)
    assert first.code == 0, first.err
    assert f"seqloom predict {run}" in first.out
    assert "held-out: perplexity" in first.err
    again = command("train", data, "--run", run, "--config", tiny)
    assert again.code == 0
    assert command("predict", run, stdin=b"aei\n\nbfk\n").out.count("\n") == 3
    assert command("describe", run).code == 0


def test_predict_is_the_python_model(command: Command, run: Path) -> None:
    """One line for each line, blank for blank; --json is Output.as_dict."""
    sources = ["aei", "", "bfk", "  ", "cgl"]
    text = "".join(f"{source}\n" for source in sources).encode()
    model = seqloom.load(run)
    outputs = model.predict(sources)
    plain = command("predict", run, stdin=text)
    assert plain.code == 0
    assert plain.out.splitlines() == [output.text for output in outputs]
    rich = command("predict", run, "--json", "--n-best", 2, "--attention", stdin=text)
    wanted = model.predict(sources, n_best=2, attention=True)
    assert [json.loads(line) for line in rich.out.splitlines()] == [
        each.as_dict() for each in wanted
    ]
    greedy = command("predict", run, "--search", "greedy", stdin=text)
    wanted = model.predict(sources, search=seqloom.Greedy())
    assert greedy.out.splitlines() == [output.text for output in wanted]


def test_predict_reads_a_file_without_a_last_newline(command: Command, run: Path) -> None:
    path = run.parent / "input.txt"
    path.write_bytes(b"aei\r\nbfk")
    assert command("predict", run, path).out == command("predict", run, stdin=b"aei\nbfk\n").out


def test_predict_says_what_it_cut(command: Command, run: Path) -> None:
    result = command("predict", run, stdin=b"a" * 400 + b"\naei\n")
    assert result.code == 0
    assert result.out.count("\n") == 2
    assert "cut to 256 tokens" in result.err


def test_line_ends_inside_an_output_are_escaped(
    command: Command, tmp_path: Path, tiny: Path
) -> None:
    """Outputs that hold newlines and backslashes still take one line each."""
    pairs = [(f"{a}{b}", f"\n\r\\{a}") for a in "abcd" for b in "efgh"]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    run = tmp_path / "run"
    many = ["--set", "training.updates=40", "--set", "training.rate=0.05"]
    trained = command("train", path, "--run", run, "--config", tiny, *many)
    assert trained.code == 0, trained.err
    outputs = [each.text for each in seqloom.load(run).predict(["ae", "bf", "cg"])]
    assert any(set(text) & {"\n", "\r", "\\"} for text in outputs)
    lines = command("predict", run, stdin=b"ae\nbf\ncg\n").out.split("\n")[:-1]
    assert len(lines) == 3
    assert lines == [text.replace("\n", "\\n").replace("\r", "\\r") for text in outputs]


def test_n_best_needs_json(command: Command, run: Path) -> None:
    result = command("predict", run, "--n-best", 2, stdin=b"aei\n")
    assert result.code == 2
    assert "need --json" in result.sentence


def test_score_and_evaluate(command: Command, run: Path, data: Path) -> None:
    """JSON lines of score add up; evaluate's JSON is the Python object's."""
    model = seqloom.load(run)
    scored = [json.loads(line) for line in command("score", run, data).out.splitlines()]
    assert [(line["source"], line["target"]) for line in scored] == PAIRS
    for line, expected in zip(scored, model.score(PAIRS), strict=True):
        assert line["score"] == pytest.approx(expected.log_probability)
        assert sum(token["log_probability"] for token in line["tokens"]) == pytest.approx(
            line["score"]
        )
        assert all(token.keys() == {"text", "log_probability"} for token in line["tokens"])
    found = command("evaluate", run, data, "--json")
    assert json.loads(found.out) == seqloom.evaluate(model, data).as_dict()
    words = command("evaluate", run, data).out
    assert words.startswith(f"{len(PAIRS)} rows\n")
    assert words.splitlines()[1].startswith("exact match")
    assert "BLEU" not in words
    assert "version:" in words


def test_check_reports_and_estimates(command: Command, data: Path, tmp_path: Path) -> None:
    small = ["--set", "model.encoder.layers=1", "--set", "model.decoder.layers=1"]
    held_out = write_pairs(tmp_path / "valid.tsv", [*PAIRS[:5], ("xyz", "zyx")])
    result = command("check", data, "--valid", held_out, *small)
    assert result.code == 0, result.err
    assert "rows kept: 64" in result.out
    assert "held-out rows that are also in the training data: 5" in result.out
    assert "characters" in result.out
    assert re.search("training would take (less than a|about [0-9]+) minutes? here", result.out)


def test_options_lists_every_option(command: Command) -> None:
    out = command("options").out
    assert "training.updates = 10000" in out
    assert "search.beam = 5" in out


def test_describe_counts_every_parameter_once(command: Command, run: Path) -> None:
    network = seqloom.load(run).network
    total = sum(parameter.numel() for parameter in network.parameters())
    out = command("describe", run).out
    assert f"{total:,}  total" in out
    assert "held-out results" in out


def test_built_in_data(command: Command, tmp_path: Path) -> None:
    result = command("data", "klingon", "--to", tmp_path)
    assert result.code == 2
    assert "choose" in result.sentence
    result = command("demo", "klingon")
    assert result.code == 2


def test_two_trainers(command: Command, data: Path, tiny: Path, tmp_path: Path) -> None:
    """Exit 4 while another writer holds the run (RELIABILITY A8)."""
    from seqloom.store import RunDirectory

    with RunDirectory(tmp_path / "run").lock():
        result = command("train", data, "--run", tmp_path / "run", "--config", tiny)
    assert result.code == 4
    assert "is writing to this run" in result.sentence
