"""S3.2, S4, S5: an edge is drawn exactly where a value is computed from another, in every form."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from seqloom.config import ModelConfig
from seqloom.fields import END, START, Numbers, Symbols
from seqloom.model import Memory, SequenceModel, Source, build, unroll
from seqloom.model.connections import STATES, Connections, NodeStep
from tests.counts import count
from tests.model.ctc_models import case as ctc_case
from tests.model.models import FORMS, NAMED, model_of, recurrent, transformer
from tests.model.network_cuts import direct_edges

LENGTH, STEPS, DRAWS = 4, 3, 2
ATTENTION = "decoder.attention"
Edge = tuple[NodeStep, NodeStep]

# Forms (a) to (f), reading and writing in one network (g), and every kind of Transformer; in full
# every model that a configuration can ask for.
FEW = [
    *(f"lstm form {form}" for form in FORMS),
    *("lstm reads and writes", "gru from copy", "elman from learnt", "ssru alone"),
    *("general causal previous", "additive local fed", "dot local-bell output-fed"),
    *("general local-predicted current", "general local-causal previous"),
    *("residual both", "both backward", "backwards affine", "lstm to gru"),
    *("plain sinusoids", "after none", "ssru learned", "simple one-hot", "gated rotary reads"),
    *("ssru none reads", "plain joint alone", "backwards transformer", "lstm to transformer"),
    *("transformer to form everything", "vectors to transformer"),
]
CASES = [FEW, [name for name in NAMED if "relu" not in name]][count(0, 1)]


def found_edges(model: SequenceModel) -> set[Edge]:
    """The edges along which gradients flow, for some sentences and outputs."""
    found: set[Edge] = set()
    for _ in range(DRAWS):
        source = torch.randint(END + 1, 9, (1, LENGTH))
        source[0, -1] = END
        output = torch.randint(END + 1, 7, (1, STEPS))
        found |= direct_edges(model, Source(source, torch.tensor([LENGTH])), output)
    return found


def carries_gradients(connections: Connections, edge: Edge) -> bool:
    """Whether an edge hands on a vector, and not a token, an id or a position."""
    (tail, _), (head, _) = edge
    kinds = {each.kind for each in connections.into(head) if each.tail == tail}
    return tail != "encoder.source" and not kinds & {"feedback", "positions"}


def asks_in_vain(edge: Edge, edges: set[Edge]) -> bool:
    """Whether a query sees one position only, whose weight is then 1 whatever it asks."""
    (tail, _), head = edge
    seen = [each for each in edges if each[1] == head and each[0][0] == STATES]
    return head[0] == ATTENTION and tail != STATES and len(seen) == 1


@pytest.mark.parametrize("name", CASES)
def test_an_edge_is_drawn_exactly_where_gradients_flow(name: str) -> None:
    """Both ways: nothing that is drawn is idle, and nothing that counts is left out.

    Where the window's centre is predicted, the drawing has every position that it may see.
    """
    torch.manual_seed(1)
    model = model_of(NAMED[name], source_size=9, target_size=7)
    connections = model.connections()
    edges = unroll(connections, source=LENGTH, target=STEPS)
    drawn = {each for each in edges if carries_gradients(connections, each)}
    drawn -= {each for each in drawn if asks_in_vain(each, edges)}
    found = found_edges(model)
    if "predicted" in name or "local-causal" in name:
        seen = {each for each in drawn if each[0][0] == STATES and each[1][0] == ATTENTION}
        assert found <= drawn
        assert {each for each in drawn - found if each[1][0] != ATTENTION} == set()
        assert found & seen
    else:
        assert found == drawn


@pytest.mark.parametrize("form", FORMS)
def test_the_previous_output_is_drawn_exactly_where_it_is_read(form: str) -> None:
    """Another token in its place changes the next step's features, or it is not drawn."""
    torch.manual_seed(2)
    model = model_of(NAMED[f"gru form {form}"], source_size=9, target_size=7)
    source = Source(torch.tensor([[4, 5, END]]), torch.tensor([3]))

    def features(token: int) -> Tensor:
        state = model.decoder.start(model.encoder.encode(source))
        _, state = model.decoder.read(torch.tensor([[2]]), state)
        return model.decoder.read(torch.tensor([[token]]), state)[0].hidden

    read = not torch.equal(features(4), features(5))
    kinds = {edge.kind for edge in model.connections().into("decoder.input")}
    assert read == ("feedback" in kinds)
    assert ("soft feedback" in kinds) == (form in ("soft", "soft-summed"))
    assert not (read and "soft feedback" in kinds)


POSITIONS = ["sinusoids", "appended", "one-hot", "learned", "joint", "rotary", "none"]


@pytest.mark.parametrize("where", POSITIONS)
def test_positions_are_drawn_exactly_where_the_order_of_the_source_matters(where: str) -> None:
    """Without them, a Transformer encoder's states are permuted as its source is."""
    torch.manual_seed(3)
    model = model_of(NAMED[f"plain {where}"], source_size=9, target_size=7)
    tokens, order = torch.tensor([[4, 5, 6, 7]]), torch.tensor([2, 0, 3, 1])
    lengths = torch.tensor([4])
    plain = model.encoder.encode(Source(tokens, lengths)).states
    turned = model.encoder.encode(Source(tokens[:, order], lengths)).states
    assert plain is not None
    assert turned is not None
    permuted = torch.allclose(plain[:, order], turned, rtol=0, atol=1e-12)
    kinds = {edge.kind for edge in model.encoder.connections().edges}
    assert ("positions" in kinds) == (not permuted)


