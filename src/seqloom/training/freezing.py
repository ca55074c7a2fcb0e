"""Freezing: parts of a model that keep their weights while the rest is trained (S6.7)."""

from collections.abc import Collection, Mapping

from seqloom.config import FrozenPart
from seqloom.errors import ConfigError
from seqloom.model import Network
from seqloom.nn.embedding import Embedding, embedding_tables

__all__ = ["freeze", "freeze_vectors"]

OUTPUT = "decoder.output.", "head.output."
OWNERS = {
    "front": ("encoder.front.convolutions.",),
    "encoder": ("encoder.",),
    "decoder": ("decoder.", "head."),
}
PART_USERS: dict[FrozenPart, set[str]] = {  # the modules that a name stands for
    "front": {"the encoder"},
    "encoder": {"the encoder"},
    "decoder": {"the decoder", "the output layer"},
    "embeddings": {"the encoder", "the decoder"},
    "all-but-output": {"the encoder", "the decoder"},
}


def freeze(model: Network, parts: Collection[FrozenPart]) -> list[str]:
    """Freeze the named parts; return a note on weights shared with other parts.

    A weight of a frozen part is frozen wherever it is used. ConfigError if the names contradict
    each other or nothing is left to train.
    """
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    tables = {id(each.table) for each in embedding_tables(model)}
    shared: set[str] = set()
    for parameter in model.parameters():
        uses = names[id(parameter)]
        found = [part for part in parts if _belongs_to(part, uses, table=id(parameter) in tables)]
        if found:
            parameter.requires_grad_(False)
            shared |= {_user(use) for use in uses}.difference(*(PART_USERS[part] for part in found))
    if "front" in parts and not any(use.startswith(OWNERS["front"]) for use in _all_names(names)):
        raise ConfigError(
            "training.freeze = 'front': there is no front end", remedy="freeze another part"
        )
    if parts and not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigError(
            f"training.freeze = {list(parts)} leaves nothing to learn", remedy="name less"
        )
    if not shared:
        return []
    return [
        f"the table of token vectors stays for {' and '.join(sorted(shared))} too: it is shared"
    ]


def freeze_vectors(model: Network, tables: Collection[Embedding]) -> list[str]:
    """Freeze these embedding tables; return a note if the output layer shares them."""
    for each in tables:
        each.table.requires_grad_(False)
    frozen = {id(each.table) for each in tables}
    shared = any(
        id(parameter) in frozen and name.startswith(OUTPUT)
        for name, parameter in model.named_parameters(remove_duplicate=False)
    )
    return ["the output layer stays as the vectors do: it is their table"] if shared else []


def _all_names(names: Mapping[int, list[str]]) -> list[str]:
    return [use for uses in names.values() for use in uses]


def _belongs_to(part: FrozenPart, uses: list[str], *, table: bool) -> bool:
    """Whether the weight with these names belongs to a part."""
    output = any(use.startswith(OUTPUT) for use in uses)
    inputs = any(not use.startswith(OUTPUT) for use in uses)
    match part:
        case "front" | "encoder" | "decoder":
            return any(use.startswith(OWNERS[part]) for use in uses)
        case "embeddings":
            return table and inputs
        case "all-but-output":
            if output and inputs:
                raise ConfigError(
                    "training.freeze = 'all-but-output': the output layer is the embedding table "
                    "here",
                    remedy="freeze 'encoder', or begin a model with model.tie_output=false",
                )
            return not output


def _user(use: str) -> str:
    return "the output layer" if use.startswith(OUTPUT) else f"the {use.partition('.')[0]}"
