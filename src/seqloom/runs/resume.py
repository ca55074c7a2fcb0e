"""Resume a run: what may change, and what must not."""

from dataclasses import dataclass

from seqloom.config import Config, check_names, dump, flatten, leaves, merge, preset_kinds, validate
from seqloom.data import Data, DataIdentity, compare_data, describe_data
from seqloom.errors import ConfigError, DataError
from seqloom.remedies import Remedy, Setting
from seqloom.runs.contents import load_config
from seqloom.runs.progress import Progress, TrainingObserver
from seqloom.runs.request import ConfigCheck, TrainingRequest
from seqloom.store import RunDirectory

__all__ = ["ResumedConfig", "check_same_data", "resume_config"]

CHANGEABLE = ("training.", "search.")  # options that may change, ...
FIXED = ("training.extend_vocabulary",)  # ... except those fixed at the beginning


def check_same_data(
    directory: RunDirectory, request: TrainingRequest, marks: tuple[str, str]
) -> None:
    """Raise DataError if a run would resume with other training data, or with other validation
    rows, which would make its results incomparable; `marks` are the fingerprints of both.
    """
    latest = directory.latest_checkpoint()
    if latest is None:
        return
    before = Progress.from_dict(latest.progress())
    if not before.data:
        raise DataError(
            "an imported model, which is used as it is",
            place=directory.path,
            remedy=Remedy(
                "fine-tune it with {} and another {}",
                Setting("base", directory.path),
                Setting("run"),
            ),
        )
    if before.data != marks[0]:
        raise DataError(
            f"not the data that {directory.path} was trained on so "
            f"far{_change(before, 'train', request.data)}",
            place=describe_data(request.data),
            remedy=Remedy("choose another {}, or bring the old data back", Setting("run")),
        )
    if before.held_out not in ("", marks[1]):
        held_out = request.valid or request.data
        raise DataError(
            f"not the held-out rows that {directory.path} was measured on so "
            f"far{_change(before, 'valid', held_out)}",
            place=describe_data(held_out),
            remedy=Remedy(
                "bring them back, or begin another run with {}", Setting("base", directory.path)
            ),
        )


def _change(before: Progress, side: str, data: Data) -> str:
    """Describe how data has changed, as far as the run has recorded it."""
    if side not in before.files:
        return ": they were a part of the training data" if side == "valid" and before.files else ""
    found = compare_data(data, DataIdentity.from_dict(before.files[side]))
    return f": it {found}" if found else ": the same file is read by other rules now"


@dataclass(frozen=True)
class ResumedConfig:
    """The configuration of a resumed run, with its changes in words."""

    config: Config
    changes: tuple[str, ...]

    def record(self, directory: RunDirectory, watch: TrainingObserver) -> None:
        """Announce the changes and write them; call it after all checks."""
        for sentence in self.changes:
            watch.on_message(sentence)
        if self.changes:
            directory.create(dump(self.config))


def resume_config(
    directory: RunDirectory, request: TrainingRequest, *, check: ConfigCheck
) -> ResumedConfig:
    """The run's configuration with permitted changes; any other change is an error.

    Nothing is written.
    """
    config = load_config(directory)
    check_names(request.options, place="options")
    asked = validate(merge(config.model_dump(mode="json"), request.options), place="options")
    before, after = flatten(config), flatten(asked)
    own = [name.removesuffix(".kind") for name, _ in leaves(request.options)]
    for name, kind in preset_kinds(request.preset, before).items():
        if before.get(name) != kind and not name.removesuffix(".kind").startswith(tuple(own)):
            raise ConfigError(
                f"was begun with {name} = {before.get(name)!r}",
                place=directory.path,
                remedy=_go_on_without(Setting("model", request.preset)),
            )
    changed = [name for name, value in after.items() if before.get(name) != value]
    for name in changed:
        if not name.startswith(CHANGEABLE) or name in FIXED:
            raise ConfigError(
                f"was begun with {name} = {before.get(name)!r}",
                place=directory.path,
                remedy=_go_on_without(Setting(name, after[name])),
            )
    check(asked)
    changes = [
        f"from here on {name} = {after[name]!r} in place of {before.get(name)!r}"
        for name in changed
    ]
    return ResumedConfig(asked, tuple(changes))


def _go_on_without(setting: Setting) -> Remedy:
    return Remedy("leave {} out to go on, or choose another {}", setting, Setting("run"))
