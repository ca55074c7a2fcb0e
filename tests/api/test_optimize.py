"""Forms of a run: measured, kept whole, read without float32 weights, and left when outdated."""

import _ctypes
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import seqloom
from seqloom.api.optimize import MeasuredForm, OptimizeRequest, choose_form, require_symbols
from seqloom.config import TextConfig
from seqloom.deferred import Deferred
from seqloom.engine import library
from seqloom.engine.core_model import warn_once
from seqloom.engine.shortlists.shortlist import Shortlist
from seqloom.errors import ConfigError, RunError
from seqloom.fields import TextField
from seqloom.model import Network
from seqloom.prediction import OutputOptions, TextPredictor
from seqloom.runs.optimized import EngineChoice
from seqloom.search import Beam, Greedy, Ranking
from seqloom.store import RunDirectory

PAIRS = [(text, text[::-1]) for text in ("abc", "bca", "cab", "aab", "cca", "bbc", "abca", "ca")]
SOURCES = [source for source, _ in PAIRS]
OPTIONS = {
    "source": {"unit": "character"},
    "target": {"unit": "character"},
    "model": {
        "encoder": {"kind": "transformer", "width": 16, "inner": 32, "heads": 2, "layers": 1},
        "decoder": {"kind": "transformer", "width": 16, "inner": 32, "heads": 2, "layers": 1},
        "embedding": 16,
    },
    "training": {"updates": 4, "validate_every": 4, "workers": 1},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "small"
    seqloom.train(PAIRS * 3, run=run, valid=PAIRS, options=OPTIONS)
    seqloom.optimize(run, OptimizeRequest(choice=EngineChoice("int8", True)))
    return run


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    warn_once.cache_clear()
    return Path(shutil.copytree(trained, tmp_path / "copy"))


def texts(model: object) -> list[tuple[str, float]]:
    assert isinstance(model, TextPredictor)
    return [(each.text, each.score) for each in model.predict(SOURCES, search=Beam(3))]


def test_an_optimized_run_is_read_without_its_float32_weights(run: Path) -> None:
    """The bytes that are kept are those that quantizing the weights gives, to the bit."""
    made = texts(seqloom.load(run, precision="int8", shortlist=True))
    assert made == texts(seqloom.load(run))
    step = next(run.glob("step-*"))
    (step / "model.safetensors").write_bytes(b"gone")
    (step / "average.safetensors").write_bytes(b"gone")
    kept = seqloom.load(run)
    assert texts(kept) == made
    assert kept.describe_engine().endswith("int8, shortlist")
    assert len(kept.predict(SOURCES)) == len(SOURCES)  # by the search that it chooses itself, too
    assert kept.describe_search()
    with pytest.raises(RunError):
        kept.score(PAIRS)


def test_a_recurrent_run_is_read_without_its_float32_weights(tmp_path: Path) -> None:
    """As a Transformer is."""
    run, units = tmp_path / "lstm", {"kind": "recurrent", "unit": "lstm", "width": 12, "layers": 1}
    model = {"encoder": units, "decoder": {**units, "attention": "global"}, "embedding": 8}
    seqloom.train(PAIRS * 3, run=run, valid=PAIRS, options={**OPTIONS, "model": model})
    seqloom.optimize(run, OptimizeRequest(choice=EngineChoice("int8", True)))
    made = texts(seqloom.load(run, precision="int8", shortlist=True))
    for name in ("model", "average"):
        (next(run.glob("step-*")) / f"{name}.safetensors").write_bytes(b"gone")
    assert texts(seqloom.load(run)) == made


@pytest.mark.parametrize(
    "options",
    [
        OutputOptions(prefix="bc"),
        OutputOptions(require=("ab", "ca")),
        OutputOptions(forbid=("a",)),
        OutputOptions(no_repeat=2),
    ],
    ids=["prefix", "required", "forbidden", "no repeat"],
)
def test_a_shortlist_never_keeps_from_outputs_what_a_constraint_asks_for(
    run: Path, options: OutputOptions
) -> None:
    """Even a shortlist without a single letter is widened by the letters that are asked for."""
    whole = seqloom.load(run, precision="int8", shortlist=False)
    assert isinstance(whole, TextPredictor)
    assert isinstance(whole.source, TextField)
    assert whole.engine is not None
    assert whole.engine.compiled is not None
    empty, sizes = np.empty(0, np.int32), (whole.source.size, whole.target.size)
    listed = np.arange(4, dtype=np.int32)  # the special symbols
    nothing = Shortlist(empty, np.zeros(sizes[0] + 1, np.int64), listed, sizes[1])
    compiled = replace(whole.engine.compiled, shortlist=nothing)
    narrow = replace(whole, engine=replace(whole.engine, compiled=compiled))
    assert {each.text for each in narrow.predict(SOURCES, search=Beam(3))} == {""}
    expected = whole.predict(SOURCES, search=Beam(3), options=options)
    found = narrow.predict(SOURCES, search=Beam(3), options=options)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.text.startswith(str(options.prefix))
        assert all(phrase in ours.text for phrase in options.require)
        assert not any(phrase in ours.text for phrase in options.forbid)
        assert ours.stopped == "end" or theirs.stopped != "end"


def test_the_weights_are_there_for_what_needs_them(run: Path) -> None:
    """Log-probabilities are the network's own, in float32."""
    kept, plain = seqloom.load(run), seqloom.load(run, precision="float32", shortlist=False)
    assert plain.describe_engine().endswith("float32")
    for ours, theirs in zip(kept.score(PAIRS), plain.score(PAIRS), strict=True):
        assert ours == theirs
    count = sum(each.numel() for each in plain.network.parameters())
    assert sum(each.numel() for each in seqloom.load(run).network.parameters()) == count


def test_int8_needs_no_optimizing_but_a_shortlist_does(run: Path) -> None:
    made = texts(seqloom.load(run, precision="int8", shortlist=False))
    shutil.rmtree(run / "optimized")
    assert texts(seqloom.load(run, precision="int8")) == made
    assert seqloom.load(run).describe_engine().endswith("float32")
    with pytest.raises(ConfigError, match="seqloom optimize"):
        seqloom.load(run, shortlist=True)
    with pytest.raises(ConfigError, match="float32 or int8"):
        seqloom.load(run, precision="int4")  # type: ignore[arg-type]


def test_a_form_of_other_weights_is_not_used(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after more training, by which another step has become the best."""
    directory = RunDirectory(run)
    saved = directory.optimized()
    assert saved is not None
    files = {name: saved.load(name) for name in ("model", "shortlist")}
    facts = saved.progress() | {"weights": "0" * 64}
    directory.save_optimized(saved.number, files, facts=facts)
    assert seqloom.load(run).describe_engine().endswith("float32")
    assert "is no longer the best" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model", "shortlist"])
def test_changed_bytes_are_refused(run: Path, name: str) -> None:
    file = run / "optimized" / f"{name}.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(RunError, match="bytes have changed"):
        seqloom.load(run)


def test_a_form_that_does_not_fit_its_model_is_refused(run: Path) -> None:
    """Whoever rewrites the manifest too still cannot lead the core beyond its arrays."""
    directory = RunDirectory(run)
    saved = directory.optimized()
    assert saved is not None
    files = {name: saved.load(name) for name in ("model", "shortlist")}
    facts = saved.progress()
    facts["forms"]["decoder"]["fields"]["width"] = 64
    directory.save_optimized(saved.number, files, facts=facts)
    with pytest.raises(RunError, match="not an optimized form"):
        seqloom.load(run)
    facts["forms"]["decoder"]["fields"]["width"] = 16
    short = {name: tensor[:-1] for name, tensor in files["model"].items()}
    directory.save_optimized(saved.number, {**files, "model": short}, facts=facts)
    with pytest.raises(RunError, match="not an optimized form"):
        seqloom.load(run)
    wrong = {**files["shortlist"], "words": files["shortlist"]["words"] + 10_000}
    directory.save_optimized(saved.number, {**files, "shortlist": wrong}, facts=facts)
    with pytest.raises(RunError, match="optimize"):
        seqloom.load(run)


def test_the_fastest_form_that_costs_little_is_kept() -> None:
    def form(precision: str, short: bool, score: float, speed: float) -> MeasuredForm:
        return MeasuredForm(precision, short, "BLEU", score, score, 1.0, speed, 1.0, 1.0)  # type: ignore[arg-type]

    forms = [
        form("float32", False, 30.0, 100),
        form("float32", True, 29.9, 150),
        form("int8", False, 29.85, 250),
        form("int8", True, 29.0, 400),
    ]
    assert choose_form(forms, OptimizeRequest()) is forms[2]
    assert choose_form(forms, OptimizeRequest(loss=1.5)) is forms[3]
    assert choose_form(forms, OptimizeRequest(loss=0.0)) is forms[0]
    assert choose_form(forms, OptimizeRequest(choice=EngineChoice(None, True))) is forms[1]
    assert choose_form(forms, OptimizeRequest(choice=EngineChoice("int8", True))) is forms[3]


def test_what_was_measured_stands_in_the_run(trained: Path) -> None:
    facts = json.loads((trained / "optimized" / "progress.json").read_text())
    forms = facts["measured"]["forms"]
    assert [(each["precision"], each["shortlist"]) for each in forms] == [
        ("float32", False),
        ("float32", True),
        ("int8", False),
        ("int8", True),
    ]
    assert forms[0]["equal"] == 1.0
    assert forms[2]["megabytes"] < forms[0]["megabytes"]
    assert np.isfinite([each["score"] for each in forms]).all()


def test_shortlists_need_a_source_of_symbols(run: Path) -> None:
    """What is spelt, or has no symbols, is refused before anything is learnt from it."""
    model = seqloom.load(run)
    assert isinstance(model, TextPredictor)
    require_symbols(model)
    spelt = TextField.learn(TextConfig(unit="symbol", spelling=5), ["ab ba"], seed=1)
    with pytest.raises(ConfigError, match="shortlists are learnt from symbols"):
        require_symbols(replace(model, source=spelt))


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # so that importing it is an error, in processes of a server too
import seqloom
from seqloom.cli.app import main
from seqloom.scheduling.templates import fork_template
from tests.serving.support import serving
run = sys.argv[1]
model = seqloom.load(run)
for source in sys.argv[2:]:
    print(model(source).as_dict())
models = {"model": model}
with serving(models, template=fork_template(models, 2)) as server:
    for named in (None, {"kind": "beam", "width": 3}, {"kind": "greedy"}):
        body = {"inputs": sys.argv[2:], "n_best": 1 + (named is None), "search": named}
        print(server.ask("POST", "/v1/predict", body).json["outputs"])
sys.argv = ["seqloom", "predict", run, "--json", "--n-best", "3", "--set", "search.beam=4"]
main()
"""


def test_an_optimized_run_is_used_without_torch(run: Path) -> None:
    """From Python with attention, over HTTP by its own search and by others that a request names,
    and from the command line by a beam of another width; the same as with torch."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(run), *SOURCES],
        input="\n".join(SOURCES),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    model, lines = seqloom.load(run), iter(done.stdout.splitlines())
    for source in SOURCES:
        assert next(lines) == str(model(source).as_dict())
    assert next(lines) == str([each.as_dict() for each in model.predict(SOURCES, n_best=2)])
    ranking = Ranking.from_config(model.config.search)
    for search in (Beam(3, ranking), Greedy()):
        outputs = [each.as_dict() for each in model.predict(SOURCES, search=search)]
        assert next(lines) == str(outputs)
    for each in model.predict(SOURCES, search=Beam(4), n_best=3):
        assert json.loads(next(lines)) == json.loads(json.dumps(each.as_dict()))


NAMED_SEARCH = """
import sys
import seqloom
from tests.serving.support import serving
with serving({"model": seqloom.load(sys.argv[1])}) as server:
    body = {"inputs": sys.argv[2:], "search": {"kind": "beam", "width": 3}}
    print(server.ask("POST", "/v1/predict", body).json["outputs"])
"""


def test_a_search_that_is_named_first_over_http(run: Path) -> None:
    """In a process that has used no search by its name before."""
    done = subprocess.run(
        [sys.executable, "-c", NAMED_SEARCH, str(run), *SOURCES],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    found = seqloom.load(run).predict(SOURCES, search=Beam(3))
    assert done.stdout.strip() == str([each.as_dict() for each in found])


@pytest.mark.parametrize("stale", [True, False], ids=["without its functions", "no library"])
def test_a_core_that_does_not_load_leaves_an_optimized_run_to_torch(
    run: Path,
    tmp_path: Path,
    stale: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One sentence says so once, and outputs are those of the network."""
    place = Path(_ctypes.__file__) if stale else tmp_path / "core.so"
    if not stale:
        place.write_bytes(b"not a library")
    monkeypatch.setenv(library.PLACE, str(place))
    for cached in (library._load_library, warn_once):
        cached.cache_clear()
    try:
        model = seqloom.load(run)
        assert isinstance(model, TextPredictor)
        assert "on torch" in model.describe_engine()
        written, expected = texts(model), texts(replace(model, engine=None))
        assert [text for text, _ in written] == [text for text, _ in expected]
        assert written == texts(seqloom.load(run))
        said = library.STALE if stale else "the compiled engine cannot be loaded"
        assert capfd.readouterr().err.count(said) == 1
    finally:
        library._load_library.cache_clear()


def test_threads_that_need_the_weights_have_them_read_once(run: Path) -> None:
    model, reading = seqloom.load(run), []
    assert isinstance(model.weights, Deferred)
    read, both = model.weights._make, Barrier(2)

    def watched() -> Network:
        reading.append(1)
        return read()

    shared = replace(model, weights=Deferred(watched))

    def look(_: int) -> Network:
        both.wait()
        return shared.network

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(look, range(2))
    assert first is second
    assert reading == [1]


def test_a_run_that_is_being_trained_is_refused_before_it_is_measured(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its best step may change meanwhile, and what was measured would be taken for that one."""
    module = import_module("seqloom.api.optimize")
    monkeypatch.setattr(module, "measure_forms", lambda *_: pytest.fail("measured"))
    with RunDirectory(run).lock(), pytest.raises(RunError):
        seqloom.optimize(run)


def test_no_run_is_begun_by_optimizing_none(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        seqloom.optimize(tmp_path / "none")
    assert not (tmp_path / "none").exists()
