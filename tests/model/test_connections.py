"""S3.2, S4, S5: the edges of a drawing are those of the computation, in every form."""

import pytest
import torch

from seqloom.fields import END
from seqloom.model import unroll
from seqloom.model.connections import Connections, NodeStep

LENGTH, STEPS, DRAWS = 4, 3, 3
Edge = tuple[NodeStep, NodeStep]


def drawn_edges(connections: Connections) -> set[Edge]:
    return unroll(connections, source=LENGTH, target=STEPS)


def is_discrete(connections: Connections, edge: Edge) -> bool:
    """Whether an edge is a token or an id, through which no gradient passes."""
    (tail, _), (head, _) = edge
    kinds = {each.kind for each in connections.into(head) if each.tail == tail}
    return tail == "encoder.source" or bool(kinds & {"feedback", "positions"})


@pytest.mark.parametrize("name", [])
def test_an_edge_is_drawn_exactly_where_a_value_is_computed_from_another(name: str) -> None:
    torch.manual_seed(1)
    assert END
