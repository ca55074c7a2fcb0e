"""An exported Transformer says in CTranslate2 what it says here (issue 4.7)."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.config import TextConfig
from seqloom.errors import ConfigError, RunError
from seqloom.export import CTranslate2Model, compare, export_ctranslate2, token_names
from seqloom.fields import END, SPECIAL_SYMBOLS, TextField, load_text
from seqloom.prediction import TextPredictor
from seqloom.search import PLAIN, Beam, Greedy
from tests.export.small_models import RECURRENT, TEXTS, model_of, rows_of

ctranslate2: Any = pytest.importorskip(
    "ctranslate2", reason="needs ctranslate2; pip install 'seqloom[export]'"
)

KINDS: dict[str, dict[str, Any]] = {
    "as by default": {},
    "norms after the sums": {"norm": "after"},
    "biases": {"attention_bias": True},
    "gelu": {"activation": "gelu"},
    "gated": {"activation": "gated"},
    "small heads": {"head_size": 4},
    "learned positions": {"positions": {"kind": "learned", "most": 5}},
    "no positions": {"positions": "none"},
}
REFUSED: dict[str, dict[str, Any]] = {
    "rotary positions": {"positions": "rotary"},
    "OneHotPositions": {"positions": {"kind": "one-hot", "most": 4}, "width": 20},
    "keys of 4 and values of 6": {"head_size": 4, "value_size": 6},
    "SimpleAttention": {"mixing": "simple"},
}


def models() -> dict[str, TextPredictor]:
    """Every kind of Transformer that CTranslate2 has a form for."""
    small = {"kind": "transformer", "width": 16, "inner": 8, "heads": 4, "layers": 1}
    return {
        **{name: model_of(options) for name, options in KINDS.items()},
        "two vocabularies": model_of({}, share_vocabulary=False),
        "nothing tied": model_of({}, share_vocabulary=False, tie_output=False),
        "no output bias": model_of({}, output_bias=False),
        "unequal sides": model_of({}, encoder=small),
    }


@pytest.mark.parametrize("name", models())
def test_scores_and_outputs_are_equal(name: str, tmp_path: Path) -> None:
    """Every token of every output has the same log-probability, and greedy outputs are the same."""
    model = models()[name]
    export_ctranslate2(model, tmp_path / "out")
    agreement = compare(model, tmp_path / "out", rows_of(model))
    assert agreement.sentences == len(TEXTS)
    assert agreement.max_difference < 1e-4
    exported = CTranslate2Model(model, tmp_path / "out", compute_type="float32")
    ours = model.predict_rows(rows_of(model), search=Greedy())
    for row, output in zip(rows_of(model), ours, strict=True):
        (ids,) = exported.search([row], Beam(1, PLAIN), longest=len(row) + 4)
        assert model.target.decode(ids) == output.text


def test_the_best_outputs_of_beams(tmp_path: Path) -> None:
    """Without a length rule both stop when the best path has ended, and find the same, or ours is
    likelier: a path that ends outside of the best K is kept here and dropped there. At the limit
    of length each has a rule of its own."""
    beam, same, gains = Beam(4, PLAIN), 0, []
    for number in range(9):
        model = model_of({"dropout": number / 10})  # which draws other weights
        with torch.no_grad():  # that end
            dict(model.network.named_parameters())["decoder.output.bias"][END] += 2
        export_ctranslate2(model, tmp_path / str(number))
        exported = CTranslate2Model(model, tmp_path / str(number), compute_type="float32")
        ours = model.predict_rows(rows_of(model), search=beam)
        for text, row, output in zip(TEXTS, rows_of(model), ours, strict=True):
            (ids,) = exported.search([row], beam, longest=len(row) + 4)
            if output.stopped == "end" and ids[-1] == END:
                theirs = model.target.decode(ids)
                same += theirs == output.text
                (scored,) = model.score([(text, theirs)])
                gains.append(output.score - scored.log_probability)
    assert len(gains) >= 20
    assert min(gains) > -1e-4
    assert same >= 0.95 * len(gains)


def test_what_the_readme_says_works(tmp_path: Path) -> None:
    """Text in, text out, with nothing but what lies in the directory."""
    model, folder = model_of({}, share_vocabulary=False), tmp_path / "out"
    export_ctranslate2(model, folder)
    source, target = load_text(folder / "source"), load_text(folder / "target")
    names, numbers = token_names(source), {n: i for i, n in enumerate(token_names(target))}
    tokens = [names[token] for token in source.encode(TEXTS[0])]
    (result,) = ctranslate2.Translator(str(folder)).translate_batch(
        [tokens],
        disable_unk=True,
        min_decoding_length=0,
        beam_size=1,
        max_decoding_length=len(tokens) + 5,
        suppress_sequences=[[SPECIAL_SYMBOLS[0]], [SPECIAL_SYMBOLS[2]]],
    )
    (expected,) = model.predict([TEXTS[0]], search=Greedy())
    assert target.decode([numbers[name] for name in result.hypotheses[0]]) == expected.text
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "Translator(str(folder)).translate_batch(" in text
    assert json.loads((folder / "config.json").read_text())["eos_token"] == SPECIAL_SYMBOLS[END]


@pytest.mark.parametrize("unit", ["byte", "character", "word", "subword"])
def test_no_two_tokens_have_one_name(unit: str) -> None:
    """Names are as shown, the special symbols first; what would look alike is told apart."""
    texts = ["<end> <unk>#1 a b  c\u2423 \u00a0x <0x41> < end >", *TEXTS]
    field = TextField.learn(TextConfig(unit=unit, size=400), texts, seed=1)
    names = token_names(field)
    assert len(set(names)) == len(names) == field.size
    assert tuple(names[:4]) == SPECIAL_SYMBOLS


@pytest.mark.parametrize("part", [*REFUSED, "kind RecurrentEncoder", "a decoder of", "NoEncoder"])
def test_what_has_no_form_there_is_refused(part: str, tmp_path: Path) -> None:
    """One sentence that names the part, exit code 2, and nothing written."""
    match part:
        case "a decoder of":
            model = model_of({}, decoder={**RECURRENT, "width": 16})
        case "kind RecurrentEncoder":
            model = model_of({}, encoder=RECURRENT)
        case "NoEncoder":
            model = model_of({}, encoder={"kind": "none"})
        case _:
            model = model_of(REFUSED[part])
    with pytest.raises(ConfigError, match=part) as refusal:
        export_ctranslate2(model, tmp_path / "out")
    assert refusal.value.exit_code == 2
    assert str(refusal.value).startswith("ctranslate2 takes Transformers")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """What is there is left alone, and nothing half-written stays."""
    model = model_of({})
    (tmp_path / "there").mkdir()
    with pytest.raises(ConfigError, match="already there"):
        export_ctranslate2(model, tmp_path / "there")
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        export_ctranslate2(model, tmp_path / "file" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]
