"""Read a Marian-type checkpoint of transformers, without that library.

DIR/  config.json model.safetensors source.spm target.spm vocab.json
      target_vocab.json where the sides have a vocabulary each; generation_config.json if there
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqloom.config import Config, validate
from seqloom.errors import ConfigError, DataError, RunError
from seqloom.export.huggingface.settings import model_options
from seqloom.export.huggingface.tensors import from_transformers, tensor_pairs
from seqloom.fields import EMPTY, START, TextField
from seqloom.model import build
from seqloom.model.networks import check_fit
from seqloom.nn.modules import meta_device
from seqloom.nn.positions import AddedSinusoids, HalvedSinusoids, NoPositions, Positions
from seqloom.store.tensors import unpack
from seqloom.tokenizers.imported_pieces import ImportedPieceTokenizer
from seqloom.tokenizers.specials import FieldState

__all__ = ["ImportedModel", "read_checkpoint"]

WEIGHTS = "model.safetensors"
PICKLES = "pytorch_model.bin", "pytorch_model.bin.index.json"
AGAIN = "fetch the files of the checkpoint again"
NEVER = -100.0  # logit of a symbol that the checkpoint lacks
NEAR = 1e-4
BUILT_IN: dict[str, type[Positions]] = {
    "sinusoids-halved": HalvedSinusoids,
    "sinusoids": AddedSinusoids,
    "none": NoPositions,
}


@dataclass(frozen=True)
class ImportedModel:
    """What a run is made of."""

    config: Config
    source: TextField
    target: TextField
    weights: Mapping[str, Tensor]


class Vocabulary(NamedTuple):
    """The symbols of one side in the order of our ids, and their rows in the checkpoint's
    tables.
    """

    symbols: list[str]
    rows: list[int]  # -1 if the checkpoint lacks the symbol
    repeated: list[int]  # our ids that share another symbol's row

    def table(self, values: Tensor) -> Tensor:
        """Reorder the rows of a checkpoint's table by our ids."""
        rows = torch.tensor(self.rows)
        found: Tensor = values.float()[rows.clamp(min=0)]
        found[rows < 0] = 0.0
        return found

    def bias(self, values: Tensor) -> Tensor:
        """Reorder output biases by our ids, so that a repeated row counts once."""
        found = self.table(values)
        found[[EMPTY] * (self.rows[EMPTY] < 0) + self.repeated] = NEVER
        return found


def read_checkpoint(folder: Path) -> ImportedModel:
    """Read the model of a folder; DataError names a file that is missing or inconsistent."""
    settings = _read_json(folder / "config.json")
    options = model_options(settings, place=str(folder / "config.json"))
    tensors = _read_tensors(folder)
    source, target = _vocabularies(folder, settings)
    try:
        weights, chosen = _embeddings(settings, tensors, source, target)
        for side in ("encoder", "decoder"):
            table = tensors.get(f"model.{side}.embed_positions.weight")
            options[side]["positions"] = _positions(table)
            if options[side]["positions"]["kind"] == "learned" and table is not None:
                weights[f"{side}.embed.positions.table"] = table.float()
        config = _config(folder, {**options, **chosen}, settings, (source, target))
        weights |= dict(from_transformers(tensor_pairs(config.model), tensors))
    except KeyError as error:
        raise _misfit(folder, f"has no {error.args[0]}") from None
    except (IndexError, RuntimeError) as error:
        raise _misfit(folder, f"holds a tensor of another shape ({error})") from None
    imported = ImportedModel(
        config,
        _field(folder / "source.spm", config.source, source.symbols),
        _field(folder / "target.spm", config.target, target.symbols),
        weights,
    )
    _check(folder, imported)
    return imported


def _check(folder: Path, imported: ImportedModel) -> None:
    """Raise DataError unless the weights have the shapes of the configuration."""
    with meta_device():
        network = build(
            imported.config.model, source=imported.source.items, target=imported.target.items
        )
    try:
        check_fit(network, imported.weights, place="weights")
    except RunError as error:
        name = str(error).removeprefix("weights: ").split(" ")[0]
        raise _misfit(folder, f"holds a tensor of another shape for {name}") from None
    for name, value in imported.weights.items():
        if not bool(torch.isfinite(value).all()):
            raise _misfit(folder, f"holds values for {name} that are not numbers")


