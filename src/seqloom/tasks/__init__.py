"""One module per kind of target: preparation, validation, metrics, explanations, reports."""

from seqloom.tasks.blanks import BLANKS
from seqloom.tasks.evaluation import Evaluation, EvaluationResult
from seqloom.tasks.head_task import HeadTask
from seqloom.tasks.introduction import Introduction, held_out_traces, introduce, own_output
from seqloom.tasks.label import LABEL, LabelTask
from seqloom.tasks.language_model import LANGUAGE_MODEL, explain_text
from seqloom.tasks.number import NUMBER
from seqloom.tasks.series import SERIES
from seqloom.tasks.tags import TAGS
from seqloom.tasks.task import TASKS, Task, explain_output, open_learner, task_of, task_of_options
from seqloom.tasks.text import TEXT

__all__ = [
    "BLANKS",
    "LABEL",
    "LANGUAGE_MODEL",
    "NUMBER",
    "SERIES",
    "TAGS",
    "TASKS",
    "TEXT",
    "Evaluation",
    "EvaluationResult",
    "HeadTask",
    "Introduction",
    "LabelTask",
    "Task",
    "explain_output",
    "explain_text",
    "held_out_traces",
    "introduce",
    "open_learner",
    "own_output",
    "task_of",
    "task_of_options",
]
