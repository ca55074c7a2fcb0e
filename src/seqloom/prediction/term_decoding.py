"""Inputs decoded with the glossary's translations of the terms that each of them has."""

from collections.abc import Callable, Iterator, Sequence

from seqloom.fields import TextField
from seqloom.prediction.glossary import Glossary, GlossaryTerm
from seqloom.prediction.inputs import EncodedInput, InputGroup
from seqloom.prediction.output import Output
from seqloom.prediction.predictor import BLANK_OUTPUT
from seqloom.prediction.request import DecodingRequest

__all__ = ["decode_with_terms"]

Decode = Callable[[list[EncodedInput], range, DecodingRequest], Iterator[Output]]
Terms = tuple[GlossaryTerm, ...]


def decode_with_terms(
    decode: Decode, group: InputGroup, asked: DecodingRequest, target: TextField
) -> Iterator[Output]:
    """An output for each line of a group; inputs with the same terms are decoded together.

    Where terms are only preferred, the output with them is given unless the one without ranks
    higher by more than the glossary's margin.
    """
    glossary = asked.options.glossary or Glossary(())
    outputs = [BLANK_OUTPUT] * len(group.lines)
    for terms, inputs in _by_terms(glossary, group).items():
        numbers = [each.number for each in inputs]
        all_terms = list(decode(inputs, group.lines, asked.with_terms(terms, target)))
        chosen = {number: all_terms[number] for number in numbers}
        required = tuple(term for term in terms if term.required)
        if required != terms:
            free = list(decode(inputs, group.lines, asked.with_terms(required, target)))
            for number in numbers:
                if not _is_acceptable(chosen[number], free[number], glossary.margin):
                    chosen[number] = free[number]
        for number, output in chosen.items():
            outputs[number] = output
    return iter(outputs)


def _by_terms(glossary: Glossary, group: InputGroup) -> dict[Terms, list[EncodedInput]]:
    cells: Sequence[str] = group.cells
    found: dict[Terms, list[EncodedInput]] = {}
    for each in group.encoded:
        found.setdefault(glossary.find(cells[each.number]), []).append(each)
    return found


def _is_acceptable(output: Output, free: Output, margin: float) -> bool:
    """Whether an output ends if the free one does, and ranks at most so much lower."""
    ends = output.stopped in ("end", free.stopped)
    return ends and output.normalised >= free.normalised - margin
