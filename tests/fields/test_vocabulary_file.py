"""S1.3, S10: a vocabulary in an order of its own, with or without the special symbols."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.config import DataConfig, ModelConfig, validate
from seqloom.config.columns import NoColumnConfig
from seqloom.data import Columns, Corpus, FileLocation, Report, Row
from seqloom.datasets.cats import CATS_VOCABULARY, cats
from seqloom.errors import ConfigError, DataError
from seqloom.fields import (
    END,
    START,
    UNK,
    LabelField,
    NoField,
    Symbols,
    TextField,
    learn_field,
    load_field,
)
from seqloom.fields.vocabulary_file import read_vocabulary
from seqloom.model import Memory, build_sequence_model
from seqloom.nn.embedding import ListedVectors

LEXICON = ["deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the"]
TEXT = "the mathematical engineering of deep learning"
ELMAN = {
    "kind": "recurrent", "unit": "elman", "width": 20, "layers": 1, "dropout": 0.0,
    "readout": "affine", "attention": "none", "first_state": "zero",
}  # fmt: skip


def given(tmp_path: Path, symbols: list[str], **options: object) -> TextField:
    """A field whose vocabulary is the lines of a file."""
    file = tmp_path / "vocabulary.txt"
    file.write_text("".join(f"{symbol}\n" for symbol in symbols))
    tables = {"kind": "text", "unit": "symbol", "vocabulary": str(file), **options}
    config = validate({"target": tables}, place="test").target
    field = learn_field(config, [], seed=1)
    assert isinstance(field, TextField)
    return field


def numbers(field: TextField, text: str) -> list[int]:
    """The row of each symbol, counted from 1 as the texts count."""
    rows = field.items.rows
    return [rows[token] + 1 for token in field.rows([text])[0].tolist()]


def test_the_toy_language_model(tmp_path: Path) -> None:
    """S10: the numbers of the words, and 748 parameters."""
    field = given(tmp_path, LEXICON, specials="listed")
    assert numbers(field, TEXT) == [8, 5, 2, 6, 1, 3]
    assert field.describe() == "symbols, 8 symbols, in the order given"
    config = {
        "one_hot": True,
        "tie_output": False,
        "share_vocabulary": False,
        "encoder": {"kind": "none"},
        "decoder": ELMAN,
    }
    model = build_sequence_model(
        ModelConfig.model_validate(config), source=Symbols(4), target=field.items
    )
    assert sum(each.numel() for each in model.parameters()) == 748
    predicted, wanted = [5, 2, 6, 2, 3], numbers(field, TEXT)[1:]
    assert sum(p == w for p, w in zip(predicted, wanted, strict=True)) / 5 == 4 / 5


def test_the_class_to_sequence_set(tmp_path: Path) -> None:
    """S10: 22 words numbered from 1; 11, 7 and 13 give the three sentences with `<end>`."""
    field = given(tmp_path, [*CATS_VOCABULARY], specials="listed")
    source = validate({"source": {"kind": "label", "vocabulary": field.config.vocabulary}},
                      place="test").source  # fmt: skip
    labels = learn_field(source, [], seed=1)
    assert isinstance(labels, LabelField)
    pairs = {
        labels.items.rows[int(labels.rows([word])[0][0])] + 1: numbers(field, text)
        for word, text in cats().train
    }
    assert pairs == {
        11: [15, 16, 6, 22], 7: [3, 8, 14, 20, 22], 13: [12, 19, 7, 3, 8, 22],
    }  # fmt: skip
    decoder = {
        **ELMAN, "unit": {"kind": "elman", "activation": "sigmoid", "bias": False},
        "first_state": "map", "map_activation": "sigmoid", "map_bias": False,
    }  # fmt: skip
    config = ModelConfig.model_validate(
        {"one_hot": True, "tie_output": False, "output_bias": False, "share_vocabulary": False,
         "encoder": {"kind": "vectors"}, "decoder": decoder}
    )  # fmt: skip
    model = build_sequence_model(config, source=labels.items, target=field.items)
    assert sum(each.numel() for each in model.parameters()) == 1_720


def test_a_symbol_without_a_row_reads_as_zeros_and_is_never_written(tmp_path: Path) -> None:
    field = given(tmp_path, [*LEXICON, "<end>"], specials="listed")
    config = ModelConfig.model_validate(
        {
            "one_hot": True,
            "tie_output": False,
            "share_vocabulary": False,
            "encoder": {"kind": "none"},
            "decoder": ELMAN,
        }
    )
    model = build_sequence_model(config, source=Symbols(4), target=field.items).eval()
    (table,) = (each for each in model.modules() if isinstance(each, ListedVectors))
    vectors = table(torch.tensor([START, UNK, END, 4]))
    assert vectors.sum(dim=1).tolist() == [0, 0, 1, 1]
    assert vectors[2].argmax() == 8
    features, _ = model.decoder.read(torch.tensor([[START]]), model.decoder.start(Memory(1)))
    chances = model.decoder.write(features.hidden)[0, 0].softmax(0).detach()
    assert chances[[START, UNK]].tolist() == [0, 0]
    assert chances[END] > 0
    assert float(chances.sum()) == pytest.approx(1)


def test_start_and_end_are_one_symbol_where_asked(tmp_path: Path) -> None:
    """One row for both, with and without a file; one parameter row less."""
    field = given(tmp_path, [*LEXICON, "<start>", "<end>"], specials="listed", one_boundary=True)
    assert field.items.rows[START] == field.items.rows[END] == 8
    assert field.items.table_size == 9
    config = validate({"target": {"kind": "text", "unit": "symbol", "one_boundary": True}},
                      place="test").target  # fmt: skip
    learnt = learn_field(config, ["a b", "b c"], seed=1)
    assert isinstance(learnt, TextField)
    assert learnt.items.table_size == learnt.size - 1


@pytest.mark.parametrize(("more", "closing"), [([], 0), (["<end>"], 1)])
def test_nothing_closes_a_row_where_end_is_not_listed(
    tmp_path: Path, more: list[str], closing: int
) -> None:
    """The words of a row are all that is in it but what closes it, whole or truncated."""
    field = given(tmp_path, [*LEXICON, *more], specials="listed")
    assert field.closing == field.items.closing == closing
    (row,) = field.rows([TEXT])
    assert len(row) - field.closing == len(TEXT.split())
    assert field.cell(field.truncate(row, 2)) == "the mathematical"


def test_a_stream_without_end_keeps_the_last_word_of_a_line(tmp_path: Path) -> None:
    field = given(tmp_path, LEXICON, specials="listed")
    columns = Columns(NoField(NoColumnConfig()), field, DataConfig(lines="stream"))
    rows = [Row("", TEXT, FileLocation("lines.txt", 1))]
    made = Corpus.build(
        rows, columns, directory=tmp_path / "corpus", report=Report(), fingerprint=""
    )
    assert made.batch(np.array([0])).target[0].tolist() == field.encode(TEXT).tolist()


def test_words_outside_are_unknown_or_an_error(tmp_path: Path) -> None:
    field = given(tmp_path, LEXICON)
    assert field.encode("the big deep").tolist()[1] == UNK
    assert field.fault("the big deep") is None
    strict = given(tmp_path, LEXICON, unknown="error")
    assert strict.fault(TEXT) is None
    assert str(strict.fault("the big deep")).startswith("'big' is not in the vocabulary")


def test_a_saved_vocabulary_keeps_its_order(tmp_path: Path) -> None:
    field = given(tmp_path, [*CATS_VOCABULARY], specials="listed")
    again = TextField.restore(field.config, field.state().facts, tmp_path)
    assert again.items == field.items
    assert again.describe() == field.describe()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a\nb\na\n", ":3: the symbol 'a' is in line 1 too; remove one of the two"),
        ("a\n\nb\n", ":2: the line is blank; write a symbol a line"),
        ("", ": a vocabulary has 1 to 1,000,000 symbols, and this file 0; write a symbol a line"),
    ],
)
def test_a_faulty_file_is_told_with_its_line(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        read_vocabulary(str(file))
    assert str(error.value) == f"{file}{sentence}"


def test_a_file_needs_whole_symbols(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the unit is subword; set unit=symbol"):
        given(tmp_path, LEXICON, unit="subword")


def test_a_field_saved_before_there_were_such_files_still_loads(tmp_path: Path) -> None:
    config = validate({"target": {"kind": "text", "unit": "word"}}, place="test").target
    learn_field(config, ["a b", "b c"], seed=1).save(tmp_path)
    path = tmp_path / "field.json"
    facts = json.loads(path.read_text())
    for name in ("vocabulary", "specials", "unknown", "one_boundary"):
        del facts["config"][name]
    path.write_text(json.dumps(facts))
    assert load_field(tmp_path).cell([4, 5]) is not None
