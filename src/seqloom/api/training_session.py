"""A training session: updates, validations and checkpoints, until the end or a signal."""

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from torch import Tensor

from seqloom.api.training_result import TrainingResult, not_validated
from seqloom.config import flatten
from seqloom.drawing.curves import Curves, draw_curves
from seqloom.errors import DivergedError, Interrupted, RunError, SeqloomError
from seqloom.metrics import Interval, baseline_ahead
from seqloom.runs.contents import best_step, model_weights
from seqloom.runs.held_out import Diagnosis, diagnose
from seqloom.runs.learner import Learner, new_network
from seqloom.runs.loggers import LoggedRun, RunLogger, open_loggers
from seqloom.runs.prepare import PreparedData
from seqloom.runs.pretrained import Pretrained
from seqloom.runs.process import StopRequest, cores
from seqloom.runs.processes.device import surroundings, threads
from seqloom.runs.processes.torchrun import LeaderMessage
from seqloom.runs.processes.workers import local_workers
from seqloom.runs.progress import Plan, TrainingObserver, Validation, ValidationSample
from seqloom.runs.request import SURVEY
from seqloom.runs.teaching import write_taught_positions
from seqloom.runs.timing.time_budget import refit_schedule, validation_interval
from seqloom.runs.vocabulary import VOCABULARY
from seqloom.store import RunDirectory
from seqloom.store.durable import remove_tree
from seqloom.store.tensors import average_tensors
from seqloom.tasks import task_of
from seqloom.tasks.evaluation import advice
from seqloom.training import SINGLE_PROCESS, PeerLostError, PeerSilentError, Ranks, Update

__all__ = ["TrainingSession"]

EVENT_EVERY = 20  # updates
COMPARED_ROWS = 100_000  # most training rows for which baselines are fitted too


