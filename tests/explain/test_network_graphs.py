"""S9: the net as a graph, rolled and unrolled; every edge leads somewhere."""

from pathlib import Path

import pytest

from seqloom.drawing.views import text_of, write
from seqloom.explain.compute.network_graphs import NetworkGraph, architecture_graph, unroll_graph
from seqloom.explain.compute.tracing import trace_output
from seqloom.tasks import explain_output
from tests.explain.kinds import case
from tests.explain.pictures import texts
from tests.explain.tiny_models import KINDS, PAIR, named


def counts(net: NetworkGraph) -> dict[str, int]:
    kinds = [edge.kind for edge in net.edges]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


@pytest.mark.parametrize("kind", KINDS)
def test_every_edge_leads_from_a_node_to_a_node(kind: str) -> None:
    """And what is written can be reached from what was read."""
    model = named(kind)
    for net in (architecture_graph(model), unroll_graph(model, trace_output(model, PAIR))):
        names = [node.name for node in net.nodes]
        assert len(names) == len(set(names))
        assert {edge.begin for edge in net.edges} | {edge.end for edge in net.edges} <= set(names)
        reached = {"decoder symbols", "decoder 0"}
        for _ in names:
            reached |= {edge.end for edge in net.edges if edge.begin in reached}
        assert reached & {"output", "output 3"}


def test_a_deep_bidirectional_net_by_its_numbers() -> None:
    """Two layers of two directions over five symbols: 2 · 2 · 4 steps; two over four: 2 · 3."""
    model = named("deep both")
    net = unroll_graph(model, trace_output(model, PAIR))
    found = counts(net)
    assert found["time"] == 2 * 2 * 4 + 2 * 3
    assert found["up"] == 2 * 5 + 3 * 4
    assert found["feedback"] == 3
    assert counts(architecture_graph(model))["time"] == 4


def test_a_transformer_meets_all_before_and_all_around() -> None:
    """Two blocks: each position of five at four others, each of four at those before it."""
    model = named("after sinusoids")
    assert counts(unroll_graph(model, trace_output(model, PAIR)))["meet"] == 2 * (5 * 4 + 6)


def test_a_gap_is_told_by_what_is_around_it(tmp_path: Path) -> None:
    """No position is shown itself: what stands before it and after it leads to its token."""
    model, cell = case("gaps", tmp_path)
    assert "output [a token for each gap]" in text_of(architecture_graph(model.network))
    net = unroll_graph(model.network, trace_output(model.network, explain_output(model, cell)))
    names = [node.name for node in net.nodes]
    assert len(names) == len(set(names))
    assert {(edge.begin[-1], edge.end) for edge in net.edges if edge.end.startswith("output")} == {
        ("0", "output 1"), ("2", "output 1"), ("2", "output 3"), ("4", "output 3"),
    }  # fmt: skip


def test_a_net_is_drawn_with_its_labels(tmp_path: Path) -> None:
    model = named("lstm form e")
    write(architecture_graph(model), tmp_path / "net.svg", title="")
    shown = set(texts(tmp_path / "net.svg"))
    assert shown >= {"source", "token vectors", "LSTM of 7", "attention", "probabilities"}
    net = unroll_graph(model, trace_output(model, PAIR))
    write(net, tmp_path / "net.svg", title="")
    assert set(texts(tmp_path / "net.svg")) >= {*PAIR.source, *PAIR.target}
    assert "decoder layers.0 0 [LSTM]" in text_of(net)
