"""From distributions to outputs: every search drives every decoder."""

from seqloom.search.batch_join import joined, joins_unbegun, remaining
from seqloom.search.beam import Beam
from seqloom.search.completions import Completions
from seqloom.search.constraints import Required
from seqloom.search.diverse import DiverseBeam
from seqloom.search.exact import Exact
from seqloom.search.frontier import Frontier
from seqloom.search.greedy import Greedy
from seqloom.search.limits import Limits
from seqloom.search.minimum_risk import MinimumRisk, Utility, likeness
from seqloom.search.patience import PatientBeam
from seqloom.search.protocol import Search, Standing, run_to_end
from seqloom.search.ranking import PER_TOKEN, PLAIN, Ranking
from seqloom.search.results import Hypothesis
from seqloom.search.rules import Forbidden, NoRepeat, Phrase, Prefix, Rule, Written
from seqloom.search.sample import Sample
from seqloom.search.stable_prefix import Certain, agreed
from seqloom.search.stochastic import StochasticBeam
from seqloom.search.tree import Fate, Node, trees

__all__ = [
    "PER_TOKEN",
    "PLAIN",
    "Beam",
    "Certain",
    "Completions",
    "DiverseBeam",
    "Exact",
    "Fate",
    "Forbidden",
    "Frontier",
    "Greedy",
    "Hypothesis",
    "Limits",
    "MinimumRisk",
    "NoRepeat",
    "Node",
    "PatientBeam",
    "Phrase",
    "Prefix",
    "Ranking",
    "Required",
    "Rule",
    "Sample",
    "Search",
    "Standing",
    "StochasticBeam",
    "Utility",
    "Written",
    "agreed",
    "joined",
    "joins_unbegun",
    "likeness",
    "remaining",
    "run_to_end",
    "trees",
]
