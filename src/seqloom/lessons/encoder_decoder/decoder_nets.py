"""The connections of encoder and decoder, drawn from models of each form."""

from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.sentence_nets import count_edges, sentence_net
from seqloom.lessons.small_models import FORMS, recurrent_model
from seqloom.lessons.text_table import text_table

__all__ = ["decoder_nets_lesson"]

SOURCE = ("We", "enjoyed", "writing", "this", "book")
TARGET = ("Nous", "avons", "aimé", "écrire", "ce", "livre", "<end>")
KINDS = {
    "fed back": ("feedback", ""),
    "code into inputs": ("code", "decoder.layers"),
    "code into outputs": ("code", "decoder.readout"),
    "states attended to": ("attention", ""),
}


@lesson(
    "decoder-nets", "Chapter 7: Figure 7.9 (a)", "Chapter 7: Figure 7.9 (b)",
    "Attention Models: the four wirings of encoder and decoder", chapter="encoder-decoder",
)  # fmt: skip
def decoder_nets_lesson(*, form: str = "d") -> LessonResult:
    """The wires of each decoder form over 5 source and 7 target words, and one of them drawn."""
    nets = {name: sentence_net(recurrent_model(name, words=20), SOURCE, TARGET) for name in FORMS}
    found = {name: tuple(count_edges(net, *kind) for kind in KINDS.values())
             for name, net in nets.items()}  # fmt: skip
    rows = [("form", *KINDS)]
    rows += [(f"({name})", *map(str, counts)) for name, counts in found.items()]
    expected = {
        "(a) state only": ("a", (0, 0, 0, 0)),
        "(b) Figure 7.9 (a): first state": ("b", (6, 0, 0, 0)),
        "(c) the pseudocode with H": ("c", (6, 7, 0, 0)),
        "(d) Figure 7.9 (b): every input and output": ("d", (6, 7, 7, 0)),
        "(e) attention, every state at every step": ("e", (6, 0, 0, 35)),
    }
    return LessonResult(
        tuple(ComparedNumber(name, counts, found[which], by_hand=True)
              for name, (which, counts) in expected.items()),
        text_table(rows, right=(1, 2, 3, 4)),
        nets.get(form, nets["d"]),
    )  # fmt: skip
