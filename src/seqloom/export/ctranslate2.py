"""Export a Transformer as a CTranslate2 model directory, by that library's specification.

DIR/  model.bin config.json *_vocabulary.json   what CTranslate2 reads
      source/ target/                           how text is cut into tokens, as in a run
      README.md                                 how to use it
"""

from collections import Counter
from pathlib import Path
from typing import Any

from torch import nn

from seqloom.export.directories import whole_directory
from seqloom.export.refusals import require_text_source
from seqloom.export.specification import transformer_specification
from seqloom.fields import END, SPECIAL_SYMBOLS, START, UNK, TextField
from seqloom.prediction import TextPredictor

__all__ = ["export_ctranslate2", "longest_output", "source_names", "token_names"]

README = """# A Transformer trained with Seqloom, for CTranslate2

`source/` and `target/` say how text is cut into tokens and put together again; the vocabulary files
name each token. In Python, with `ctranslate2` and `seqloom` installed:

    from ctranslate2 import Translator
    from seqloom.export import token_names
    from seqloom.fields import load_text

    source, target = load_text(folder / "source"), load_text(folder / "target")
    names, numbers = token_names(source), {n: i for i, n in enumerate(token_names(target))}
    tokens = [names[token] for token in source.encode("...")]
    (result,) = Translator(str(folder)).translate_batch(
        [tokens], disable_unk=True, min_decoding_length=0, max_decoding_length=%(target)d
    )
    print(target.decode([numbers[name] for name in result.hypotheses[0]]))

CTranslate2 adds `<end>` to each source, which has at most %(source)d tokens with it. Names of
subwords are sentencepiece's own, for a text with one space put in front of it. Outputs are compared
as in Seqloom with `return_end_token=True` and `length_penalty=%(power)g`; `patience=2` then finds
what Seqloom's beam finds in nearly all cases.
"""


def export_ctranslate2(model: TextPredictor, output: Path) -> None:
    """Write a Transformer in CTranslate2's format; ConfigError if that library lacks a part of it.

    The directory must not exist; it is created atomically.
    """
    specification = _specification(model)
    with whole_directory(output) as folder:
        specification.save(str(folder))
        model.source.save(folder / "source")
        model.target.save(folder / "target")
        (folder / "README.md").write_text(_readme(model), encoding="utf-8")


def token_names(field: TextField) -> list[str]:
    """A unique name for each id of a vocabulary: its display text, with the id where needed."""
    shown = field.tokens(range(field.size))
    counts = Counter(shown)
    return [
        name if counts[name] == 1 or token <= END else f"{name}#{token}"
        for token, name in enumerate(shown)
    ]


def source_names(model: TextPredictor) -> list[str]:
    """The names of the source's tokens; the source must be text."""
    return token_names(require_text_source(model, "ctranslate2"))


def longest_output(model: TextPredictor) -> int:
    """The most tokens of an output for any source of the run, including `<end>`."""
    options = model.config.search
    return max(1, int(_longest_source(model) * options.max_ratio)) + options.max_extra


def _readme(model: TextPredictor) -> str:
    return README % {
        "source": _longest_source(model),
        "target": longest_output(model),
        "power": model.config.search.length_power,
    }


def _longest_source(model: TextPredictor) -> int:
    return model.config.data.max_source + 1


def _specification(model: TextPredictor) -> Any:
    """The model's specification with weights and vocabularies, validated by CTranslate2."""
    specification = transformer_specification(
        model.network, source=_longest_source(model), target=longest_output(model)
    )
    specification.register_source_vocabulary(source_names(model))
    specification.register_target_vocabulary(token_names(model.target))
    config = specification.config
    config.unk_token, config.bos_token = SPECIAL_SYMBOLS[UNK], SPECIAL_SYMBOLS[START]
    config.eos_token, config.decoder_start_token = SPECIAL_SYMBOLS[END], SPECIAL_SYMBOLS[START]
    config.add_source_eos = True
    config.layer_norm_epsilon = nn.LayerNorm(1).eps
    specification.validate()
    specification.optimize()
    return specification
