"""Training a run: where data, model, loop, metrics and store meet."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from seqloom.data import Data, in_order
from seqloom.errors import Interrupted, RunError
from seqloom.metrics import text_scores
from seqloom.prediction import Model
from seqloom.run.learner import Learner, example, new_network
from seqloom.run.prepare import Prepared, Request, prepare
from seqloom.run.progress import Validation, surroundings
from seqloom.run.signals import StopRequest, stop_signals
from seqloom.run.watch import Plan, Sample, Silent, Watch
from seqloom.run.weights import load_weights
from seqloom.run.workers import local_workers, threads
from seqloom.search import Greedy
from seqloom.store import RunDirectory, average
from seqloom.training import Ranks, measure

__all__ = ["Trained", "train"]

EVENT_EVERY = 20  # updates
SAMPLED_ROWS = 500  # held-out rows that are written out at a validation


@dataclass(frozen=True)
class Trained:
    """What `seqloom.train` gives back: where the run is and how good it became."""

    run: Path
    steps: int
    seconds: float
    best: Validation


def train(
    data: Data,
    run: str | Path,
    *,
    valid: Data | None = None,
    model: str = "auto",
    options: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Learn to turn the source column into the target column; on an existing run, go on with it.

    `options` are nested tables as in config.toml: `{"training": {"updates": 500}}`.
    """
    watch = watch or Silent()
    directory = RunDirectory(Path(run))
    with directory.lock(), torch.random.fork_rng(), stop_signals() as stop:
        prepared = prepare(directory, Request(data, valid, model, options or {}), watch)
        if stop.asked:
            raise Interrupted(f"stopped before the first update; {directory.path} can go on")
        return _Training(directory, prepared, watch).run(stop)


class _Training:
    """One sitting of a run, as the first of its workers sees it."""

    def __init__(self, directory: RunDirectory, prepared: Prepared, watch: Watch) -> None:
        sizes = prepared.source.size, prepared.target.size
        self.directory = directory
        self.prepared = prepared
        self.watch = watch
        self.config = prepared.config
        self.learner = Learner(self.config, new_network(self.config, *sizes), prepared.train)
        used = new_network(self.config, *sizes)
        self.used = Model(self.config, prepared.source, prepared.target, used)

    def run(self, stop: StopRequest) -> Trained:
        """Go on from the newest sound step to the end, or to where a signal stops it."""
        notes = self.learner.resume(self.directory)
        self.directory.cut_events(self.learner.progress.step)
        self.watch.starts(self._plan(notes))
        if not self._finished:
            with local_workers(self.directory, self.config.training) as ranks:
                self._compare_surroundings(ranks)
                self._go_on(ranks, stop)
        return self._trained()

    def _go_on(self, ranks: Ranks, stop: StopRequest) -> None:
        training = self.config.training
        for update in self.learner.updates(ranks):
            self.watch.updated(update)
            if update.step % EVENT_EVERY == 0:
                self.directory.append_event({"event": "update", **dataclasses.asdict(update)})
            if update.step % training.validate_every == 0 or update.step == training.updates:
                with threads(len(os.sched_getaffinity(0))):
                    self._validate()
                if self._finished:
                    return
            if stop.asked:
                raise self._interrupted()

    @property
    def _finished(self) -> bool:
        training, progress = self.config.training, self.learner.progress
        waited = progress.without_progress(training.monitor)
        return progress.step >= training.updates or 0 < training.patience <= waited

    def _compare_surroundings(self, ranks: Ranks) -> None:
        before = self.learner.progress.surroundings
        here = {**surroundings(), "workers": ranks.world}
        changed = [name for name, value in here.items() if before.get(name, value) != value]
        if changed and self.learner.progress.step:
            self.watch.says(
                f"{', '.join(changed)} differ from the earlier sitting: the run goes on, "
                "though not bit for bit as it would have there"
            )

    def _plan(self, notes: list[str]) -> Plan:
        return Plan(
            run=str(self.directory.path),
            config=self.config,
            rows=len(self.prepared.train),
            held_out_rows=len(self.prepared.valid),
            parameters=sum(each.numel() for each in self.learner.network.parameters()),
            start=self.learner.progress.step,
            notes=(*self.prepared.notes, *notes),
        )

    def _validate(self) -> None:
        """Measure the weights that would be used, save the step, and keep only the steps needed."""
        training, progress = self.config.training, self.learner.progress
        choice = training.monitor, training.average, training.average_steps
        files = self.learner.files()
        mates = progress.averaged_with(*choice)
        if mates:
            sets = [step.load("model") for step in self.directory.steps() if step.number in mates]
            files["average"] = average([*sets, files["model"]])
        load_weights(self.used.network, files.get("average", files["model"]), place="average")
        validation, samples = self._held_out(progress.step)
        progress = replace(progress, validations=(*progress.validations, validation))
        self.learner.progress = progress
        self.directory.save_step(progress.step, files, progress=progress.as_dict())
        self.directory.append_event({"event": "validation", **dataclasses.asdict(validation)})
        best = progress.best(training.monitor) or validation
        self.directory.prune({best.step, *progress.averaged_with(*choice)})
        self.watch.validated(validation, samples, best=best == validation)

    def _held_out(self, step: int) -> tuple[Validation, list[Sample]]:
        valid, network = self.prepared.valid, self.used.network.eval()
        negative = tokens = 0.0
        for rows in in_order(valid.lengths, tokens=self.config.training.batch_tokens):
            sums = measure(network, example(valid.batch(rows)), smoothing=0.0)
            negative, tokens = negative + sums.negative_log_probability, tokens + sums.tokens
        sources, references = self.prepared.held_out_texts(SAMPLED_ROWS)
        outputs = [output.text for output in self.used.predict(sources, search=Greedy())]
        bleu, chrf, exact = text_scores(outputs, references, intervals=False)
        shown = zip(sources, references, outputs, strict=True)
        samples = [Sample(*each) for each in islice(shown, self.config.training.samples)]
        return Validation(step, negative / tokens, chrf.value, bleu.value, exact.value), samples

    def _interrupted(self) -> Interrupted:
        progress, path = self.learner.progress, self.directory.path
        step = progress.step
        if not any(each.step == step for each in progress.validations):  # else it was just saved
            self.directory.save_step(step, self.learner.files(), progress=progress.as_dict())
        return Interrupted(
            f"stopped; step {step} is saved in {path}: give the same command again to go on"
        )

    def _trained(self) -> Trained:
        progress = self.learner.progress
        best = progress.best(self.config.training.monitor)
        if best is None:
            raise RunError(f"{self.directory.path}: no step was validated; remove it, train again")
        early = progress.step < self.config.training.updates
        why = "no more progress on held-out data" if early else "all updates are made"
        self.watch.ends(f"{why}; the best step is {best.step}")
        return Trained(self.directory.path, progress.step, progress.seconds, best)
