"""S9: the beam's tree with its pruned branches, and what was noted beside each token."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from seqloom.fields import END, START
from seqloom.model import Memory
from seqloom.search import (
    Beam,
    DiverseBeam,
    Frontier,
    Greedy,
    Ranking,
    Sample,
    SearchNode,
    StochasticBeam,
    search_trees,
)
from tests.search.stubs import Script, Scripted, limits, logarithms, random_script, search_all


def searched(search: Any, script: Script, longest: list[int], *, noted: int) -> Frontier:
    """Where a search stands in the end."""
    decoder = Scripted(script)
    allowed = replace(limits(longest), n_alternatives=noted)
    frontier: Frontier = search.begin(decoder.start(Memory(len(longest))), allowed)
    while not frontier.done:
        frontier = search.advance(decoder, frontier)
    return frontier


def path(tree: list[SearchNode], node: SearchNode) -> tuple[int, ...]:
    tokens = []
    while node.parent is not None:
        tokens.append(node.token)
        node = tree[node.parent]
    return tuple(reversed(tokens))


def test_the_tree_of_a_worked_case() -> None:
    """After "he", nose .5 and knows .4 (S10): a beam of two drops "nose" one step later."""
    nose, knows, first, second = 4, 5, 6, 7

    def script(_: int, written: tuple[int, ...]) -> list[float]:
        table = {
            (): {nose: 0.5, knows: 0.4, first: 0.1},
            (nose,): {first: 0.2, second: 0.15, nose: 0.65},
            (knows,): {first: 0.8, second: 0.2},
        }
        return logarithms(table.get(written, {END: 1.0}), size=8)

    search = Beam(2, Ranking())
    frontier = searched(search, script, [4], noted=2)
    (tree,) = search_trees(frontier, search.results(frontier))
    found = {path(tree, node): (node.fate, round(math.exp(node.total), 9)) for node in tree}
    assert found == {
        (): ("kept", 1.0),
        (nose,): ("kept", 0.5),
        (knows,): ("kept", 0.4),
        (nose, nose): ("kept", 0.325),
        (nose, first): ("pruned", 0.1),
        (knows, first): ("kept", 0.32),
        (knows, second): ("pruned", 0.08),
        (nose, nose, END): ("winner", 0.325),
        (knows, first, END): ("finished", 0.32),
    }
    assert tree[0] == SearchNode(0, None, START, 0.0, 0.0, "kept")


@pytest.mark.parametrize(
    "search",
    [
        Greedy(),
        Beam(1),
        Beam(3, n_best=2),
        DiverseBeam(4, 2, n_best=2),
        StochasticBeam(3),
        Sample(draws=2),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("number", range(5))
def test_a_tree_agrees_with_its_outputs(number: int, search: Any) -> None:
    """Every output is a way from the root, its scores on it; the first is the winner's."""
    script = random_script(number, size=7, levels=30, impossible=0.1)
    frontier = searched(search, script, [5, 2, 4], noted=3)
    results = search.results(frontier)
    for tree, outputs in zip(search_trees(frontier, results), results, strict=True):
        assert [node.number for node in tree] == list(range(len(tree)))
        assert all(node.parent < node.number for node in tree if node.parent is not None)
        ways = {path(tree, node): node for node in tree if node.fate != "pruned"}
        for output in outputs:
            written = (*output.tokens, *([END] if output.finished else []))
            assert ways[written].total == pytest.approx(output.score)
        fates = Counter(node.fate for node in tree)
        assert fates["winner"] == 1
        winner = next(node for node in tree if node.fate == "winner")
        best = outputs[0]
        assert path(tree, winner) == (*best.tokens, *([END] if best.finished else []))
        for node in tree:
            if node.fate == "pruned":
                assert not any(other.parent == node.number for other in tree)


@pytest.mark.parametrize("number", range(5))
def test_what_is_noted_beside_each_token(number: int) -> None:
    """The likeliest tokens of each step with the model's log-probabilities, the best first."""
    script = random_script(number, size=8, levels=1_000)
    plain = search_all(Beam(3, n_best=3), script, [5, 3])
    noted = search_all(Beam(3, n_best=3), script, replace(limits([5, 3]), n_alternatives=4))
    for sentence, (outputs, others) in enumerate(zip(noted, plain, strict=True)):
        assert [each.tokens for each in outputs] == [each.tokens for each in others]
        assert all(each.alternatives == () for each in others)
        for each in outputs:
            assert len(each.alternatives) == len(each.token_scores)
            written = (*each.tokens, *([END] if each.finished else []))
            for step, best in enumerate(each.alternatives):
                logits = script(sentence, written[:step])
                norm = math.log(sum(math.exp(value) for value in logits))
                words = sorted((1, *range(3, 8)), key=lambda token: -logits[token])[:4]
                assert [token for token, _ in best] == words
                assert [score for _, score in best] == pytest.approx(
                    [logits[word] - norm for word in words]
                )
                if written[step] in words:
                    assert dict(best)[written[step]] == pytest.approx(each.token_scores[step])


def test_only_what_is_possible_is_noted() -> None:
    def script(_: int, written: tuple[int, ...]) -> list[float]:
        return logarithms({END: 0.5, 4: 0.5}, size=8)

    ((best,),) = search_all(Greedy(), script, replace(limits([3]), n_alternatives=5))
    assert [token for token, _ in best.alternatives[0]] == [END, 4]