def _misfit(folder: Path, problem: str) -> DataError:
    return DataError(
        f"{problem}, which does not fit config.json beside it",
        place=folder / WEIGHTS,
        remedy=AGAIN,
    )


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    path = folder / WEIGHTS
    if not path.exists():
        present = [name for name in (*PICKLES, f"{WEIGHTS}.index.json") if (folder / name).exists()]
        if present:
            raise DataError(
                f"only {WEIGHTS} is read, since a pickle can run code",
                place=folder / present[0],
                remedy=f"convert it with: {_conversion(folder)}",
            )
    try:
        return unpack(_read(path), place=path)
    except RunError:
        raise DataError("not a safetensors file", place=path, remedy=AGAIN) from None


def _conversion(folder: Path) -> str:
    """The command that saves a checkpoint as one safetensors file."""
    load = f"AutoModelForSeq2SeqLM as M; M.from_pretrained({str(folder)!r})"
    save = f"save_pretrained({str(folder)!r}, max_shard_size='50GB')"
    return f'python -c "from transformers import {load}.{save}"'


def _vocabularies(folder: Path, settings: Mapping[str, Any]) -> tuple[Vocabulary, Vocabulary]:
    """The symbols of both sides; the same object if they are shared."""
    separate = folder / "target_vocab.json"
    own = _read_vocabulary(folder / "vocab.json")
    if not separate.exists():
        both = _vocabulary(folder / "vocab.json", own, settings, int(settings["vocab_size"]))
        return both, both
    names = {name: own.get(name) for name in ("</s>", "<pad>")}
    here = {**settings, "eos_token_id": names["</s>"], "pad_token_id": names["<pad>"]}
    here["decoder_start_token_id"] = own.get("<s>", names["<pad>"])
    source = _vocabulary(folder / "vocab.json", own, here, int(settings["vocab_size"]))
    size = int(settings.get("decoder_vocab_size") or settings["vocab_size"])
    return source, _vocabulary(separate, _read_vocabulary(separate), settings, size)


def _vocabulary(
    path: Path, ids: Mapping[str, int], settings: Mapping[str, Any], size: int
) -> Vocabulary:
    """Symbols in our order: special ones first, then the others by id."""
    unknown, end = ids.get("<unk>"), settings.get("eos_token_id")
    pad, start = settings.get("pad_token_id"), settings.get("decoder_start_token_id")
    special = {"<unk>": unknown, "eos_token_id": end, "pad_token_id": pad}
    special["decoder_start_token_id"] = start
    for name, token in special.items():
        if not isinstance(token, int) or not 0 <= token < size:
            raise DataError(
                f"{name} has the id {token!r}, and config.json has a vocabulary of {size}",
                place=path,
                remedy=AGAIN,
            )
    if any(not 0 <= token < size for token in ids.values()) or len(set(ids.values())) < len(ids):
        raise DataError(
            f"its ids are not those of a vocabulary of {size}, which config.json has",
            place=path,
            remedy=AGAIN,
        )
    rows: list[Any] = [-1 if pad == start else pad, unknown, start, end]
    names = {token: name for name, token in ids.items()}
    rest = [token for token in range(size) if token not in rows]
    symbols = [names.get(token, f"<row {token}>") for token in rest]
    repeated = [
        token for token in (EMPTY, START) if rows[token] in rows[:token] + rows[token + 1 :]
    ]
    return Vocabulary(symbols, rows + rest, repeated)


