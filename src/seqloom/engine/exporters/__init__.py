"""Export the project's modules to the plain arrays that the engine packs.

Each kind of part has an exporter, registered by its class; a part without one raises `UnfitError`
in the words that `describe` shows. To give a part of your own a compiled form, register a function
that turns it into the arrays of `seqloom.engine.stacks` or `recurrent_stacks`:
`@encoder_form.register`, `@decoder_form.register`, `@head_form.register`, `@unit_form.register` and
so on.
"""

from seqloom.engine.exporters import recurrent, transformer
from seqloom.engine.exporters.heads import head_form
from seqloom.engine.exporters.parts import UnfitError, decoder_form, encoder_form
from seqloom.engine.exporters.recurrent import score_form, unit_form
from seqloom.engine.exporters.transformer import mixing_form

__all__ = [
    "UnfitError",
    "decoder_form",
    "encoder_form",
    "head_form",
    "mixing_form",
    "recurrent",
    "score_form",
    "transformer",
    "unit_form",
]
