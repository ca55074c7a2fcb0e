"""From distributions to outputs: every search drives every decoder."""

from seqloom.search.batch_join import drop_finished, join_frontiers, joins_before_first_step
from seqloom.search.beam import Beam
from seqloom.search.completions import Completions
from seqloom.search.constraints import RequiredPhrases
from seqloom.search.diverse import DiverseBeam
from seqloom.search.exact import Exact
from seqloom.search.frontier import Frontier
from seqloom.search.greedy import Greedy
from seqloom.search.limits import Limits
from seqloom.search.minimum_risk import MinimumRisk, Utility, pairwise_chrf
from seqloom.search.patience import PatientBeam
from seqloom.search.protocol import Search, SearchState, run_to_end
from seqloom.search.ranking import PER_TOKEN, PLAIN, Ranking
from seqloom.search.results import Hypothesis
from seqloom.search.rules import ForbiddenPhrases, NoRepeat, PathHistory, Phrase, Prefix, Rule
from seqloom.search.sample import Sample
from seqloom.search.stable_prefix import StableToken, stable_tokens
from seqloom.search.stochastic import StochasticBeam
from seqloom.search.tree import Fate, SearchNode, search_trees

__all__ = [
    "PER_TOKEN",
    "PLAIN",
    "Beam",
    "Completions",
    "DiverseBeam",
    "Exact",
    "Fate",
    "ForbiddenPhrases",
    "Frontier",
    "Greedy",
    "Hypothesis",
    "Limits",
    "MinimumRisk",
    "NoRepeat",
    "PathHistory",
    "PatientBeam",
    "Phrase",
    "Prefix",
    "Ranking",
    "RequiredPhrases",
    "Rule",
    "Sample",
    "Search",
    "SearchNode",
    "SearchState",
    "StableToken",
    "StochasticBeam",
    "Utility",
    "drop_finished",
    "join_frontiers",
    "joins_before_first_step",
    "pairwise_chrf",
    "run_to_end",
    "search_trees",
    "stable_tokens",
]
