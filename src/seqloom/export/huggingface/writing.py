"""Export a Transformer as a directory that Hugging Face transformers loads without custom code.

DIR/  config.json generation_config.json model.safetensors   the model
      source.spm target.spm vocab.json tokenizer_config.json  how text is cut, as Marian does it
      README.md                                               how to use it
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqloom.export.ctranslate2 import longest_output
from seqloom.export.directories import whole_directory
from seqloom.export.huggingface.piece_models import SPECIAL_NAMES, PieceModel, piece_model
from seqloom.export.huggingface.settings import (
    check_counterparts,
    check_vocabularies,
    generation_settings,
    is_tied,
    model_settings,
)
from seqloom.export.huggingface.tensors import tensor_pairs, to_transformers
from seqloom.export.refusals import require_text_source
from seqloom.fields import EMPTY, END, UNK
from seqloom.model.networks import weights
from seqloom.model.transformer import PositionalEmbedding
from seqloom.prediction import TextPredictor
from seqloom.store.tensors import pack

__all__ = ["export_huggingface"]

README = """# A Transformer trained with Seqloom, for Hugging Face transformers

    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(["..."], return_tensors="pt", padding=True)
    print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))

Text should be in Unicode's normal form C. Sources have at most %(source)d tokens. The tables of
positions in model.safetensors are part of the model: keep the file as it is, since transformers
leaves them out where it saves a Marian model again.
"""


def export_huggingface(model: TextPredictor, output: Path) -> None:
    """Write a Transformer in transformers' format; ConfigError names an unsupported option.

    The directory must not exist; it is created atomically.
    """
    check_counterparts(model.config)
    source = piece_model(require_text_source(model, "huggingface"), "source")
    target = piece_model(model.target, "target")
    check_vocabularies(model.config.model, same=source.names == target.names)
    longest = model.config.data.max_source + 1
    positions = max(longest, longest_output(model)) + 1
    settings = model_settings(
        model.config.model, sizes=(len(source.names), len(target.names)), positions=positions
    )
    with whole_directory(output) as folder:
        _write_json(folder / "config.json", settings)
        generation = generation_settings(model.config, longest_output(model))
        _write_json(folder / "generation_config.json", generation)
        content = pack(_tensors(model, positions), metadata={"format": "pt"})
        (folder / "model.safetensors").write_bytes(content)
        _write_tokenizer(folder, source, target, longest)
        (folder / "README.md").write_text(README % {"source": longest}, encoding="utf-8")


def _tensors(model: TextPredictor, positions: int) -> dict[str, Tensor]:
    options: Any = model.config.model
    own = weights(model.network)
    network: Any = model.network
    tensors = dict(to_transformers(tensor_pairs(options), own))
    sides = {"encoder": network.encoder.embed, "decoder": network.decoder.embed}
    for side, embed in sides.items():
        tensors[f"model.{side}.embed_positions.weight"] = _positions(embed, positions)
        if not (options.share_vocabulary and is_tied(options)):
            tensors[f"model.{side}.embed_tokens.weight"] = _table(embed)
    if options.share_vocabulary or options.encoder.norm == "first":
        tensors["model.shared.weight"] = _table(network.encoder.embed)
    layer = network.decoder.output
    if not is_tied(options):
        tensors["lm_head.weight"] = layer.matrix.table.detach().float()
    bias = torch.zeros(model.target.size) if layer.bias is None else layer.bias.detach().float()
    return {**tensors, "final_logits_bias": bias[None]}


def _table(embed: PositionalEmbedding) -> Tensor:
    vectors: Any = embed.embedding
    table: Tensor = getattr(vectors, "vectors", vectors).table
    return table.detach().float()


@torch.no_grad()
def _positions(embed: PositionalEmbedding, count: int) -> Tensor:
    width = _table(embed).shape[1]
    made: Tensor = embed.positions(torch.zeros(1, count, width), torch.arange(count)[None])
    return made[0].contiguous()


def _write_tokenizer(folder: Path, source: PieceModel, target: PieceModel, longest: int) -> None:
    separate = source.names != target.names
    vocabularies = {"vocab.json": source.names}
    if separate:
        vocabularies["target_vocab.json"] = target.names
    for name, names in vocabularies.items():
        _write_json(folder / name, {piece: token for token, piece in enumerate(names)})
    (folder / "source.spm").write_bytes(source.content)
    (folder / "target.spm").write_bytes(target.content)
    special = {"unk_token": UNK, "eos_token": END, "pad_token": EMPTY}
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "MarianTokenizer",
            "model_max_length": longest,
            "separate_vocabs": separate,
            **{name: SPECIAL_NAMES[token] for name, token in special.items()},
        },
    )


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
