"""Front ends that begin with convolutions learnt elsewhere (S3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from seqloom.config import FrontEndConfig
from seqloom.errors import ConfigError, RunError
from seqloom.runs.contents import best_step, model_weights
from seqloom.runs.progress import Origin
from seqloom.runs.weights import weights
from seqloom.store import RunDirectory
from seqloom.store.tensors import unpack

__all__ = ["PretrainedFrontEnd", "open_front_end"]

CONVOLUTIONS = "encoder.front.convolutions."


@dataclass(frozen=True)
class PretrainedFrontEnd:
    """Where a new run has its convolutions from."""

    path: Path
    weights: Mapping[str, Tensor]  # under the names they have within the convolutions

    def __str__(self) -> str:
        return f"the front end of {self.path}"

    @property
    def origin(self) -> Origin:
        """What a run that begins with it remembers."""
        return Origin(words=str(self))

    def initial_weights(self, network: nn.Module) -> dict[str, Tensor]:
        """The network's own weights, with these convolutions in place of its new ones."""
        found = {}
        for name, value in weights(network).items():
            inner = name.removeprefix(CONVOLUTIONS)
            old = value if inner == name else self.weights.get(inner)
            if old is None or old.shape != value.shape:
                kind = "is not there" if old is None else f"is of shape {tuple(old.shape)}"
                raise ConfigError(
                    f"model.front.weights = {str(self.path)!r}: {inner} {kind}, where the front "
                    f"end needs {tuple(value.shape)}",
                    remedy="give model.front the options of the one that learnt them",
                )
            found[name] = old.to(value.dtype, copy=True)
        return found


def open_front_end(part: FrontEndConfig) -> PretrainedFrontEnd | None:
    """The convolutions of the run or the file that the options name, if they name one."""
    if not part.pretrained:
        return None
    path = Path(part.pretrained)
    if path.is_dir():
        used = model_weights(best_step(RunDirectory(path)))
        inner = {
            name.removeprefix(CONVOLUTIONS): value
            for name, value in used.items()
            if name.startswith(CONVOLUTIONS)
        }
        return PretrainedFrontEnd(path, inner)
    try:
        return PretrainedFrontEnd(path, unpack(path.read_bytes(), place=path))
    except OSError as error:
        why = error.strerror or "its name is not one"
        raise ConfigError(
            f"model.front.weights = {part.pretrained!r}: cannot be read ({why})",
            remedy="name a run directory or a safetensors file",
        ) from None
    except RunError:
        raise ConfigError(
            f"model.front.weights = {part.pretrained!r}: is not a safetensors file",
            remedy="convert it, or name a run directory",
        ) from None
