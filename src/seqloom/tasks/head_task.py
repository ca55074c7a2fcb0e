"""What the targets share that a head gives without a search: labels, tags and numbers."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from seqloom.config import Config
from seqloom.data import Data
from seqloom.engine.selection import select_head_engine
from seqloom.model import Network
from seqloom.prediction import HeadPredictor
from seqloom.runs.held_out import HeldOut
from seqloom.runs.prepare import PreparedData
from seqloom.search import Search
from seqloom.store import RunDirectory
from seqloom.tasks.evaluation import Evaluation
from seqloom.tasks.outputs import HeldOutOutputs, evaluate_outputs
from seqloom.tasks.task import Task

__all__ = ["HeadTask"]

AnyHeadPredictor = TypeVar("AnyHeadPredictor", bound=HeadPredictor)


class HeadTask(Task[AnyHeadPredictor]):
    """A target that a head on the encoder gives."""

    predictor_class: ClassVar[type[Any]] = HeadPredictor
    plural: ClassVar[str]  # what a model gives, in words

    def predictor(
        self,
        config: Config,
        source: Any,
        target: Any,
        network: Any,
        *,
        run: RunDirectory | None = None,
    ) -> AnyHeadPredictor:
        """The network with its fields, and the rows it learnt from where there is a run."""
        known = None if run is None else run.cache_directory / "train"
        engine = None if run is None else select_head_engine(network)
        fields = config, source, target, network, known
        model: AnyHeadPredictor = self.predictor_class(*fields, engine=engine)
        return model

    def build_held_out(self, prepared: PreparedData, network: Network) -> HeldOut[AnyHeadPredictor]:
        """The metrics over all held-out rows."""
        model = self.predictor(prepared.config, prepared.source, prepared.target, network)
        return HeldOutOutputs(prepared, model, self)

    def describe(self, config: Config) -> str:
        """What a model does."""
        return f"a model of {self.plural} judges"

    def evaluate(
        self,
        model: AnyHeadPredictor,
        data: Data,
        *,
        options: Mapping[str, Any] | None = None,
        search: Search | None = None,
        lowercase: bool = False,
    ) -> Evaluation:
        """The metrics of the outputs, and what baselines reach."""
        self.check_evaluation(model.config, search, lowercase=lowercase)
        return evaluate_outputs(self, model, data, options)