def _embeddings(
    settings: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    source: Vocabulary,
    target: Vocabulary,
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Embeddings and output layer, and the options for tying them."""
    shared = next((tensors[name] for name in _table_names(settings) if name in tensors), None)
    tables = {
        side: tensors.get(f"model.{side}.embed_tokens.weight", shared)
        for side in ("encoder", "decoder")
    }
    reading, writing = tables["encoder"], tables["decoder"]
    if reading is None or writing is None:
        raise KeyError("model.shared.weight")
    output = writing if settings.get("tie_word_embeddings", True) else tensors["lm_head.weight"]
    bias = tensors.get("final_logits_bias", torch.zeros(1, len(output)))
    same = source is target and torch.equal(reading, writing)
    chosen = {"share_vocabulary": same, "tie_output": torch.equal(output, writing)}
    weights = {
        "encoder.embed.embedding.table": source.table(reading),
        "decoder.output.bias": target.bias(bias[0]),
    }
    if not same:
        weights["decoder.embed.embedding.table"] = target.table(writing)
    if not chosen["tie_output"]:
        weights["decoder.output.matrix.table"] = target.table(output)
    return weights, chosen


def _table_names(settings: Mapping[str, Any]) -> list[str]:
    """Possible names of a table shared by both sides."""
    if not settings.get("share_encoder_decoder_embeddings", True):
        return []
    sides = [f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")]
    tied = ["lm_head.weight"] if settings.get("tie_word_embeddings", True) else []
    return ["model.shared.weight", *sides, *tied]


def _positions(table: Tensor | None) -> dict[str, Any]:
    """The options for positions of this table; Marian's sinusoids if none is saved."""
    if table is None:
        return {"kind": "sinusoids-halved"}
    count, width = table.shape
    for kind, part in BUILT_IN.items():
        made = part()(torch.zeros(1, count, width), torch.arange(count)[None])[0]
        if torch.allclose(made, table.float(), atol=NEAR):
            return {"kind": kind}
    return {"kind": "learned", "most": count}


def _config(
    folder: Path,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
    sides: tuple[Vocabulary, Vocabulary],
) -> Config:
    """The configuration of the run, as if trained by Seqloom."""
    generation = folder / "generation_config.json"
    asked = {**settings, **(_read_json(generation) if generation.exists() else {})}
    longest = max(1, _longest_source(folder, settings) - 1)
    columns = [
        {"kind": "text", "unit": "sentencepiece", "normalize": "none", "size": len(side.rows)}
        for side in sides
    ]
    try:
        return validate(
            {
                "data": {"max_source": longest, "max_target": longest},
                "source": columns[0],
                "target": columns[1],
                "model": dict(options),
                "search": {
                    "beam": int(asked.get("num_beams") or 5),
                    "length_power": float(asked.get("length_penalty") or 1.0),
                },
            },
            place=str(folder / "config.json"),
        )
    except ConfigError as error:
        raise DataError(str(error)) from None


def _longest_source(folder: Path, settings: Mapping[str, Any]) -> int:
    """The longest source including `<end>`: the model's limit, or the tokenizer's if lower."""
    path = folder / "tokenizer_config.json"
    most = _read_json(path).get("model_max_length") if path.exists() else None
    positions = int(settings.get("max_position_embeddings", 512))
    return min(positions, most) if isinstance(most, int) else positions


def _field(path: Path, config: Any, symbols: list[str]) -> TextField:
    saved = FieldState({"symbols": symbols}, _read(path))
    try:
        return TextField(config, ImportedPieceTokenizer.restore(config, saved))
    except RunError as error:
        raise DataError(str(error), place=path) from None


def _read_vocabulary(path: Path) -> dict[str, int]:
    found = _read_json(path)
    if not all(isinstance(token, int) for token in found.values()):
        raise DataError("not a table from pieces to ids", place=path, remedy=AGAIN)
    return found


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_read(path))
    except (ValueError, RecursionError):
        raise DataError("not JSON text", place=path, remedy=AGAIN) from None
    if not isinstance(found, dict):
        raise DataError("not a JSON object", place=path, remedy=AGAIN)
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise DataError(
            f"cannot be read ({reason})",
            place=path,
            remedy=f"a checkpoint has config.json, {WEIGHTS}, source.spm, target.spm, vocab.json",
        ) from None
