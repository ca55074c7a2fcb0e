"""A tiny model that has learnt to translate the active and the passive of each statement alike."""

from itertools import permutations, product

import torch

from seqloom.config import Config, ModelConfig, TextConfig
from seqloom.explanations.gradients import example_of, mean_cross_entropy
from seqloom.fields import TextField
from seqloom.model import build_sequence_model
from seqloom.prediction import TextPredictor

__all__ = ["Statement", "active", "passive", "statements", "trained"]

Statement = tuple[str, str, str]
"""Who does what to whom."""

NOUNS = {"garçon": "boy", "chien": "dog", "chat": "cat", "roi": "king", "père": "father",
         "médecin": "doctor"}  # fmt: skip
VERBS = {"aide": "aidé", "cherche": "cherché", "trouve": "trouvé", "aime": "aimé"}
ENGLISH = {"aide": "helps", "cherche": "seeks", "trouve": "finds", "aime": "loves"}


def statements() -> list[Statement]:
    """All of them, in an order that mixes nouns and verbs."""
    found = [(who, what, whom) for (who, whom), what in product(permutations(NOUNS, 2), VERBS)]
    return sorted(found, key=lambda each: hash_of(" ".join(each)))


def hash_of(text: str) -> int:
    """The same in every process."""
    return int.from_bytes(text.encode()) % 10_007


def active(statement: Statement) -> str:
    who, what, whom = statement
    return f"le {who} {what} le {whom}"


def passive(statement: Statement) -> str:
    who, what, whom = statement
    return f"le {whom} est {VERBS[what]} par le {who}"


def english(statement: Statement) -> str:
    who, what, whom = statement
    return f"the {NOUNS[who]} {ENGLISH[what]} the {NOUNS[whom]}"


def trained(seen: list[Statement], *, updates: int) -> TextPredictor:
    """A GRU whose code alone must hold what a sentence says, after so many updates."""
    everything = statements()
    source = TextField.learn(
        TextConfig(unit="word"), [form(s) for s in everything for form in (active, passive)], seed=1
    )
    target = TextField.learn(TextConfig(unit="word"), map(english, everything), seed=1)
    sizes = {"kind": "recurrent", "unit": "gru", "width": 64, "layers": 1, "dropout": 0.0}
    config = ModelConfig.model_validate(
        {
            "embedding": 32,
            "share_vocabulary": False,
            "encoder": {**sizes, "direction": "forward"},
            "decoder": {**sizes, "attention": "none"},
        }
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = build_sequence_model(config, source=source.items, target=target.items)
        model = TextPredictor(Config(model=config), source, target, network)
        pairs = [(form(each), english(each)) for each in seen for form in (active, passive)]
        optimizer = torch.optim.Adam(network.parameters(), lr=8e-3)
        example = example_of(model, pairs)
        for _ in range(updates):
            optimizer.zero_grad()
            memory = network.encoder.encode(example.source)
            mean_cross_entropy(network.decoder, memory, example.target).mean().backward()
            optimizer.step()
    network.eval()
    return model
