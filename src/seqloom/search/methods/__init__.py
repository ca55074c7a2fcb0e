"""The search algorithms, one file each; `seqloom.config.searches` declares their options.

A file registers its search in SEARCHES when it is imported.
"""

from seqloom.search.methods.beam import Beam
from seqloom.search.methods.best_path import BestPath
from seqloom.search.methods.completions import Completions
from seqloom.search.methods.diverse import DiverseBeam
from seqloom.search.methods.exact import Exact
from seqloom.search.methods.exhaustive import Exhaustive
from seqloom.search.methods.greedy import Greedy
from seqloom.search.methods.minimum_risk import MinimumRisk, Utility, pairwise_chrf
from seqloom.search.methods.patience import PatientBeam
from seqloom.search.methods.prefix_beam import PrefixBeam
from seqloom.search.methods.sample import Sample
from seqloom.search.methods.stochastic import StochasticBeam
from seqloom.search.methods.textbook import TextbookBeam

__all__ = [
    "Beam",
    "BestPath",
    "Completions",
    "DiverseBeam",
    "Exact",
    "Exhaustive",
    "Greedy",
    "MinimumRisk",
    "PatientBeam",
    "PrefixBeam",
    "Sample",
    "StochasticBeam",
    "TextbookBeam",
    "Utility",
    "pairwise_chrf",
]
