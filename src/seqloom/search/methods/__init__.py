"""The searches, one file each, in the order in which help and choosers list them.

A file registers its search in SEARCHES when it is imported.
"""

# isort: off
from seqloom.search.methods.greedy import Greedy
from seqloom.search.methods.beam import Beam
from seqloom.search.methods.patience import PatientBeam
from seqloom.search.methods.textbook import TextbookBeam
from seqloom.search.methods.diverse import DiverseBeam
from seqloom.search.methods.stochastic import StochasticBeam
from seqloom.search.methods.sample import Sample
from seqloom.search.methods.minimum_risk import MinimumRisk, Utility, pairwise_chrf
from seqloom.search.methods.exact import Exact
from seqloom.search.methods.exhaustive import Exhaustive
from seqloom.search.methods.completions import Completions
# isort: on

__all__ = [
    "Beam",
    "Completions",
    "DiverseBeam",
    "Exact",
    "Exhaustive",
    "Greedy",
    "MinimumRisk",
    "PatientBeam",
    "Sample",
    "StochasticBeam",
    "TextbookBeam",
    "Utility",
    "pairwise_chrf",
]
