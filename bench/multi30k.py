"""The work that trainers are compared by: Multi30k German to English, and two sizes of model.

The files lie in the folder that SEQLOOM_SHARED_DATA names. Other toolkits lie in environments of
their own in the folder that SEQLOOM_PEERS names; OpenNMT-py, for one, is put there by

    python -m venv peers/onmt
    peers/onmt/bin/pip install torch==2.13.0
    peers/onmt/bin/pip install --no-deps OpenNMT-py
    peers/onmt/bin/pip install configargparse pyonmttok pyyaml sentencepiece sacrebleu rapidfuzz \\
        tensorboard flask waitress spacy pyahocorasick fasttext-wheel

and eole, its successor, by the same with `--no-deps eole==0.6.4` and

    peers/eole/bin/pip install configargparse fasttext-wheel huggingface_hub datasets numpy \\
        pandas protobuf pyahocorasick pyonmttok pyyaml rapidfuzz rich sacrebleu safetensors six \\
        sentencepiece spacy subword-nmt tensorboard tokenizers torch-optimi pydantic uvicorn \\
        fastapi waitress aiohttp
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from foundation import shared
from sentencepiece import SentencePieceProcessor

from seqloom.config import Overrides, merge

__all__ = ["MODELS", "Eole", "OpenNMT", "data", "options", "peer", "trusting"]

SUBWORDS = 8_000
BATCH = 4_096  # positions a side
TEXT = {"unit": "subword", "size": SUBWORDS}
BLOCKS = {
    "kind": "transformer",
    "width": 256,
    "inner": 1_024,
    "heads": 4,
    "layers": 3,
    "dropout": 0.1,
}
UNITS = {"kind": "recurrent", "unit": {"kind": "lstm"}, "layers": 1, "dropout": 0.1}
MODELS: dict[str, Overrides] = {
    "transformer": {
        "embedding": 256,
        "share_vocabulary": True,
        "encoder": BLOCKS,
        "decoder": BLOCKS,
    },
    "lstm": {
        "embedding": 256,
        "share_vocabulary": False,
        "tie_output": False,
        "encoder": {**UNITS, "width": 256},
        "decoder": {
            **UNITS,
            "width": 512,
            "attention": {"kind": "global", "score": "general", "feed": True},
        },
    },
}


OPENNMT: dict[str, dict[str, Any]] = {
    "transformer": {
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": 3,
        "hidden_size": 256,
        "word_vec_size": 256,
        "transformer_ff": 1_024,
        "heads": 4,
        "position_encoding": "true",
        "share_vocab": "true",
        "share_embeddings": "true",
        "share_decoder_embeddings": "true",
    },
    "lstm": {
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "LSTM",
        "layers": 1,
        "hidden_size": 512,
        "word_vec_size": 256,
        "global_attention": "general",
        "input_feed": 1,
    },
}


SIDES = (("src", "source"), ("tgt", "target"))
EOLE: dict[str, Any] = {
    "architecture": "transformer",
    "layers": 3,
    "hidden_size": 256,
    "transformer_ff": 1_024,
    "heads": 4,
    "share_embeddings": True,
    "share_decoder_embeddings": True,
    "embeddings": {"word_vec_size": 256, "position_encoding_type": "SinusoidalInterleaved"},
}


def data(part: str) -> str:
    """The two files of a part of the data, as the commands take them."""
    return ",".join(str(shared("multi30k", f"{part}.{name}")) for name in ("de", "en"))


def options(model: str, training: Overrides) -> Overrides:
    """One of the two models over 8,000 subwords, in batches of about 4,096 positions."""
    usual = {"batch_tokens": BATCH, "curves": False}
    chosen = {"source": TEXT, "target": TEXT, "model": MODELS[model]}
    return merge({**chosen, "training": usual}, {"training": training})


def peer(name: str) -> Path:
    """The programs of another toolkit's environment."""
    folder = os.environ.get("SEQLOOM_PEERS")
    if not folder or not Path(folder, name, "bin").is_dir():
        sys.exit(f"SEQLOOM_PEERS must name a folder with an environment {name}: see multi30k.py")
    return Path(folder, name, "bin")


def trusting() -> dict[str, str]:
    """Surroundings in which OpenNMT-py can read a step that it has saved: later versions of torch
    read nothing but tensors unless told so."""
    return {**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}


