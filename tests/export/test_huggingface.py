"""Checkpoints of transformers come in and go out with the same probabilities (issue 28.1)."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from seqloom.api.evaluate import evaluate
from seqloom.api.interchange import import_run
from seqloom.api.load import load_text_predictor
from seqloom.api.train import train
from seqloom.config import TextConfig
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.export import HuggingFaceModel, export_huggingface
from seqloom.export.huggingface.piece_models import piece_model
from seqloom.fields import TextField
from seqloom.prediction import TextPredictor
from seqloom.runs.contents import load_config
from seqloom.search import PLAIN, Beam
from seqloom.store import RunDirectory
from tests.counts import count
from tests.export.checkpoints import TARGETS, TEXTS, make_checkpoint
from tests.export.small_models import RECURRENT, model_of, rows_of

transformers: Any = pytest.importorskip(
    "transformers", reason="needs transformers; pip install 'seqloom[huggingface]'"
)

SHAPES: dict[str, dict[str, Any]] = {
    "gelu": {},
    "swish, scaled": {"scale_embedding": True, "activation_function": "swish"},
    "relu, untied": {"activation_function": "relu", "tie_word_embeddings": False},
    "two vocabularies": {"share_encoder_decoder_embeddings": False},
    "two vocabularies, untied": {
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
    },
    "norm first": {"kind": "pegasus"},
    "norm first, untied": {"kind": "pegasus", "tie_word_embeddings": False},
}
UNITS = ("character", "subword", "symbol", "byte")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_checkpoint_says_here_what_it_says_there(shape: str, tmp_path: Path) -> None:
    """Every token of a given output has the same log-probability, and beams find the same; what is
    written back has it too, and read again it is the same run."""
    theirs = make_checkpoint(tmp_path / "there", **SHAPES[shape])
    ours = load_text_predictor(import_run(tmp_path / "there", tmp_path / "run"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")
    expected = [log_probabilities(theirs, tokenizer, *pair) for pair in PAIRS]
    for (source, target), values in zip(PAIRS, expected, strict=True):
        assert scores(ours, source, target) == pytest.approx(values, abs=1e-4)
    for source in TEXTS[:3]:
        compare_beams(ours, theirs, tokenizer, source)
    export_huggingface(ours, tmp_path / "back")
    back = HuggingFaceModel(tmp_path / "back")
    for pair, values in zip(PAIRS, expected, strict=True):
        found = log_probabilities(back.model, back.tokenizer, *pair)
        assert found == pytest.approx(values, abs=1e-4)
    again = import_run(tmp_path / "back", tmp_path / "again")
    assert configuration(again) == configuration(tmp_path / "run")
    assert all(
        torch.equal(one, two)
        for one, two in zip(
            ours.network.parameters(), load_text_predictor(again).network.parameters(), strict=True
        )
    )


PAIRS = list(zip(TEXTS, TARGETS, strict=True))[:3]


def log_probabilities(network: Any, tokenizer: Any, source: str, target: str) -> list[float]:
    batch = tokenizer(source, text_target=target, return_tensors="pt")
    with torch.no_grad():
        every = network(**batch).logits.log_softmax(-1)[0]
    values: list[float] = every.gather(-1, batch["labels"][0][:, None])[:, 0].tolist()
    return values


def scores(model: TextPredictor, source: str, target: str) -> list[float]:
    (scored,) = model.score([(source, target)])
    return [token.log_probability for token in scored.tokens]


def compare_beams(ours: TextPredictor, theirs: Any, tokenizer: Any, source: str) -> None:
    """Without a length rule; at the limit, where none has ended, the likeliest path is the output
    of both."""
    (row,) = ours.source.rows([source])
    (output,) = ours.predict_rows([row], search=Beam(3, PLAIN))
    forbidden = [theirs.config.pad_token_id, tokenizer.unk_token_id]
    batch = tokenizer([source], return_tensors="pt")
    (found,) = theirs.generate(
        **batch,
        num_beams=3,
        length_penalty=0.0,
        early_stopping="never",
        max_length=2 * len(row) + 21,
        suppress_tokens=forbidden,
    )
    assert tokenizer.decode(found, skip_special_tokens=True) == output.text


OPUS: dict[str, Any] = {  # Tiedemann and Thottingal 2020, OPUS-MT
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "max_position_embeddings": 512,
    "activation_function": "swish",
    "scale_embedding": True,
    "static_position_embeddings": True,
    "forced_eos_token_id": 0,
    "pieces": 58_000,
}


@pytest.mark.skipif(count(0, 1) == 0, reason="minutes: scripts/check --full runs it")
@pytest.mark.parametrize("shared", [True, False], ids=["one vocabulary", "two vocabularies"])
def test_a_model_of_the_size_of_opus_goes_in_and_out(shared: bool, tmp_path: Path) -> None:
    """6 + 6 layers of width 512 and 58,000 pieces: 74 million numbers, or 104 million."""
    theirs = make_checkpoint(tmp_path / "there", share_encoder_decoder_embeddings=shared, **OPUS)
    assert theirs.num_parameters() > 70_000_000
    ours = load_text_predictor(import_run(tmp_path / "there", tmp_path / "run"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")
    expected = [log_probabilities(theirs, tokenizer, *pair) for pair in PAIRS]
    for pair, values in zip(PAIRS, expected, strict=True):
        assert scores(ours, *pair) == pytest.approx(values, abs=1e-4)
    export_huggingface(ours, tmp_path / "back")
    back = HuggingFaceModel(tmp_path / "back")
    for pair, values in zip(PAIRS, expected, strict=True):
        found = log_probabilities(back.model, back.tokenizer, *pair)
        assert found == pytest.approx(values, abs=1e-4)


def configuration(run: Path) -> str:
    return (run / "config.toml").read_text(encoding="utf-8")


def test_an_import_is_fine_tuned_and_resumed_bit_for_bit(tmp_path: Path) -> None:
    """The loss falls from that of the checkpoint, and two sittings are as one."""
    make_checkpoint(tmp_path / "there", scale_embedding=True, activation_function="swish")
    base = import_run(tmp_path / "there", tmp_path / "base")
    pairs = list(zip(TEXTS, TARGETS, strict=True)) * 4
    training = {"updates": 30, "validate_every": 10, "rate": 1e-2, "warmup": 2, "workers": 1}
    asked: dict[str, Any] = {"base": base, "valid": pairs, "options": {"training": training}}
    whole = train(pairs, tmp_path / "whole", **asked)
    train(pairs, tmp_path / "halves", until=10, **asked)
    train(pairs, tmp_path / "halves", **asked)
    one, two = (RunDirectory(tmp_path / name).latest_checkpoint() for name in ("whole", "halves"))
    assert one is not None
    assert two is not None
    assert all(torch.equal(one.load()[name], value) for name, value in two.load().items())
    before = -np.mean([np.mean(scores(load_text_predictor(base), *pair)) for pair in pairs[:5]])
    assert whole.best.loss < 0.8 * before
    assert evaluate(load_text_predictor(tmp_path / "whole"), pairs)
    with pytest.raises(DataError, match="fine-tune it with base="):
        train(pairs, base)


@pytest.mark.parametrize("unit", UNITS)
def test_text_is_cut_there_as_here(unit: str, tmp_path: Path) -> None:
    """A tokenizer of transformers gives our ids, and our text again."""
    texts = [*TEXTS, *TARGETS, "two  spaces", "x<y", "über 5 €"]
    field = TextField.learn(TextConfig(unit=unit, size=400), texts, seed=1)
    content, names = piece_model(field, "source")
    assert len(names) == len(set(names)) == field.size
    folder = write_tokenizer(tmp_path / "there", content, names)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in texts:
        assert tokenizer(text)["input_ids"] == field.rows([text])[0].tolist()
        ids = field.rows([text])[0].tolist()
        assert tokenizer.decode(ids, skip_special_tokens=True) == field.decode(ids)


def write_tokenizer(folder: Path, content: bytes, names: list[str]) -> Path:
    folder.mkdir()
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(content)
    table = {name: token for token, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    told = {"tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


KINDS: dict[str, dict[str, Any]] = {
    "as by default": {},
    "norms after the sums": {"norm": "after", "activation": "swish"},
    "learned positions": {"positions": {"kind": "learned", "most": 5}, "norm": "after"},
    "no positions": {"positions": "none", "attention_bias": True},
}


@pytest.mark.parametrize("name", KINDS)
def test_a_model_of_ours_goes_out(name: str, tmp_path: Path) -> None:
    """Its tokens have the same log-probabilities there, and the pipeline writes text."""
    model = model_of(KINDS[name])
    export_huggingface(model, tmp_path / "out")
    exported = HuggingFaceModel(tmp_path / "out")
    for row, output in zip(rows_of(model), model.predict_rows(rows_of(model)), strict=True):
        ids = model.target.encode(output.text).tolist()
        theirs = exported.log_probabilities(row, ids)
        text = model.source.cell(row)
        assert scores(model, text, output.text) == pytest.approx(theirs, abs=1e-4)
    written = exported.search("by the sea", longest=12)
    assert isinstance(written, str)


REFUSED: dict[str, dict[str, Any]] = {
    "model.encoder.positions.kind = 'rotary'": {"both": {"positions": "rotary"}},
    "model.encoder.activation = 'gated'": {"both": {"activation": "gated"}},
    "model.encoder.head_size = 4": {"both": {"head_size": 4}},
    "model.encoder.mixing = 'simple'": {"both": {"mixing": "simple"}},
    "model.encoder.kind = 'recurrent'": {"both": {}, "encoder": RECURRENT},
    "model.encoder.norm = 'first' beside two voc": {"both": {}, "share_vocabulary": False},
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_has_no_counterpart_names_its_option(option: str, tmp_path: Path) -> None:
    """One sentence, exit code 2, and nothing written."""
    with pytest.raises(ConfigError) as refusal:
        export_huggingface(model_of(**REFUSED[option]), tmp_path / "out")
    assert option in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "there"
    make_checkpoint(folder)
    return folder


DAMAGES = {
    "no safetensors": "convert it with: python -c",
    "no vocabulary": "vocab.json: cannot be read",
    "tensor missing": "has no model.decoder.layers.0.fc1.weight",
    "tensor of another shape": "encoder.blocks.0.network.0.weight",
    "another vocabulary": "model.safetensors",
    "another model": "model_type is 'bert'",
    "another activation": "activation_function is 'tanh'",
    "not sentencepiece": "source.spm: it is not a sentencepiece model",
    "not a number": "not numbers",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_checkpoint_that_does_not_fit_leaves_nothing(
    damage: str, checkpoint: Path, tmp_path: Path
) -> None:
    """One sentence that names the file, exit code 3, and no run."""
    folder = tmp_path / "there"
    shutil.copytree(checkpoint, folder)
    spoil(folder, damage)
    with pytest.raises(DataError) as refusal:
        import_run(folder, tmp_path / "run")
    assert DAMAGES[damage] in str(refusal.value)
    assert str(folder) in str(refusal.value)
    assert not (tmp_path / "run").exists()


def spoil(folder: Path, damage: str) -> None:
    tensors, settings = folder / "model.safetensors", folder / "config.json"
    told, values = json.loads(settings.read_text(encoding="utf-8")), load_file(tensors)
    match damage:
        case "no safetensors":
            tensors.rename(folder / "pytorch_model.bin")
        case "no vocabulary":
            (folder / "vocab.json").unlink()
        case "not sentencepiece":
            (folder / "source.spm").write_bytes(b"nothing of the kind")
        case "tensor missing":
            del values["model.decoder.layers.0.fc1.weight"]
        case "tensor of another shape":
            told["encoder_ffn_dim"] = 23
        case "not a number":
            values["model.encoder.layers.0.fc1.bias"][0] = torch.nan
        case "another vocabulary":
            told["vocab_size"] = told["decoder_vocab_size"] = told["vocab_size"] + 2
        case "another model":
            told["model_type"] = "bert"
        case "another activation":
            told["activation_function"] = "tanh"
    if tensors.exists():
        save_file(values, tensors, metadata={"format": "pt"})
    settings.write_text(json.dumps(told), encoding="utf-8")


def test_an_imported_run_is_whole(checkpoint: Path, tmp_path: Path) -> None:
    """It has no training data, its fields are checked, and a second import leaves it alone."""
    run = import_run(checkpoint, tmp_path / "run")
    assert load_config(RunDirectory(run)).source.keeps_own_field
    with pytest.raises(ConfigError, match="a run is already there"):
        import_run(checkpoint, run)
    (run / "fields" / "target" / "tokenizer.model").write_bytes(b"")
    with pytest.raises(RunError, match="restore"):
        load_text_predictor(run)
