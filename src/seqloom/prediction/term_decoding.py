"""Decoding with a glossary's terms as constraints."""

from collections.abc import Callable

from seqloom.fields import TextField
from seqloom.prediction.glossary import Glossary, GlossaryTerm
from seqloom.prediction.inputs import EncodedInput, InputGroup
from seqloom.prediction.output import Output
from seqloom.prediction.request import DecodingRequest

__all__ = ["decode_with_terms"]

Decode = Callable[[list[EncodedInput], range, DecodingRequest], list[Output]]
Terms = tuple[GlossaryTerm, ...]


def decode_with_terms(
    decode: Decode, group: InputGroup, asked: DecodingRequest, target: TextField
) -> list[Output]:
    """Decode the inputs of a group; those with the same terms are decoded together.

    Outputs with preferred terms are used unless those without rank higher by more than the
    glossary's margin.
    """
    glossary = asked.options.glossary or Glossary(())
    outputs: dict[int, Output] = {}
    for terms, places in _by_terms(glossary, group).items():
        inputs = [group.encoded[place] for place in places]
        chosen = decode(inputs, group.lines, asked.with_terms(terms, target))
        required = tuple(term for term in terms if term.required)
        if required != terms:
            free = decode(inputs, group.lines, asked.with_terms(required, target))
            chosen = [
                one if _is_acceptable(one, other, glossary.margin) else other
                for one, other in zip(chosen, free, strict=True)
            ]
        outputs |= dict(zip(places, chosen, strict=True))
    return [outputs[place] for place in range(len(group.encoded))]


def _by_terms(glossary: Glossary, group: InputGroup) -> dict[Terms, list[int]]:
    """The indices of inputs by their terms."""
    found: dict[Terms, list[int]] = {}
    for place, each in enumerate(group.encoded):
        found.setdefault(glossary.find(each.cell), []).append(place)
    return found


def _is_acceptable(output: Output, free: Output, margin: float) -> bool:
    """Whether an output ends if the unconstrained one does, and ranks at most `margin` lower."""
    ends = output.stopped in ("end", free.stopped)
    return ends and output.normalised >= free.normalised - margin