def test_around_a_position_both_neighbours_are_drawn_and_not_itself() -> None:
    """By hand, of one layer: what is before is read forward, what is after backward."""
    config = recurrent({"direction": "around"}, {})
    blanks = ModelConfig.model_validate(
        {**config.model_dump(), "share_vocabulary": True, "decoder": {"kind": "blanks"}}
    )
    network = build(blanks, source=Symbols(9), target=Symbols(9))
    edges = unroll(network.encoder.connections(), source=3)
    into = {tail for tail, head in edges if head == (STATES, 1)}
    assert into == {("encoder.before.layers.0", 0), ("encoder.after.layers.0", 2)}
    time = {(tail[1], head[1]) for tail, head in edges if tail[0] == head[0]}
    assert time == {(0, 1), (1, 2), (2, 1), (1, 0)}


def test_a_source_that_is_read_backwards_keeps_its_end() -> None:
    """By hand: of `a b <end>`, b comes first, then a, then `<end>`."""
    model = model_of(NAMED["backwards affine"], source_size=9, target_size=7)
    order = model.encoder.order
    assert order.reading(3) == [1, 0, 2]
    assert order.states(3) == [0, 1, 2]
    forward = recurrent({"direction": "forward"}, {}, reverse_source=True)
    edges = unroll(model_of(forward, source_size=9, target_size=7).encoder.connections(), source=3)
    layer = "encoder.layers.0"
    time = {(tail[1], head[1]) for tail, head in edges if tail[0] == head[0] == layer}
    assert time == {(1, 0), (0, 2)}
    assert ((layer, 2), ("encoder.code", 0)) in edges


def test_blocks_are_drawn_by_their_residual_steps() -> None:
    """S5.4: self-attention, attention to the source, a network; each with its norm."""
    model = model_of(NAMED["plain sinusoids"], source_size=9, target_size=7)
    nodes = {node.name: node for node in model.connections().nodes}
    names = ("self-attention", "cross-attention", "feed-forward")
    assert {nodes[f"decoder.blocks.0.{name}"].norm for name in names} == {"first"}
    assert "encoder.blocks.0.cross-attention" not in nodes
    after = model_of(transformer({"norm": "after"}, {}), source_size=9, target_size=7)
    nodes = {node.name: node for node in after.connections().nodes}
    assert nodes["encoder.blocks.0.self-attention"].norm == "after"


HEADS = [({"kind": "label", "pool": pool}, Symbols(5), 1) for pool in ("code", "mean", "max")] + [
    ({"kind": "number"}, Numbers(1), 1),
    ({"kind": "tags"}, Symbols(5), LENGTH),
]


@pytest.mark.parametrize(("head", "target", "steps"), HEADS)
def test_a_head_is_drawn_with_what_it_reads(
    head: dict[str, str], target: Symbols | Numbers, steps: int
) -> None:
    """Its outputs have gradients from exactly the states, or the code, that its edges come from."""
    torch.manual_seed(4)
    config = {**recurrent({}, {}).model_dump(), "decoder": head}
    network = build(ModelConfig.model_validate(config), source=Symbols(9), target=target).double()
    assert network.head is not None
    memory = network.encoder.encode(Source(torch.tensor([[4, 5, 6, END]]), torch.tensor([LENGTH])))
    assert memory.states is not None
    assert memory.code is not None
    states, code = memory.states.detach().requires_grad_(), memory.code[0].detach().requires_grad_()
    outputs = network.head.eval()(replace(memory, states=states, code=(code,)))
    found = set()
    for step, output in enumerate(outputs.unbind(1)):
        weighted = (output * torch.randn_like(output)).sum()
        by_state, by_code = torch.autograd.grad(
            weighted, (states, code), allow_unused=True, retain_graph=True
        )
        tails = [] if by_state is None else by_state[0].ne(0).any(1).nonzero().flatten().tolist()
        found |= {((STATES, tail), ("head.output", step)) for tail in tails}
        found |= {(("encoder.code", 0), ("head.output", step))} if by_code is not None else set()
    edges = unroll(network.connections(), source=LENGTH, target=steps)
    drawn = {edge for edge in edges if edge[1][0] == "head.output"}
    assert found <= drawn
    assert found == drawn or head.get("pool") == "max"  # the largest may be at few positions


@torch.no_grad()
def test_of_ctc_every_symbol_before_and_every_step_are_drawn() -> None:
    """Another symbol in a prefix, or another state, changes exactly the outputs drawn from it."""
    model, _ = ctc_case(1)
    source = Source(torch.tensor([[4, 5, 6, 7, END]]), torch.tensor([5]))
    edges = unroll(model.connections(), source=5, target=STEPS)
    memory = model.encoder.encode(source)
    tokens = torch.tensor([[START, 4, 5]])

    def outputs(changed: Memory, prefix: Tensor) -> Tensor:
        features, _ = model.decoder.read(prefix, model.decoder.start(changed))
        return model.decoder.write(features.hidden).log_softmax(-1)[0]

    def reached(found: Tensor) -> set[int]:
        same = torch.isclose(found, before, rtol=0, atol=1e-12)
        return set((~same).any(1).nonzero().flatten().tolist())

    def drawn(tail: NodeStep) -> set[int]:
        return {head[1] for begin, head in edges if begin == tail and head[0] == "decoder.output"}

    before = outputs(memory, tokens)
    for step in range(1, STEPS):
        other = tokens.clone()
        other[0, step] = 1
        assert reached(outputs(memory, other)) == drawn(("decoder.input", step))
    assert memory.states is not None
    for position in range(5):
        states = memory.states.clone()
        states[0, position] += 1
        changed = outputs(replace(memory, states=states), tokens)
        assert reached(changed) == drawn((STATES, position))
