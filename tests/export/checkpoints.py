"""Randomly initialised models of transformers, saved as any other checkpoint."""

import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import sentencepiece
import torch

__all__ = ["TARGETS", "TEXTS", "make_checkpoint"]

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "A stitch in time saves nine, they say.",
    "By the sea, by the sea, by the beautiful sea.",
    "Old friends and old wine are best.",
    "The early bird catches the worm.",
]
TARGETS = [
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "Was du heute kannst besorgen, verschiebe nicht auf morgen.",
    "Am Meer, am Meer, am schönen Meer.",
    "Alte Freunde und alter Wein sind am besten.",
    "Der frühe Vogel fängt den Wurm.",
]
PADDING = 40  # its id; in one vocabulary or two
SIZES = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 256,
}


def train_pieces(texts: list[str], size: int) -> bytes:
    """A sentencepiece model with its own usual settings, normalization among them."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [processor.IdToPiece(number) for number in range(processor.GetPieceSize())]
    return [piece for piece in pieces if not piece.startswith("<")]


def make_checkpoint(folder: Path, *, kind: str = "marian", pieces: int = 0, **settings: Any) -> Any:
    """Write a checkpoint as `save_pretrained` does, and return its model; its vocabulary has so
    many pieces more that no text contains."""
    transformers: Any = import_module("transformers")

    transformers.utils.logging.disable_progress_bar()
    folder.mkdir()
    models = {"source": train_pieces(TEXTS, 64), "target": train_pieces(TARGETS, 60)}
    for name, model in models.items():
        (folder / f"{name}.spm").write_bytes(model)
    vocabularies = {name: pieces_of(model) for name, model in models.items()}
    del vocabularies["target"][len(vocabularies["source"]) - 4 :]  # some are unknown
    for each in vocabularies.values():
        each += [f"\u2581{number}" for number in range(pieces)]
    if settings.get("share_encoder_decoder_embeddings", True):
        both = list(dict.fromkeys([*vocabularies["source"], *vocabularies["target"]]))
        sizes = [write_vocabulary(folder / "vocab.json", both)] * 2
    else:
        names = {"source": "vocab.json", "target": "target_vocab.json"}
        sizes = [write_vocabulary(folder / names[side], vocabularies[side]) for side in names]
    prefix = {"marian": "Marian", "pegasus": "Pegasus"}[kind]
    special = {"eos_token_id": 0, "forced_eos_token_id": None, "pad_token_id": PADDING}
    if kind == "marian":
        special["decoder_vocab_size"] = sizes[1]
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=sizes[0],
        **{**SIZES, **special, "decoder_start_token_id": PADDING, **settings},
    )
    torch.manual_seed(len(settings))
    names = {"marian": "MarianMTModel", "pegasus": "PegasusForConditionalGeneration"}
    network = getattr(transformers, names[kind])(config).eval()
    with torch.no_grad():
        for name, value in (*network.named_parameters(), *network.named_buffers()):
            if "embed_positions" not in name:
                value.add_(torch.randn_like(value), alpha=0.25)
        network.final_logits_bias[0, 0] += 2  # so that outputs end
    network.save_pretrained(folder)
    tokenizer = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": sizes[0] != sizes[1]}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return network


def write_vocabulary(path: Path, pieces: list[str]) -> int:
    """Marian's order, in which the end comes first; its ids are not sentencepiece's."""
    names = ["</s>", "<unk>", *pieces[: PADDING - 2], "<pad>", *reversed(pieces[PADDING - 2 :])]
    path.write_text(json.dumps({name: token for token, name in enumerate(names)}), encoding="utf-8")
    return len(names)
