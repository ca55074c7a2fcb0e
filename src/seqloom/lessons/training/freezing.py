"""Training with frozen parts of the model."""

from pathlib import Path
from tempfile import TemporaryDirectory

from seqloom.api.load import load_text_predictor
from seqloom.api.train import train
from seqloom.config import merge
from seqloom.lessons.lesson import ComparedNumber, LessonResult, lesson
from seqloom.lessons.text_table import text_table
from seqloom.lessons.trainings import SMALL, strings

__all__ = ["freezing_lesson"]

PARTS = ("encoder", "decoder", "all-but-output")


@lesson(
    "freezing", "Chapter 7: fine-tuning with frozen parts",
    "Attention Models: captions, the convolutions stay fixed", chapter="training", trains=True,
)  # fmt: skip
def freezing_lesson(*, updates: int = 3) -> LessonResult:
    """Fine-tune all but the encoder, all but the decoder, or the output layer alone."""
    pairs = strings(200, shortest=3, longest=5)
    rows, kept, moved = [("frozen", "tensors unchanged", "changed")], {}, {}
    with TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        untied = merge(SMALL, {"model": {"tie_output": False, "share_vocabulary": False}})
        options = merge(untied, {"training": {"updates": 1}})
        train(pairs, base, valid=pairs[:20], model="gru", options=options, watch=False)
        before = load_text_predictor(base).network.state_dict()
        for part in PARTS:
            run = Path(folder) / part
            tuned = merge(untied, {"training": {"updates": updates, "freeze": [part]}})
            train(pairs, run, valid=pairs[:20], base=base, options=tuned, watch=False)
            after = load_text_predictor(run).network.state_dict()
            same = {name for name in before if before[name].equal(after[name])}
            kept[part], moved[part] = same, before.keys() - same
            rows.append((part, str(len(same)), str(len(before) - len(same))))
    frozen = {part: {name for name in before if name.startswith(part)}
              for part in ("encoder", "decoder")}  # fmt: skip
    return LessonResult(
        (
            ComparedNumber("tensors of a frozen encoder that changed", 0,
                           len(frozen["encoder"] & moved["encoder"]), by_hand=True),
            ComparedNumber("does the decoder change then", "yes",
                           "yes" if frozen["decoder"] & moved["encoder"] else "no"),
            ComparedNumber("tensors outside the output layer that changed", 0,
                           len([name for name in moved["all-but-output"] if "output" not in name]),
                           by_hand=True),
        ),
        text_table(rows, right=(1, 2)),
    )  # fmt: skip
