"""The learner of a run that another process has prepared."""

from seqloom.data import Corpus
from seqloom.runs.contents import load_config, load_fields
from seqloom.runs.learner import Learner, new_network
from seqloom.store import RunDirectory
from seqloom.tasks.choice import task_of

__all__ = ["open_learner"]


def open_learner(directory: RunDirectory) -> Learner:
    """The learner of a run, from its newest sound step on."""
    config = load_config(directory)
    source, target = load_fields(directory, config)
    network = new_network(config, source, target)
    corpus = Corpus.open(directory.cache_directory / "train")
    learner = Learner(config, network, corpus, task_of(config).masking(config, target))
    learner.resume(directory)
    return learner
