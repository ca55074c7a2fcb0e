"""S9: the net as a graph, rolled and unrolled: an edge is drawn exactly where changing its tail
changes its head."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.drawing.views import text_of, write
from seqloom.explain.plots.network_graphs import box_diagram
from seqloom.explanations.explained_output import ExplainedLabels, ExplainedOutput, ExplainedText
from seqloom.explanations.network_graphs import NetworkGraph, architecture_graph
from seqloom.explanations.switches import GateSwitch, HeadSwitch, find_silenced_parts, switch_off
from seqloom.explanations.tracing import trace_output
from seqloom.explanations.unrolled_graph import SeenStep, unroll_graph
from seqloom.model import FIRST_TAG, CTCDecoder, Network, SequenceModel, Source
from seqloom.model.connections import SOURCE, NodeStep
from seqloom.tasks import explain_output
from tests.explain.kinds import KINDS as PREDICTORS
from tests.explain.kinds import case
from tests.explain.pictures import texts
from tests.explain.tiny_models import KINDS, PAIR, named
from tests.model.models import NAMED, model_of
from tests.model.network_cuts import run_cut

DRAWS = 2
Pair = tuple[str, str]
FORMS = {
    "a": "lstm form a", "b": "lstm form b", "c": "lstm form c", "d": "lstm form d",
    "e": "lstm form e", "f": "lstm form f", "g": "lstm reads and writes",
}  # fmt: skip
# What can be read in an edge without a gradient: a token, an id or a position.
SYMBOLS = ("feedback", "positions")


def unrolled(network: Network, said: ExplainedOutput) -> NetworkGraph:
    return unroll_graph(network, trace_output(network, said))


def cut_edges(network: Network, said: ExplainedOutput) -> set[tuple[NodeStep, NodeStep]]:
    """The edges along which gradients flow in the model itself, for some weights and values."""
    found = set()
    tokens = said.target_ids if isinstance(said, ExplainedText) else ()
    if said.inputs and isinstance(said, ExplainedLabels):
        tokens = tuple(tag + FIRST_TAG - 1 for tag in said.target_ids)
    source = said.source_batch()
    kind = next(network.parameters()).dtype
    for draw in range(DRAWS):
        torch.manual_seed(draw)
        values = source.values
        if said.feature_groups is not None:  # numbers, to which gradients flow
            values = values.to(kind) + torch.rand(values.shape, dtype=kind)
        cuts = run_cut(network, Source(values, source.lengths), torch.tensor([tokens]))
        found |= set(cuts.edges())
    return found


def check_law(network: Network, said: ExplainedOutput, net: NetworkGraph | None = None) -> None:
    """The drawn edges that carry vectors and count are those of the cut network; what is not drawn
    reaches no output."""
    net = net or unrolled(network, said)
    by = {value: node.name for node in net.nodes for value in node.stands_for}
    found = cut_edges(network, said)
    expected = {(by[tail], by[head]) for tail, head in found if tail in by and head in by}
    expected -= {(name, name) for name in by.values()}
    symbols = {
        node.name
        for node in net.nodes
        if said.feature_groups is None and {part for part, _ in node.stands_for} == {SOURCE}
    }
    if isinstance(network.decoder, CTCDecoder):  # it reads ids, which tests/model changes
        symbols |= {node.name for node in net.nodes if node.name.startswith("decoder.input")}
    without = SYMBOLS if network.head is None or said.inputs else ("positions",)
    drawn = {
        (edge.begin, edge.end)
        for edge in net.edges
        if edge.kind not in without and edge.begin not in symbols and edge.counts
    }
    assert expected == drawn - _asks_in_vain(net)
    _check_hidden(net, found)


def _asks_in_vain(net: NetworkGraph) -> set[Pair]:
    """Queries of attention that sees one position only: its weight is 1 whatever they ask."""
    seen: dict[str, int] = {}
    for edge in net.edges:
        if edge.kind == "attention":
            seen[edge.end] = seen.get(edge.end, 0) + 1
    return {
        (edge.begin, edge.end)
        for edge in net.edges
        if edge.end.startswith("decoder.attention")
        and edge.kind != "attention"
        and seen.get(edge.end) == 1
    }


def _check_hidden(net: NetworkGraph, found: set[tuple[NodeStep, NodeStep]]) -> None:
    """No value that is left out of a whole drawing counts for an output."""
    if net.gaps:
        return
    shown = {value for node in net.nodes for value in node.stands_for}
    outputs = {value for node in net.nodes if node.kind == "output" for value in node.stands_for}
    before = set(outputs)
    while more := {tail for tail, head in found if head in before} - before:
        before |= more
    assert before <= shown


@pytest.mark.parametrize("kind", sorted({*FORMS.values(), *KINDS}))
def test_an_edge_is_drawn_exactly_where_its_tail_counts(kind: str) -> None:
    check_law(named(kind), PAIR)


WRITER = "decoder layer 1 forward"
SWITCHES: dict[str, tuple[str, list[HeadSwitch | GateSwitch]]] = {
    "a head": ("after sinusoids", [HeadSwitch("cross", 1, 1)]),
    "every head": ("after sinusoids", [HeadSwitch("cross", 1, n) for n in (1, 2)]),
    "every head of an encoder": ("after sinusoids", [HeadSwitch("encoder", 1, n) for n in (1, 2)]),
    "input gate": ("lstm form e", [GateSwitch(WRITER, "input")]),
    "output gate": ("lstm form e", [GateSwitch(WRITER, "output")]),
    "every gate": ("lstm form e", [GateSwitch(WRITER, n) for n in ("input", "forget", "output")]),
    "reset gate": ("gru-take form everything", [GateSwitch(WRITER, "reset")]),
    "every update": ("gru-take form everything", [GateSwitch(WRITER, "update")]),
}  # fmt: skip


@pytest.mark.parametrize("name", SWITCHES)
def test_the_law_holds_with_parts_off(name: str) -> None:
    """An edge counts exactly where its tail still changes its head, and its node says what is
    off."""
    kind, switches = SWITCHES[name]
    changed = switch_off(named(kind), switches)
    silenced = find_silenced_parts(changed, switches)
    net = unroll_graph(changed, trace_output(changed, PAIR), silenced=silenced)
    check_law(changed, PAIR, net)
    assert {node.off for node in net.nodes} - {""} == set(silenced.names.values())
    if name.startswith("every"):
        assert not all(edge.counts for edge in net.edges)


@pytest.mark.parametrize("kind", ["lstm form e", "backwards affine", "lstm reads and writes"])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_step_that_must_be_seen_is_drawn(kind: str, side: str) -> None:
    """Of a long side seven steps, this one and its neighbours among them, and no fewer edges into
    it than where all is drawn."""
    count = 14
    ids = tuple(4 + n % 4 for n in range(count - 1))
    said = ExplainedText(
        (*"abcdefghijklm", "<end>"),
        (*"nopqrstuvwxyz", "<end>"),
        np.array([*ids, 3], np.int32),
        target_ids=(*ids, 3),
    )
    network = named(kind)
    trace = trace_output(network, said)
    name = "encoder.source" if side == "encoder" else "decoder.output"
    for step in (0, 2, 7, 13):
        net = unroll_graph(network, trace, seen=SeenStep(side, step))
        shown = {at for node in net.nodes for part, at in node.stands_for if part == name}
        assert {step, 0, count - 1} <= shown
        assert len(shown) == 7
        columns = sorted(node.x for node in net.nodes if (name, step) in node.stands_for)
        assert len(columns) == 1


@pytest.mark.parametrize("kind", PREDICTORS)
def test_the_law_holds_for_every_kind_of_source_and_target(kind: str, tmp_path: Path) -> None:
    """Heads, blanks, forecasts, language models, and front ends of pictures, sound and video."""
    model, cell = case(kind, tmp_path)
    check_law(model.network, explain_output(model, cell))


READERS = ["lstm form b", "backwards affine", "plain sinusoids", "lstm reads and writes",
           "gru-after form soft-summed"]  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_a_symbol_is_drawn_where_changing_it_changes_what_is_read(kind: str) -> None:
    """Another item of the source, or another output, changes exactly the inputs drawn from it."""
    network = named(kind)
    net = unrolled(network, PAIR)
    by = {value: node.name for node in net.nodes for value in node.stands_for}
    reads = {(edge.begin, edge.end) for edge in net.edges} | {(n, n) for n in by.values()}
    source, tokens = PAIR.source_batch(), torch.tensor([PAIR.target_ids])

    def inputs(values: torch.Tensor, output: torch.Tensor) -> dict[NodeStep, torch.Tensor]:
        cuts = run_cut(network, Source(values, source.lengths), output)
        return {
            at: each[-1].detach() for at, each in cuts.values.items() if at[0].endswith(".input")
        }

    before = inputs(source.values, tokens)
    for position in range(source.values.shape[1]):
        other = source.values.clone()
        other[0, position] = 8 if position < 4 else 4
        after = inputs(other, tokens)
        changed = {at for at in before if not torch.equal(before[at], after[at])}
        tail = by["encoder.source", position]
        assert {at for at in before if (tail, by[at]) in reads and at[0] == "encoder.input"} == {
            at for at in changed if at[0] == "encoder.input"
        }
    for step in range(tokens.shape[1] - 1):
        other = tokens.clone()
        other[0, step] = 6
        after = inputs(source.values, other)
        changed = {at for at in before if not torch.equal(before[at], after[at])}
        tail = by["decoder.output", step]
        drawn = {at for at in before if (tail, by[at]) in reads}
        soft = "soft" in kind  # the distribution is read in place of the token
        assert changed == (set() if soft else drawn)


def test_each_decoder_form_has_edges_of_its_own() -> None:
    """S3.2: (a) to (g) are seven drawings, and what tells them apart is as the texts say."""
    nets = {form: unrolled(named(kind), PAIR) for form, kind in FORMS.items()}
    edges = {
        form: frozenset((edge.begin, edge.end, edge.kind) for edge in net.edges)
        for form, net in nets.items()
    }
    assert len(set(edges.values())) == len(FORMS)
    assert "feedback" not in kinds(nets["a"])
    assert not any(node.name.startswith("decoder.input") for node in nets["a"].nodes)
    assert kinds(nets["b"])["feedback"] == 3
    assert kinds(nets["b"])["initial"] == 1
    into = [edge.end for edge in nets["c"].edges if edge.begin == "encoder.code 0"]
    assert sorted(into) == [f"decoder.layers.0 {t}" for t in range(4)]
    into = [edge.end for edge in nets["d"].edges if edge.begin == "encoder.code 0"]
    assert {f"decoder.readout {t}" for t in range(4)} < set(into)
    assert kinds(nets["e"])["attention"] == 5 * 4
    into = [edge.end for edge in nets["f"].edges if edge.begin == "encoder.code 0"]
    assert into == ["decoder.layers.0 0"]
    chain = [edge for edge in nets["g"].edges if edge.kind == "time"]
    assert len(chain) == 5 + 4 - 1
    assert "encoder.code 0" not in {node.name for node in nets["g"].nodes}


def kinds(net: NetworkGraph) -> dict[str, int]:
    found = [edge.kind for edge in net.edges]
    return {kind: found.count(kind) for kind in set(found)}


def test_a_zero_first_state_is_drawn_without_a_code() -> None:
    """S3.1: an attention decoder that starts from zero has nothing of the code."""
    network = model_of(NAMED["lstm from zero"], source_size=9, target_size=9)
    net = unrolled(network, PAIR)
    assert not any(node.kind == "code" for node in net.nodes)
    assert kinds(net)["attention"] == 20


def test_a_reversed_source_is_drawn_as_it_is_read() -> None:
    """From left to right d c b a <end>, and time runs from left to right."""
    net = unrolled(named("backwards affine"), PAIR)
    row = sorted((n.x, n.label) for n in net.nodes if n.name.startswith("encoder.source"))
    assert [label for _, label in row] == ["d", "c", "b", "a", "<end>"]


def test_a_block_is_drawn_with_positions_attention_norm_and_network() -> None:
    """S5.4, rolled: the labels say what each residual step is, and where its norm is."""
    labels = {node.label for node in architecture_graph(named("after sinusoids")).nodes}
    assert {"positions", "self-attention, 2 heads, add and norm"} <= labels
    assert {"cross-attention, 2 heads, add and norm", "feed-forward of 10, add and norm"} <= labels
    first = {node.label for node in architecture_graph(named("gated rotary")).nodes}
    assert {"norm, self-attention, 2 heads, add", "norm"} <= first


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_do_not_overlap_and_every_edge_leads_from_one_to_another(kind: str) -> None:
    model = named(kind)
    for net in (architecture_graph(model), unrolled(model, PAIR)):
        names = {node.name for node in net.nodes}
        assert len(names) == len(net.nodes)
        assert {edge.begin for edge in net.edges} | {edge.end for edge in net.edges} <= names
        diagram = box_diagram(net)
        boxes = list(diagram.boxes.values())
        for number, box in enumerate(boxes):
            for other in boxes[:number]:
                (x, y), (u, v) = diagram.centre(box), diagram.centre(other)
                apart = diagram.half_width(box) + diagram.half_width(other)
                assert abs(x - u) > apart or abs(y - v) > 0.4


def test_lines_run_through_no_box() -> None:
    """Corners and the middles between them lie outside of all boxes but those at the ends."""
    for kind in (*FORMS.values(), "residual both", "after sinusoids", "both backward"):
        diagram = box_diagram(unrolled(named(kind), PAIR))
        for arrow in diagram.arrows:
            points, curve = diagram.path(arrow)
            line = points[:-2] if curve else points
            for (x, y), (u, v) in itertools.pairwise(line):
                for share in (0.25, 0.5, 0.75):
                    at = x + share * (u - x), y + share * (v - y)
                    inside = [
                        name
                        for name, box in diagram.boxes.items()
                        if name not in (arrow.begin, arrow.end)
                        and abs(diagram.centre(box)[0] - at[0]) < diagram.half_width(box)
                        and abs(diagram.centre(box)[1] - at[1]) < 0.14
                    ]
                    assert inside == [], (kind, arrow)


def test_long_sides_are_cut_in_the_middle() -> None:
    """The first and the last steps stay, so that the code is drawn from where it comes."""
    ids = [4 + n % 5 for n in range(30)]
    said = ExplainedText(
        tuple(map(str, ids)), PAIR.target, torch.tensor([*ids]).int().numpy(),
        target_ids=PAIR.target_ids,
    )  # fmt: skip
    net = unrolled(named("lstm form b"), said)
    assert len([n for n in net.nodes if n.name.startswith("encoder.source")]) == 9
    assert ("encoder.layers.0 29", "encoder.code 0") in {(e.begin, e.end) for e in net.edges}
    assert net.gaps


def test_a_net_is_drawn_with_its_labels_and_told_in_words(tmp_path: Path) -> None:
    model: SequenceModel = named("lstm form e")
    write(architecture_graph(model), tmp_path / "net.svg", title="")
    shown = set(texts(tmp_path / "net.svg"))
    assert shown >= {"source · embedding of 6", "LSTM of 7", "attention", "output"}
    net = unrolled(model, PAIR)
    write(net, tmp_path / "net.svg", title="")
    assert set(texts(tmp_path / "net.svg")) >= {*PAIR.source, *PAIR.target, "attended to, context"}
    told = text_of(net)
    assert "decoder readout ← decoder LSTM of 7, decoder attention (context)" in told
    assert "code z* at t=0 (initial)" in " ".join(told.split())
