"""A stream of text as read by one worker, with the state carried between updates."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from seqloom.config import Config, TrainingConfig
from seqloom.data import Chunk, Corpus, StreamBatches
from seqloom.fields import EMPTY
from seqloom.model import Network, SequenceModel
from seqloom.training import (
    Example,
    LossOptions,
    Portion,
    Ranks,
    StreamState,
    Sums,
    backward_stream,
    start_stream,
)
from seqloom.training.streams import (
    select_rows,
    stream_from_tensors,
    stream_tensors,
    without_source,
)

__all__ = ["Stream", "chunk_steps", "chunks"]

STEPS = 128  # steps per chunk if gradients may reach its beginning


def chunk_steps(training: TrainingConfig) -> int:
    """The most steps of a chunk that a stream is read in."""
    return training.truncate or STEPS


class Stream:
    """The chunks of each update, and every lane's state after the last one.

    Each worker reads its own lanes; after an update the states of all lanes are shared, so that the
    first worker can save them, and training can resume with any number of workers.
    """

    def __init__(
        self,
        corpus: Corpus,
        network: Network,
        config: Config,
        *,
        device: torch.device | None = None,
    ) -> None:
        self._corpus = corpus
        self._device = device
        self._network = _require_sequence_model(network)
        training = config.training
        self._steps = chunk_steps(training)
        lanes = training.batch_rows or max(1, training.batch_tokens // self._steps)
        steps = self._steps * training.accumulate
        self.lanes = StreamBatches(len(corpus.targets), lanes=lanes, steps=steps, seed=config.seed)
        self._carried: StreamState | None = None  # None at the beginning of all lanes
        self._newest: StreamState | None = None  # of this worker's lanes

    def portion(self, step: int, ranks: Ranks) -> Portion:
        """This worker's lanes of an update."""
        chunk = self.lanes.chunk(step)
        rows = self._own_rows(ranks)
        target = chunk_tokens(self._corpus, chunk, rows.numpy()).to(self._device)
        examples = [without_source(target)] if len(rows) else []
        first = None
        if self._carried is not None and not chunk.first:
            first = select_rows(self._carried, rows.to(self._device))

        def backward(each: Example, cost: LossOptions) -> Sums:
            sums, self._newest = backward_stream(
                self._network, each, cost, steps=self._steps, first=first
            )
            return sums

        tokens = int((chunk.ends - chunk.starts).sum())
        return Portion(examples, tokens, lambda: self._places(chunk), backward)

    def synchronize(self, ranks: Ranks) -> None:
        """Share the states of all lanes among workers after an update."""
        nothing = start_stream(self._network, self.lanes.count)
        newest = [] if self._newest is None else stream_tensors(self._newest)
        own = self._own_rows(ranks).to(self._device)
        found = []
        for number, whole in enumerate(stream_tensors(nothing)):
            all_lanes = torch.zeros_like(whole)
            if newest:
                all_lanes[own] = newest[number]
            found.append(ranks.sum(all_lanes))
        self._carried, self._newest = stream_from_tensors(found, nothing), None

    def tensors(self) -> dict[str, Tensor]:
        """The states of all lanes."""
        found = [] if self._carried is None else stream_tensors(self._carried)
        return {f"lanes/{number}": tensor for number, tensor in enumerate(found)}

    def restore(self, tensors: Mapping[str, Tensor]) -> str:
        """Restore the result of `tensors`; return a note if the lanes have changed."""
        nothing = start_stream(self._network, self.lanes.count)
        like = stream_tensors(nothing)
        found = [tensors.get(f"lanes/{number}") for number in range(len(like))]
        if all(a is not None and a.shape == b.shape for a, b in zip(found, like, strict=True)):
            whole = [tensor.to(self._device) for tensor in found if tensor is not None]
            self._carried = stream_from_tensors(whole, nothing)
            return ""
        return "the lanes of the text are others than before: each begins without a state"

    def _own_rows(self, ranks: Ranks) -> Int[Tensor, "B"]:
        return torch.arange(ranks.rank, self.lanes.count, ranks.world)

    def _places(self, chunk: Chunk) -> str:
        place = self._corpus.place_of(int(chunk.starts[0]) % len(self._corpus.targets))
        return f"{place.file}, line {place.line} and {self.lanes.count - 1} further lanes"


def chunks(corpus: Corpus, *, lanes: int, steps: int) -> Iterator[Int[Tensor, "B T"]]:
    """Read a whole text once, in parallel lanes."""
    read = StreamBatches(len(corpus.targets), lanes=lanes, steps=steps)
    for number in range(read.per_epoch):
        yield chunk_tokens(corpus, read.chunk(number), np.arange(read.count))


def chunk_tokens(corpus: Corpus, chunk: Chunk, rows: np.ndarray) -> Int[Tensor, "B T"]:
    """The tokens of these lanes, padded with `<empty>` where a lane has ended."""
    lengths = chunk.ends[rows] - chunk.starts[rows]
    steps = np.arange(int((chunk.ends - chunk.starts).max(initial=0)))
    real = steps < lengths[:, None]
    tokens = np.full(real.shape, EMPTY, dtype=np.int64)
    places = (chunk.starts[rows][:, None] + steps)[real]
    tokens[real] = corpus.targets[places % len(corpus.targets)]
    return torch.from_numpy(tokens)


def _require_sequence_model(network: Network) -> SequenceModel:
    if not isinstance(network, SequenceModel):
        raise TypeError("a stream of text is read by a model that writes")
    return network
