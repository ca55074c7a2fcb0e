"""Search algorithms: every search drives every decoder."""

from typing import TYPE_CHECKING

from seqloom.deferred import deferred_names

if TYPE_CHECKING:
    from seqloom.config.searches import RANKINGS, SEARCHES, PartOption, option
    from seqloom.search.batch_join import drop_finished, join_frontiers
    from seqloom.search.frontier import Frontier
    from seqloom.search.hypothesis import Hypothesis
    from seqloom.search.limits import (
        ForbiddenPhrases,
        Limits,
        NoRepeat,
        PathHistory,
        Phrase,
        Prefix,
        RequiredPhrases,
        Rule,
    )
    from seqloom.search.manual import SearchRow, search_rows
    from seqloom.search.methods import (
        Beam,
        BestPath,
        Completions,
        DiverseBeam,
        Exact,
        Exhaustive,
        Greedy,
        MinimumRisk,
        PatientBeam,
        PrefixBeam,
        Sample,
        StochasticBeam,
        TextbookBeam,
        Utility,
        pairwise_chrf,
    )
    from seqloom.search.protocol import Search, SearchDefaults, SearchState, run_to_end
    from seqloom.search.ranking import PER_TOKEN, PLAIN, OutputRanking, Ranking
    from seqloom.search.stable_prefix import StableToken, stable_tokens
    from seqloom.search.tree import Fate, SearchNode, search_trees
else:
    __getattr__ = deferred_names(__name__)

__all__ = [
    "PER_TOKEN",
    "PLAIN",
    "RANKINGS",
    "SEARCHES",
    "Beam",
    "BestPath",
    "Completions",
    "DiverseBeam",
    "Exact",
    "Exhaustive",
    "Fate",
    "ForbiddenPhrases",
    "Frontier",
    "Greedy",
    "Hypothesis",
    "Limits",
    "MinimumRisk",
    "NoRepeat",
    "OutputRanking",
    "PartOption",
    "PathHistory",
    "PatientBeam",
    "Phrase",
    "Prefix",
    "PrefixBeam",
    "Ranking",
    "RequiredPhrases",
    "Rule",
    "Sample",
    "Search",
    "SearchDefaults",
    "SearchNode",
    "SearchRow",
    "SearchState",
    "StableToken",
    "StochasticBeam",
    "TextbookBeam",
    "Utility",
    "drop_finished",
    "join_frontiers",
    "option",
    "pairwise_chrf",
    "run_to_end",
    "search_rows",
    "search_trees",
    "stable_tokens",
]
