"""Fine-tuning (S6.7): a run that begins from another, and what it keeps of it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.api.describe import describe
from seqloom.api.load import load
from seqloom.api.train import train
from seqloom.errors import ConfigError, Interrupted, RunError
from seqloom.fields import load_text
from seqloom.runs.progress import Origin, Plan, Progress, SilentObserver
from seqloom.store import Checkpoint, RunDirectory
from tests.runs.support import PAIRS, Options, assert_same, at, interrupt, last, options, trained

FEW = PAIRS[:24]
NEW = [(f"{source}é", f"é{target}") for source, target in PAIRS[:24]]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a model whose sides and output layer share nothing."""
    run = tmp_path_factory.mktemp("old") / "run"
    separate = options(updates=8)
    separate["model"] |= {"share_vocabulary": False, "tie_output": False}
    trained(run, separate)
    return run


def short(**training: Any) -> Options:
    """Options of training alone: the rest is the old run's."""
    given = options(updates=4, validate_every=2, patience=0, **{"average": "none", **training})
    return {name: given[name] for name in ("data", "training")}


def steps(run: Path) -> dict[int, Checkpoint]:
    return {step.number: step for step in RunDirectory(run).checkpoints()}


def test_it_begins_with_the_weights_and_fields_of_the_other(old: Path, tmp_path: Path) -> None:
    """Step 0 is the model that the old run gives, bit for bit; the run says where it began."""
    run = tmp_path / "run"
    with pytest.raises(Interrupted, match="stopped; step 1 is saved"):
        train(FEW, run, base=old, options=short(), watch=at(1, interrupt))
    used = dict(load(old).network.named_parameters())
    first = steps(run)[0].load("model")
    assert first.keys() == used.keys()
    assert all(torch.equal(first[name], value) for name, value in used.items())
    for side in ("source", "target"):
        fields = [load_text(path / "fields" / side) for path in (old, run)]
        assert fields[0].fingerprint == fields[1].fingerprint
    origin = Progress.from_dict(steps(run)[0].progress()).origin
    assert origin == Origin(str(old), best(old))
    (event,) = [each for each in RunDirectory(run).events() if each["event"] == "begun"]
    event.pop("time")
    assert event == {"event": "begun", "step": 0, "from": f"{old}, step {best(old)}"}
    assert f"begun from {old}, step {best(old)}" in describe(run).lines()


def best(run: Path) -> int:
    results = last(run).progress()["validations"]
    return int(max(results, key=lambda each: (each["metric"], -each["loss"]))["step"])


@pytest.mark.faults
def test_it_goes_on_by_itself(old: Path, tmp_path: Path) -> None:
    """A3: stopped and continued by the same command to the same bits; the old run may be gone."""
    copy = tmp_path / "old"
    shutil.copytree(old, copy)
    train(FEW, tmp_path / "whole", base=copy, options=short())
    for until in (1, 3):
        with pytest.raises(Interrupted, match=f"step {until} is saved"):
            train(FEW, tmp_path / "run", base=copy, options=short(), watch=at(until, interrupt))
    shutil.rmtree(copy)
    train(FEW, tmp_path / "run", base=copy, options=short())
    assert_same(tmp_path / "run", tmp_path / "whole")


@pytest.mark.parametrize("parts", [["encoder"], ["decoder"], ["embeddings"], ["all-but-output"]])
def test_frozen_parts_are_those_of_the_other_run(
    parts: list[str], old: Path, tmp_path: Path
) -> None:
    """S6.7: bit-identical at the end, in a moving average too; the rest has learnt, and the
    optimiser knows only that."""
    run = tmp_path / "run"
    train(FEW, run, base=old, options=short(freeze=parts, average="moving", l1=1.0))
    before, after = dict(load(old).network.named_parameters()), last(run).load("average")
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    known = {name.partition("/")[0] for name in last(run).load("optimizer")}
    assert changed <= known
    assert known
    match parts:
        case ["encoder" | "decoder" as part]:
            assert not any(name.startswith(f"{part}.") for name in known)
            assert any(not name.startswith(f"{part}.") for name in changed)
        case ["embeddings"]:
            assert not any("embed" in name for name in known)
        case _:
            assert known == {"decoder.output.matrix.table", "decoder.output.bias"}


def test_the_vocabulary_is_kept_unless_it_is_to_grow(old: Path, tmp_path: Path) -> None:
    """A new character is unknown in the one and a symbol in the other; old symbols keep their id
    and their vectors."""
    for name, extend in (("kept", False), ("grown", True)):
        chosen = short(extend_vocabulary=extend)
        with pytest.raises(Interrupted):
            train(NEW, tmp_path / name, base=old, options=chosen, watch=at(1, interrupt))
    kept, grown = (load_text(tmp_path / name / "fields" / "source") for name in ("kept", "grown"))
    before = load_text(old / "fields" / "source")
    assert kept.size == before.size
    assert grown.size == before.size + 1
    assert kept.decode(kept.encode("é")) == "<unk>"
    assert grown.decode(grown.encode("é")) == "é"
    assert (grown.encode("aei") == before.encode("aei")).all()
    weights = dict(load(old).network.named_parameters())
    for name, value in steps(tmp_path / "grown")[0].load("model").items():
        assert torch.equal(value[tuple(slice(size) for size in weights[name].shape)], weights[name])
    assert RunDirectory(tmp_path / "grown").config_text().count("extend_vocabulary = true") == 1


