"""Replacement of unknown words in outputs by the source words attended to.

Luong et al. 2015, "Addressing the Rare Word Problem in Neural Machine Translation", and Jean et al.
2015, by attention in place of an aligner.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from seqloom.fields import END, SPECIAL_SYMBOLS, UNK
from seqloom.prediction.inputs import EncodedInput
from seqloom.prediction.output import Output

__all__ = ["copy_unknown"]

UNKNOWN = SPECIAL_SYMBOLS[UNK]


def copy_unknown(
    output: Output,
    source: EncodedInput,
    words: Sequence[str],
    attention: Float[np.ndarray, "T S"],
) -> Output:
    """Replace each `<unk>` by the source word with the most attention, preferring words unknown to
    the model.
    """
    values = np.asarray(source.values)
    ids = (values if values.ndim == 1 else values[:, 0])[: len(words)].tolist()
    read = zip(words[: len(ids)], ids, strict=True)
    places = [place for place, (word, id_) in enumerate(read) if word and id_ != END]
    places = [place for place in places if ids[place] == UNK] or places
    parts = output.text.split(UNKNOWN)
    unknown = [step for step, id_ in enumerate(output.ids) if id_ == UNK]
    if not places or len(parts) != len(unknown) + 1 or max(places) >= attention.shape[1]:
        return output
    copied = {step: words[places[int(attention[step, places].argmax())]] for step in unknown}
    text = parts[0] + "".join(
        copied[step] + part for step, part in zip(unknown, parts[1:], strict=True)
    )
    tokens, longer = [], 0
    for step, token in enumerate(output.tokens):
        start, end = token.offsets or (0, 0)
        begin = start + longer
        if step in copied:
            token = token._replace(text=copied[step], copied=True)
            longer += len(copied[step]) - (end - start)
        offsets = (begin, end + longer) if token.offsets else None
        tokens.append(token._replace(offsets=offsets))
    return replace(output, text=text, tokens=tuple(tokens))