class TrainingSession:
    """One session of training a run, in the process that validates and saves."""

    def __init__(
        self,
        directory: RunDirectory,
        prepared: PreparedData,
        watch: TrainingObserver,
        until: int | None,
    ) -> None:
        self.directory = directory
        self.task = task_of(prepared.config)
        self.prepared = prepared
        self.watch = watch
        self.until = until
        self.config = prepared.config
        network = new_network(self.config, prepared.source, prepared.target)
        self.held_out = self.task.build_held_out(prepared, deepcopy(network))
        masking = self.task.masking(self.config, prepared.target)
        self.learner = Learner(self.config, network, prepared.train, masking)
        self.loggers: list[RunLogger] = []
        self.told = 0  # length of the schedule in updates, as last reported

    def run(self, stop: StopRequest, ranks: Ranks | None) -> TrainingResult:
        """Train from the newest valid checkpoint until the end or a signal.

        `ranks` are torchrun's; None starts local workers.
        """
        if self.config.training.teaching.runs:
            write_taught_positions(self.directory, self.config, self.prepared.train, self.watch)
        notes = self.learner.resume(self.directory)
        measured_on = self.prepared.valid.fingerprint
        files = self.prepared.files or self.learner.progress.files
        self.learner.progress = replace(self.learner.progress, held_out=measured_on, files=files)
        self.directory.truncate_events(self.learner.progress.step)
        if self.prepared.base is not None:
            self._initialize_from(self.prepared.base)
        self.watch.on_start(self._plan(notes))
        if self._lacks_validation:
            self._validate(stop)
        if not self._stop_reason:
            run = LoggedRun(self.directory.path, self.learner.progress.step, flatten(self.config))
            with open_loggers(self.config.training, run) as self.loggers:
                with self._ranks(stop, ranks) as together:
                    self._compare_surroundings(together)
                    self._training_loop(together, stop)
                with stop.interruptible("stopped; all updates are made and saved"):
                    self._draw()
        return self._finish()

    def _ranks(self, stop: StopRequest, launched: Ranks | None) -> AbstractContextManager[Ranks]:
        """The ranks that share each batch."""
        if launched is None and self.config.training.workers == 1:
            return nullcontext(SINGLE_PROCESS)
        if launched is None:
            return local_workers(self.directory, self.config.training, stop)
        LeaderMessage(updates_begin=True).send(launched)
        return nullcontext(launched)

    def _initialize_from(self, base: Pretrained) -> None:
        """Save the base's weights as step 0, from which training continues."""
        learner = self.learner
        learner.begin(base.initial_weights(learner.network), place=str(base))
        learner.progress = replace(learner.progress, origin=base.origin)
        self.directory.save_checkpoint(0, learner.files(), progress=learner.progress.as_dict())
        self._append_event({"event": "begun", "step": 0, "from": str(base)})
        self.watch.on_message(f"begins from {base}")

    def _training_loop(self, ranks: Ranks, stop: StopRequest) -> None:
        try:
            self._update_and_validate(ranks, stop)
        except PeerSilentError as error:
            if not self.learner.progress.step or self.learner.stream is not None:
                raise
            stopped = self._save_and_interrupt()
            if stop.asked:
                raise stopped from None
            saved = f"{error.problem}; step {self.learner.progress.step} is saved"
            raise PeerLostError(saved, remedy=error.remedy) from None

    def _update_and_validate(self, ranks: Ranks, stop: StopRequest) -> None:
        for update in self._updates(ranks):
            self._tell_schedule()
            self.watch.on_update(update)
            if update.step % EVENT_EVERY == 0:
                self._record({"event": "update", **update.figures()})
            if self._is_due(update.step):
                self._validate(stop)
                if self._stop_reason:
                    return
            request = self.directory.take_request()
            if stop.asked or update.stop or request == "stop":
                raise self._save_and_interrupt()
            if request == "save":
                self.watch.on_message(f"step {self._save_unvalidated()} is saved")

    def _tell_schedule(self) -> None:
        """Report how many updates fit into the time budget, whenever that estimate changes."""
        fitted = self.learner.progress.scheduled
        if fitted and fitted != self.told:
            self.told = fitted
            self.watch.on_schedule(fitted, self.config.training.minutes)

    def _append_event(self, event: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.directory.append_event({**event, "time": now})

    def _record(self, event: dict[str, Any], **texts: list[dict[str, str]]) -> None:
        """Append an event, and pass its numbers on to the loggers."""
        self._append_event({**event, **texts})
        for logger in self.loggers:
            logger.add_event(event)

    def _updates(self, ranks: Ranks) -> Iterator[Update]:
        """Yield the updates of this session; a divergence is recorded as an event."""
        try:
            yield from self.learner.updates(ranks)
        except DivergedError as error:
            step = self.learner.progress.step + 1
            self._append_event({"event": "diverged", "step": step, "why": str(error)})
            raise

    def _is_due(self, step: int) -> bool:
        training, progress = self.config.training, self.learner.progress
        every = training.validate_every
        if progress.scheduled:
            every = validation_interval(training, progress)
        return step % every == 0 or step == self._rest or self._out_of_time

    @property
    def _lacks_validation(self) -> bool:
        """Whether the step that training starts from lacks its validation.

        A signal may have interrupted it, or it is step 0 of a run with a base.
        """
        progress = self.learner.progress
        begun = progress.step > 0 or progress.origin.validated
        due = begun and self._is_due(progress.step)
        return due and all(each.step != progress.step for each in progress.validations)

    @property
    def _last_update(self) -> int:
        return self.learner.progress.last_update(self.config.training)

    @property
    def _rest(self) -> int:
        """The update after which this session ends."""
        return min(self.until or self._last_update, self._last_update)

    @property
    def _out_of_time(self) -> bool:
        return self.learner.progress.is_out_of_time(self.config.training)

    @property
    def _stop_reason(self) -> str:
        """Why training has ended; empty while it goes on."""
        training, progress = self.config.training, self.learner.progress
        best = progress.best(training.monitor)
        if best is not None and best.reaches(training.target, training.monitor):
            return f"the target of {training.target:g} is reached"
        if progress.step >= training.updates:
            return "all updates are made"
        if progress.step >= self._last_update:
            made = f"{progress.step:,} updates that fit into {training.minutes:g} minutes"
            return f"the {made} are made"
        if progress.step >= self._rest:
            return f"{progress.step:,} of {training.updates:,} updates are made"
        if 0 < training.patience <= progress.validations_since_best(training.monitor):
            return "no more progress on held-out data"
        return f"the time of {training.minutes:g} minutes is used up" if self._out_of_time else ""

    def _compare_surroundings(self, ranks: Ranks) -> None:
        before = self.learner.progress.surroundings
        here = surroundings(self.config.training, ranks.world)
        changed = [name for name, value in here.items() if before.get(name, value) != value]
        if changed and self.learner.progress.step:
            self.watch.on_message(
                f"{', '.join(changed)} differ from when this run was last trained: it resumes, "
                "but not bit for bit as it would there"
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

    def _validate(self, stop: StopRequest) -> None:
        """Validate the weights, save a checkpoint, and prune the checkpoints not needed.

        A signal interrupts validation: the step is saved, and validated when the run resumes.
        """
        try:
            with stop.interruptible("stopped"), threads(cores()):
                files, validation, samples = self._measure()
        except Interrupted:
            raise self._save_and_interrupt() from None
        self.learner.count_validation()
        training, progress = self.config.training, self.learner.progress
        progress = replace(progress, validations=(*progress.validations, validation))
        if progress.scheduled:
            progress = refit_schedule(training, progress)
        self.learner.progress = progress
        self._save(files)
        figures = {**dataclasses.asdict(validation), "seconds": progress.seconds}
        shown = samples[: training.samples]
        rows = [dataclasses.asdict(each) for each in shown]
        self._record({"event": "validation", **figures}, samples=rows)
        best = progress.best(training.monitor) or validation
        choice = training.monitor, training.average, training.average_steps
        before = replace(progress, validations=progress.validations[:-1])  # in case this step fails
        keep = {*progress.steps_to_average(*choice), *before.steps_to_average(*choice)}
        self.directory.prune({best.step, *keep})
        self.watch.on_validation(validation, shown, best=best == validation)

    def _measure(self) -> tuple[dict[str, dict[str, Tensor]], Validation, list[ValidationSample]]:
        """Validate the weights or their average; return the checkpoint's files, the results and
        sample outputs.
        """
        training, progress = self.config.training, self.learner.progress
        choice = training.monitor, training.average, training.average_steps
        files = self.learner.files()
        held_out = self.held_out
        measured = held_out.measure(files.get("average", files["model"]))
        mates = self._load_step_weights(progress.steps_to_average(*choice))
        if mates:
            mean = average_tensors([*mates, files["model"]])
            averaged = held_out.measure(mean)
            if averaged.loss < measured.loss:
                measured, files["average"] = averaged, mean
            else:
                held_out.set_weights(files["model"])
        samples = held_out.samples()
        return files, held_out.validation(progress, measured, samples), samples

    def _load_step_weights(self, numbers: list[int]) -> list[dict[str, Tensor]]:
        """Load the weights of these steps; unreadable ones are reported and skipped."""
        found = []
        for step in self.directory.checkpoints():
            if step.number in numbers:
                try:
                    found.append(step.load("model"))
                except RunError as error:
                    self.watch.on_message(f"{error}; the average goes without it")
        return found

    def _save_and_interrupt(self) -> Interrupted:
        saved = f"step {self._save_unvalidated()} is saved in {self.directory.path}"
        return Interrupted("stopped", remedy=f"{saved}: give the same command again to go on")

    def _save_unvalidated(self) -> int:
        """Save the newest update unless validation already saved it; return its step."""
        progress = self.learner.progress
        if not any(each.step == progress.step for each in progress.validations):
            self._save(self.learner.files())
        return progress.step

    def _save(self, files: dict[str, dict[str, Tensor]]) -> None:
        """Save the newest update; what its preparation kept for a break is not needed any more."""
        progress = self.learner.progress
        self.directory.save_checkpoint(progress.step, files, progress=progress.as_dict())
        with suppress(OSError):
            for name in (SURVEY, VOCABULARY):
                remove_tree(self.directory.cache_directory / name)

    def _finish(self) -> TrainingResult:
        progress = self.learner.progress
        best = progress.best(self.config.training.monitor)
        if best is None:
            raise not_validated(self.directory)
        self.watch.on_end(f"{self._stop_reason}; the best step is {best.step}")
        verdict = self._diagnose()
        return TrainingResult(self.directory.path, progress.step, progress.seconds, best, verdict)

    def _draw(self) -> None:
        """Draw the training curves and the best step's held-out results into the run directory;
        training does not fail if that fails."""
        best = self.learner.progress.best(self.config.training.monitor)
        if not self.config.training.curves or best is None:
            return
        path = self.directory.path / "curves.png"
        try:
            draw_curves(Curves.of(self.directory.events()), path, best=best.step)
            self.held_out.set_weights(model_weights(best_step(self.directory)))
            self.held_out.draw(self.directory.path)
            for logger in self.loggers:
                for picture in sorted(self.directory.path.glob("*.png")):
                    logger.add_picture(picture, self.learner.progress.step)
        except SeqloomError as error:
            self.watch.on_message(str(error))

    def _compare_baselines(self) -> Diagnosis | None:
        """Whether a baseline fitted on the same rows does better on the held-out rows."""
        best = self.learner.progress.best(self.config.training.monitor)
        if best is None or len(self.prepared.train) > COMPARED_ROWS:
            return None
        reached = self.held_out.baseline_scores(self.prepared.train)
        rows = len(self.prepared.train)
        intervals = {}
        if best.interval:
            bounds = Interval(best.interval["low"], best.interval["high"])
            intervals[next(iter(best.scores))] = bounds
        sentence = baseline_ahead(
            best.scores, reached, advice(self.config, rows), intervals=intervals
        )
        return Diagnosis("a baseline is ahead", sentence) if sentence else None

    def _diagnose(self) -> str:
        """Report what is wrong with the model, if anything, and record it once as an event."""
        train, valid = self.prepared.train, self.prepared.valid
        progress = self.learner.progress
        guessing = self.task.guess_loss(train, valid, self.prepared.target)
        found = [diagnose(progress.validations, guessing), self._compare_baselines()]
        told = [each for each in found if each is not None]
        if not told:
            return ""
        verdict = Diagnosis(told[0].name, "; ".join(each.sentence for each in told))
        self.watch.on_warning(verdict.sentence)
        event = {"event": "verdict", "step": progress.step, **dataclasses.asdict(verdict)}
        if not any(event.items() <= each.items() for each in self.directory.events()):
            self._append_event(event)
        return verdict.sentence