def cut(fields: Path, part: str, folder: Path) -> list[Path]:
    """A part of the data in the subwords of a run, one file a side, spaces between subwords."""
    written = []
    for side, path in zip(("source", "target"), data(part).split(","), strict=True):
        own = fields / side / "tokenizer.model"
        model = own if own.exists() else fields / "source" / "tokenizer.model"
        cutter = SentencePieceProcessor(model_file=str(model))
        lines = Path(path).read_text(encoding="utf-8").rstrip("\n").split("\n")
        written.append(folder / f"{part}.{side}")
        rows = [" ".join(cutter.encode(line, out_type=str)) for line in lines]
        written[-1].write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        known = [cutter.id_to_piece(number) for number in range(cutter.get_piece_size())]
        text = "".join(f"{piece}\n" for piece in known if piece not in ("<s>", "</s>", "<unk>"))
        (folder / f"vocabulary.{side}").write_text(text, encoding="utf-8")
    return written


class Report(NamedTuple):
    """What OpenNMT-py said of some updates."""

    step: int
    tokens_per_second: float
    seconds: float


class OpenNMT:
    """OpenNMT-py on the subwords of one of our runs, in a folder of its own."""

    PROGRESS = re.compile(r"Step (\d+)/.*?; +[\d.]+/([\d.]+) tok/s; +(\d+) sec")
    HELD_OUT = re.compile(r"Validation perplexity: ([\d.e+]+)")

    def __init__(self, model: str, fields: Path, folder: Path) -> None:
        self.model, self.folder = model, folder
        self.programs = peer("onmt")
        folder.mkdir(parents=True, exist_ok=True)
        train, valid = (cut(fields, part, folder) for part in ("train", "val"))
        corpora = {"multi30k": train, "valid": valid}
        lines = ["data:"]
        for name, (source, target) in corpora.items():
            lines += [f"  {name}:", f"    path_src: {source}", f"    path_tgt: {target}"]
        (folder / "data.yaml").write_text("\n".join(lines) + "\n")

    def train(self, updates: int, settings: dict[str, Any]) -> tuple[list[Report], list[float]]:
        """Train; its speed as it went, and the held-out perplexities."""
        joint = self.model == "transformer"
        target = "source" if joint else "target"
        chosen = {
            "config": self.folder / "data.yaml",
            "src_vocab": self.folder / "vocabulary.source",
            "tgt_vocab": self.folder / f"vocabulary.{target}",
            "save_model": self.folder / "model",
            "batch_type": "tokens",
            "batch_size": BATCH,
            "batch_size_multiple": 1,
            "bucket_size": 32_768,
            "normalization": "tokens",
            "dropout": 0.1,
            "attention_dropout": 0.1,
            "label_smoothing": 0.1,
            "train_steps": updates,
            "report_every": 10,
            "seed": 1,
            **OPENNMT[self.model],
            **settings,
        }
        words = [word for name, value in chosen.items() for word in (f"-{name}", str(value))]
        done = subprocess.run(
            [str(self.programs / "onmt_train"), *words],
            check=True,
            env=trusting(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        (self.folder / "log.txt").write_text(done.stdout)
        return self.reports(done.stdout), [float(n) for n in self.HELD_OUT.findall(done.stdout)]

    def reports(self, log: str) -> Sequence[Report]:
        """Each report of progress in a log."""
        return [Report(int(s), float(v), float(t)) for s, v, t in self.PROGRESS.findall(log)]


class Eole(OpenNMT):
    """eole on the same files, for the Transformer."""

    PROGRESS = re.compile(r"Step +(\d+)/.*?; +[\d.]+/ *([\d.]+) tok/s; +(\d+) sec")

    def train(self, updates: int, settings: dict[str, Any]) -> tuple[list[Report], list[float]]:
        """Train in float32; its speed as it went."""
        corpora = {
            name: {f"path_{short}": str(self.folder / f"{part}.{side}") for short, side in SIDES}
            for name, part in (("multi30k", "train"), ("valid", "val"))
        }
        vocabulary = str(self.folder / "vocabulary.source")
        training = {
            "model_path": str(self.folder / "model"),
            "world_size": 1,
            "gpu_ranks": [],
            "batch_type": "tokens",
            "batch_size": BATCH,
            "batch_size_multiple": 1,
            "bucket_size": 32_768,
            "normalization": "tokens",
            "compute_dtype": "fp32",
            "dropout": [0.1],
            "attention_dropout": [0.1],
            "label_smoothing": 0.1,
            "param_init_method": "xavier_uniform",
            "train_steps": updates,
            "valid_steps": 10 * updates,
            "save_checkpoint_steps": 10 * updates,
            **settings,
        }
        chosen = {
            "seed": 1,
            "overwrite": True,
            "report_every": 10,
            "share_vocab": True,
            "src_vocab": vocabulary,
            "tgt_vocab": vocabulary,
            "data": corpora,
            "training": training,
            "model": EOLE,
        }
        path = self.folder / "eole.json"  # which is YAML too
        path.write_text(json.dumps(chosen, indent=1))
        done = subprocess.run(
            [str(peer("eole") / "eole"), "train", "-config", str(path)],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        (self.folder / "eole.txt").write_text(done.stdout)
        return self.reports(done.stdout), []
