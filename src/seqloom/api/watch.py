"""Monitor a run during training: its progress, and what its newest step does."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.drawing.views import has_drawing
from seqloom.errors import ConfigError
from seqloom.explain import drawing_of, trace_output
from seqloom.explanations.flow import collect_gates
from seqloom.runs.contents import load_config, load_fields
from seqloom.runs.progress import Progress
from seqloom.store import Checkpoint, EventTail, RunDirectory
from seqloom.tasks import task_of
from seqloom.tasks.report_rows import open_held_out
from seqloom.tasks.task import read_network

__all__ = ["REQUESTS", "RunMonitor", "StepInsight"]

REQUESTS = ("save", "stop")
ROWS = 20  # held-out rows from which a short one is chosen
SATURATED = 0.9  # a gate above this is open; below 1 minus this, closed
KEPT = 200  # steps whose insight is cached


@dataclass(frozen=True)
class StepInsight:
    """A step on one held-out input: pictures, and statistics of each recurrent layer's gates."""

    source: str
    pictures: tuple[str, ...]  # SVG
    gates: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the pictures."""
        return {
            "source": self.source,
            "pictures": len(self.pictures),
            "gates": list(self.gates),
        }


class RunMonitor:
    """Reads a run directory while another process writes it; it need not exist yet."""

    def __init__(self, run: Path) -> None:
        self.directory = RunDirectory(run)
        self._tail = EventTail(run / "events.jsonl")
        self._insights: dict[int, StepInsight] = {}
        self._computing = threading.Lock()
        self._reading = threading.Lock()

    def state(self) -> dict[str, Any]:
        """The configuration of the run and its saved steps."""
        name = self.directory.path.resolve().name
        if not self.directory.exists:
            return {"name": name, "begun": False, "steps": []}
        config = load_config(self.directory)
        task = task_of(config)
        source, target = load_fields(self.directory, config)
        steps = self.directory.checkpoints()
        progress = Progress.from_dict(steps[-1].progress()) if steps else Progress()
        return {
            "name": name,
            "begun": True,
            "title": task.describe_fields(source, target),
            "updates": progress.last_update(config.training),
            "steps": [each.number for each in steps],
        }

    def events(self, generation: int, after: int) -> dict[str, Any]:
        """The events after the first `after`; all of them if the file was rewritten."""
        with self._reading:
            self._tail.refresh()
            start = after if generation == self._tail.generation else 0
            return {
                "generation": self._tail.generation,
                "start": start,
                "events": self._tail.events[start:],
            }

    def insight(self, step: int) -> StepInsight | None:
        """The insight of a saved step; None if the step is not saved."""
        with self._computing:
            if step not in self._insights:
                saved = self.directory.checkpoints() if self.directory.exists else []
                found = [each for each in saved if each.number == step]
                if not found:
                    return None
                self._insights[step] = self._compute(found[0])
                if len(self._insights) > KEPT:
                    self._insights.pop(min(self._insights))
            return self._insights[step]

    def request(self, action: str) -> None:
        """Ask the training process to save, or to save and stop."""
        if action not in REQUESTS:
            raise ConfigError(f"no request {action!r}", remedy=f"ask for {' or '.join(REQUESTS)}")
        self.directory.leave_request(action)

    def _compute(self, step: Checkpoint) -> StepInsight:
        config = load_config(self.directory)
        source, target = load_fields(self.directory, config)
        task = task_of(config)
        network = read_network(step, config, source, target)
        model = task.predictor(config, source, target, network)
        held = open_held_out(self.directory, model, most=ROWS)
        cells = task.cells(model, held)[:1]
        if not cells:
            return StepInsight("", (), ())
        _, views = task.views(model, cells)
        pictures = [drawing_of(view).svg() for view in views if has_drawing(view)]
        trace = trace_output(model.network, task.explain(model, cells[0]))
        gates = tuple(
            {
                **unit.location._asdict(),
                "gates": [_summarize(name, mean) for name, mean in unit.means().items()],
            }
            for unit in collect_gates([trace])
        )
        return StepInsight(model.source.cell(cells[0]), tuple(pictures), gates)


def _summarize(name: str, means: Any) -> dict[str, Any]:
    """A gate's mean over units, and the shares of units that are mostly open or closed."""
    return {
        "name": name,
        "mean": round(float(means.mean()), 4),
        "open": round(float((means > SATURATED).mean()), 4),
        "closed": round(float((means < 1 - SATURATED).mean()), 4),
    }
