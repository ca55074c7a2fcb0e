"""Training a run: where data, model, loop, metrics and store meet."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seqloom.data import Data, data_files, in_order
from seqloom.errors import Interrupted, RunError
from seqloom.metrics import text_scores
from seqloom.prediction import Model
from seqloom.run.learner import Learner, example, new_network
from seqloom.run.prepare import Prepared, Request, prepare
from seqloom.run.progress import Validation, surroundings
from seqloom.run.signals import StopRequest, stop_signals
from seqloom.run.watch import Plan, Sample, Silent, Watch
from seqloom.run.weights import load_weights
from seqloom.run.workers import cores, local_workers, threads
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
    request = Request(_kept(data), None if valid is None else _kept(valid), model, options or {})
    if not directory.exists:
        request.checked()
        data_files(request.data)
    with directory.lock(), torch.random.fork_rng(), stop_signals() as stop:
        training = _Training(directory, prepare(directory, request, watch), watch)
        stop.can_wait()
        return training.run(stop)


def _kept(data: Data) -> Data:
    """Data that can be read more than once."""
    return data if isinstance(data, str | Path) else list(data)


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
            with local_workers(self.directory, self.config.training, stop) as ranks:
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
                with threads(cores()):
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
        loss = self._loss_with(files["model"])
        mates = self._saved_weights(progress.averaged_with(*choice))
        if mates:
            mean = average([*mates, files["model"]])
            averaged = self._loss_with(mean)
            if averaged < loss:
                loss, files["average"] = averaged, mean
            else:
                load_weights(self.used.network, files["model"], place="model")
        validation, samples = self._written_out(progress.step, loss)
        progress = replace(progress, validations=(*progress.validations, validation))
        self.learner.progress = progress
        self.directory.save_step(progress.step, files, progress=progress.as_dict())
        self.directory.append_event({"event": "validation", **dataclasses.asdict(validation)})
        best = progress.best(training.monitor) or validation
        before = replace(progress, validations=progress.validations[:-1])  # should this step fail
        keep = {*progress.averaged_with(*choice), *before.averaged_with(*choice)}
        self.directory.prune({best.step, *keep})
        self.watch.validated(validation, samples, best=best == validation)

    def _saved_weights(self, numbers: list[int]) -> list[dict[str, Tensor]]:
        """The weights of these steps, as far as they can be read."""
        found = []
        for step in self.directory.steps():
            if step.number in numbers:
                try:
                    found.append(step.load("model"))
                except RunError as error:
                    self.watch.says(f"{error}; the average goes without it")
        return found

    def _loss_with(self, tensors: Mapping[str, Tensor]) -> float:
        """The held-out loss per token of these weights, which are left in place."""
        valid, network = self.prepared.valid, self.used.network.eval()
        load_weights(network, tensors, place="held-out loss")
        negative = tokens = 0.0
        for rows in in_order(valid.lengths, tokens=self.config.training.batch_tokens):
            sums = measure(network, example(valid.batch(rows)), smoothing=0.0)
            negative, tokens = negative + sums.negative_log_probability, tokens + sums.tokens
        return negative / tokens

    def _written_out(self, step: int, loss: float) -> tuple[Validation, list[Sample]]:
        samples = self._samples()
        bleu, chrf, exact = text_scores(
            [each.output for each in samples], [each.reference for each in samples], intervals=False
        )
        validation = Validation(step, loss, chrf.value, bleu.value, exact.value)
        return validation, samples[: self.config.training.samples]

    def _samples(self) -> list[Sample]:
        """Held-out rows, spread over all of them, and what the model writes for each."""
        valid, model = self.prepared.valid, self.used
        rows = np.linspace(0, len(valid) - 1, min(SAMPLED_ROWS, len(valid))).astype(np.int64)
        batch = valid.batch(rows)
        sources = [
            ids[:length] for ids, length in zip(batch.source, batch.source_lengths, strict=True)
        ]
        outputs = model.predict_tokens(sources, search=Greedy())
        return [
            Sample(model.source.decode(source), model.target.decode(target), output.text)
            for source, target, output in zip(sources, batch.target, outputs, strict=True)
        ]

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
