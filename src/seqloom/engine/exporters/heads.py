"""Heads as plain arrays."""

from functools import singledispatch
from typing import Any

from seqloom.engine.exporters.parts import UnfitError, affine
from seqloom.engine.packed import HeadArrays
from seqloom.model.heads import LabelHead, NumberHead, TagsHead
from seqloom.nn.modules import Readout

__all__ = ["head_form"]


@singledispatch
def head_form(head: Any) -> HeadArrays:
    """The arrays of a head; UnfitError if the engine does not support it."""
    raise UnfitError(f"a head of kind {type(head).__name__}")


@head_form.register(LabelHead)
@head_form.register(NumberHead)
def _(head: LabelHead | NumberHead) -> HeadArrays:
    return HeadArrays(head.pooling, _readout(head.readout), affine(head.output))


@head_form.register
def _(head: TagsHead) -> HeadArrays:
    return HeadArrays("", _readout(head.readout), affine(head.output))


def _readout(readout: Readout) -> Any:
    return None if readout.map is None else affine(readout.map)
