"""Typed access to lists of modules."""

from collections.abc import Iterator
from typing import TypeVar, cast

from torch import nn

__all__ = ["children_of"]

Kind = TypeVar("Kind", bound=nn.Module)


def children_of(modules: nn.Module, kind: type[Kind]) -> Iterator[Kind]:
    """The modules of a list, which are all of this kind."""
    return cast("Iterator[Kind]", modules.children())
