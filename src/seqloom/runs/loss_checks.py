"""Options that do not go with teachers of single positions, or with rows that are read twice."""

from seqloom.config import Config
from seqloom.errors import ConfigError
from seqloom.remedies import Setting

__all__ = ["check_agreement", "check_teaching"]


def check_teaching(config: Config) -> None:
    """ConfigError where positions cannot be taught as configured."""
    training, target = config.training, config.target
    if training.teaching.runs:
        _refuse(
            {
                "training.truncate": bool(training.truncate) and not target.is_aligned,
                **_other_losses(config),
                "target.kind": target.kind in ("series", "number", "blanks"),
            },
            "training.teaching.runs",
            "teachers of single positions",
            remedy="distill whole outputs alone",
        )


def check_agreement(config: Config) -> None:
    """ConfigError where rows are to be read twice and cannot be."""
    training = config.training
    if training.agreement:
        _refuse(
            {
                "training.truncate": bool(training.truncate),
                "training.teaching.runs": bool(training.teaching.runs),
                **_other_losses(config),
                "target.kind": not config.target.is_text,
            },
            "training.agreement",
            "rows that are read twice",
            remedy="set training.agreement=0",
        )


def _other_losses(config: Config) -> dict[str, bool]:
    """Which options give a loss of another kind."""
    model = config.model
    return {
        "training.forcing": config.training.forcing.free_running is not None,
        "data.lines": config.data.lines == "stream",
        "model.ctc": bool(model.ctc) or model.decoder.is_ctc,
    }


def _refuse(told: dict[str, bool], place: str, reason: str, *, remedy: str) -> None:
    for name, wrong in told.items():
        if wrong:
            raise ConfigError(
                f"{name} does not go with {reason}",
                place=Setting(place),
                remedy=f"change {name}, or {remedy}",
            )
