"""S9: a beam's tree with its branches and its winner, against the exact optimum."""

from pathlib import Path

import pytest

from seqloom.drawing.trees import layout_tree
from seqloom.errors import DataError
from seqloom.explain import text_of, write
from seqloom.explanations.trees import BeamTree, SearchOutcome, beam_tree
from seqloom.prediction import Branch
from tests.explain.pictures import texts
from tests.prediction.untrained import untrained

HE = BeamTree(
    (
        Branch(0, None, "<start>", 0.0, 0.0, "kept"),
        Branch(1, 0, "nose", -0.69, -0.69, "kept"),
        Branch(2, 0, "knows", -0.92, -0.92, "pruned"),
        Branch(3, 1, "it", -1.61, -2.3, "winner"),
    ),
    "he nose",
    1,
    SearchOutcome("he nose it", -2.3, -2.3),
    SearchOutcome("he knows her", -1.14, -1.14),
    proved=True,
)


def test_a_tree_in_words() -> None:
    """S10: greedy search takes the likelier word and misses the better sentence."""
    assert text_of(HE).splitlines() == [
        "<start>",
        "├─ nose -0.69 ←",
        "│  └─ ★it -2.30 ←",
        "└─ ×knows -0.92",
        "",
        "← the way to the winner ★   ■ ended   × dropped   (log-probability of the path)",
        "the beam missed a better output: 'he knows her' with -1.140 against -2.300",
    ]
    assert HE.has_search_error
    assert HE.best_path() == {0, 1, 3}


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("width", [1, 4])
def test_scores_add_up_along_every_path(kind: str, width: int) -> None:
    """A path's total is that of its parent and its own; the way to the winner is the output."""
    model = untrained(kind)
    tree = beam_tree(model, "abc", width=width, expansions=200)
    for branch in tree.branches[1:]:
        assert branch.parent is not None
        above = tree.branches[branch.parent]
        assert branch.total == pytest.approx(above.total + branch.log_probability)
    path = sorted(tree.best_path())[1:]
    words = [tree.branches[number].text for number in path if tree.branches[number].text != "<end>"]
    assert "".join(words).replace("␣", " ") == tree.winner.text
    assert tree.branches[path[-1]].total == pytest.approx(tree.winner.score, abs=1e-6)
    assert not tree.winner.ended or tree.optimum.rank >= tree.winner.rank - 1e-9


def test_the_optimum_is_the_same_whatever_the_beam() -> None:
    """And no beam's output that ends ranks above it."""
    model = untrained("transformer")
    trees = [beam_tree(model, "a", width=width) for width in (1, 8)]
    assert all(tree.proved for tree in trees)
    assert trees[0].optimum == trees[1].optimum
    assert all(not t.winner.ended or t.winner.rank <= t.optimum.rank + 1e-9 for t in trees)


def test_a_tree_is_drawn_with_its_words_and_probabilities(tmp_path: Path) -> None:
    write(HE, tmp_path / "tree.svg", title="")
    assert set(texts(tmp_path / "tree.svg")) >= {"<start>", "nose", "×1", "★ it", "50 %", "20 %"}
    assert HE.as_dict()["missed"]


def test_a_blank_input_has_no_tree() -> None:
    with pytest.raises(DataError, match="blank"):
        beam_tree(untrained(), " ")


def test_every_path_has_a_lane_of_its_own() -> None:
    """In each step no two paths share one, and the way to the winner is the first."""
    tree = beam_tree(untrained("transformer"), "abc", width=4, expansions=200)
    places = layout_tree(tree.children(), tree.best_path())
    kept = {each.number for each in tree.branches if each.fate != "pruned"}
    assert set(places) == kept
    assert len(set(places.values())) == len(places)
    assert all(places[number][1] == 0 for number in tree.best_path())
    for number in kept - {0}:
        parent = tree.branches[number].parent
        assert parent is not None
        assert places[number][0] == places[parent][0] + 1
    assert max(lane for _, lane in places.values()) < 4