def test_growing_changes_no_old_choice(old: Path, tmp_path: Path) -> None:
    """Among the old symbols the odds stay what they were, before any update."""
    chosen = short(extend_vocabulary=True, rate=1e-12, optimizer="sgd")
    train(NEW, tmp_path / "grown", base=old, options=chosen)
    rows = [("aei", "iea"), ("bfj", "jfb")]
    before, after = (load(run).score(rows) for run in (old, tmp_path / "grown"))
    for one, two in zip(before, after, strict=True):
        pairs = zip(one.tokens, two.tokens, strict=True)
        assert all(a.log_probability > b.log_probability for a, b in pairs)  # é takes its share


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": {"embedding": 16}}, "keeps its model.embedding = 8; leave options="),
        ({"source": {"unit": "word"}}, "keeps its source.unit = 'character'"),
        ({"model": {"encoder": {"layers": 2}}}, "keeps its model.encoder.layers = 1"),
        ({"training": {"freeze": ["encoder", "decoder"]}}, "leaves nothing to learn"),
        ({"trainin": {}}, "there is no option trainin"),
    ],
)
def test_what_would_make_another_model_is_refused(
    given: Options, sentence: str, old: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        train(FEW, tmp_path / "run", base=old, options={**short(), **given})
    assert not (tmp_path / "run" / "config.toml").exists()


def test_a_preset_is_refused_and_another_dropout_is_not(old: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keeps its model; leave model= out"):
        train(FEW, tmp_path / "run", base=old, model="lstm", options=short())
    dropout = {"model": {"encoder": {"dropout": 0.5}}}
    train(FEW, tmp_path / "run", base=old, options={**short(), **dropout})


def test_an_output_layer_that_is_the_embedding_cannot_learn_alone(tmp_path: Path) -> None:
    """S6.7: with tied tables it is refused, and a frozen side takes the table with it, as said."""
    tied = options(updates=2)
    tied["model"] |= {"share_vocabulary": True, "tie_output": True}
    tied |= {"source": {"unit": "byte"}, "target": {"unit": "byte"}}
    trained(tmp_path / "old", tied)
    with pytest.raises(ConfigError, match="the output layer is the embedding table here"):
        train(FEW, tmp_path / "a", base=tmp_path / "old", options=short(freeze="all-but-output"))
    notes: list[str] = []

    class Notes(SilentObserver):
        def on_start(self, plan: Plan) -> None:
            notes.extend(plan.notes)

    chosen = short(freeze="encoder")
    train(FEW, tmp_path / "b", base=tmp_path / "old", options=chosen, watch=Notes())
    assert any(
        note.startswith("the table of token vectors stays for the decoder") for note in notes
    )
    assert "decoder.output.bias/exp_avg" in last(tmp_path / "b").load("optimizer")


def test_going_on_from_elsewhere_is_refused(old: Path, tmp_path: Path) -> None:
    trained(tmp_path / "plain", options(updates=2))
    with pytest.raises(ConfigError, match="was begun without another run; leave base="):
        train(PAIRS, tmp_path / "plain", base=old)
    train(FEW, tmp_path / "run", base=old, options=short())
    with pytest.raises(ConfigError, match=r"was begun from .*old.*, step \d+; leave base="):
        train(FEW, tmp_path / "run", base=tmp_path / "plain", options=short())
    train(FEW, tmp_path / "run", options=short())


def test_new_symbols_in_a_frozen_table_are_refused(old: Path, tmp_path: Path) -> None:
    """They would stay as they were drawn; with other parts frozen the same command goes on."""
    for parts in (["encoder"], ["embeddings"]):
        chosen = short(extend_vocabulary=True, freeze=parts)
        with pytest.raises(
            ConfigError, match=r"training.freeze keeps .*, so the new symbols in it"
        ):
            train(NEW, tmp_path / "run", base=old, options=chosen)
    train(
        FEW, tmp_path / "run", base=old, options=short(extend_vocabulary=True, freeze=["encoder"])
    )


def test_growing_is_settled_at_the_beginning(old: Path, tmp_path: Path) -> None:
    """Without another run there is nothing to add to; a run that goes on has its vocabulary."""
    with pytest.raises(ConfigError, match="adds to the vocabulary of another run; name it with"):
        train(FEW, tmp_path / "run", options=short(extend_vocabulary=True))
    train(FEW, tmp_path / "run", base=old, options=short())
    with pytest.raises(ConfigError, match="was begun with training.extend_vocabulary = False"):
        train(FEW, tmp_path / "run", base=old, options=short(extend_vocabulary=True))


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run is here"):
        train(FEW, tmp_path / "run", base=tmp_path / "none")
    assert not (tmp_path / "run").exists()


def test_the_rate_is_lower_than_a_new_models(old: Path, tmp_path: Path) -> None:
    """Unless it is set; what is learnt already is not to be forgotten at once."""
    train(FEW, tmp_path / "run", base=old, options=short())
    assert load(tmp_path / "run").config.training.rate == pytest.approx(2e-3 / 4)
    train(FEW, tmp_path / "set", base=old, options=short(rate=0.01))
    assert load(tmp_path / "set").config.training.rate == 0.01
