"""S5.3, S10: positions as vectors, against the worked numbers and the formulas."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from seqloom.nn.positions import (
    AddedSinusoids,
    AppendedSinusoids,
    JointPositions,
    LearnedPositions,
    NoPositions,
    OneHotPositions,
    Positions,
    Rotary,
    sinusoids,
)
from tests.nn.parts import stirred, values
from tests.nn.transformer_reference import joint, rotated, weights_of

pytestmark = pytest.mark.faults

VECTORS, MOST = 6, 5

KINDS: dict[str, Callable[[], Positions]] = {
    "none": NoPositions,
    "one-hot": lambda: OneHotPositions(MOST),
    "sinusoids-appended": lambda: AppendedSinusoids(4),
    "sinusoids": AddedSinusoids,
    "learned": lambda: stirred(LearnedPositions(MOST, VECTORS)),
    "joint": lambda: stirred(JointPositions(MOST, VECTORS, 8)),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
LIMITED = [kind for kind in KINDS if kind in ("one-hot", "learned", "joint")]


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-11) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


def test_one_hot_positions_of_the_texts() -> None:
    """S10: (.2, 1.3) with T = 4, at t = 1 and t = 4."""
    vectors = torch.tensor([[[0.2, 1.3], [0.2, 1.3]]])
    placed = OneHotPositions(4)(vectors, torch.tensor([[0, 3]]))
    expected = [[0.2, 1.3, 1.0, 0.0, 0.0, 0.0], [0.2, 1.3, 0.0, 0.0, 0.0, 1.0]]
    assert torch.equal(placed[0], torch.tensor(expected))


def test_sinusoids_of_the_texts() -> None:
    """S10: p_e = 4, t = 1."""
    row = sinusoids(torch.tensor([1]), 4)[0].tolist()
    assert row == pytest.approx([0.841471, 0.540302, 0.00999983, 0.99995], abs=5e-7)


def test_neighbours_are_as_far_apart_as_worked_out_and_all_have_one_length() -> None:
    """S10: p_e = 768: ‖r_51 − r_50‖ = 4.523235, ‖r_t‖² = 384."""
    rows = sinusoids(torch.tensor([50, 51, 1, 999, 100_000]), 768).double()
    assert float((rows[1] - rows[0]).norm()) == pytest.approx(4.523235, abs=5e-7)
    assert rows.square().sum(-1).tolist() == pytest.approx([384.0] * 5)


@pytest.mark.parametrize("width", [2, 6, 10])
def test_every_value_is_that_of_the_formula(width: int) -> None:
    """r_{2i} = sin(t / M^{2i/p}), r_{2i+1} = cos of the same, M = 10,000, for any shape of t."""
    positions = torch.tensor([[1, 2, 7], [30, 500, 4_000]])
    rows = sinusoids(positions, width)
    assert rows.shape == (2, 3, width)
    for row, t in zip(rows.flatten(0, 1).tolist(), positions.flatten().tolist(), strict=True):
        for i in range(width // 2):
            angle = t / 10_000 ** (2 * i / width)
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-7)
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-7)


def test_sinusoids_are_appended_or_added_from_position_one_on() -> None:
    """S5.3: t from 1 where `at` is from 0; the table grows when later positions come."""
    added, appended, vectors = AddedSinusoids(), AppendedSinusoids(4), values(2, 3, VECTORS)
    for at in (torch.tensor([[0, 1, 2]]), torch.tensor([[7, 8, 9], [511, 512, 5_000]])):
        close(added(vectors, at), vectors + sinusoids(at + 1, VECTORS))
        expected = sinusoids(at + 1, 4).expand(2, -1, -1)
        close(appended(vectors, at), torch.cat([vectors, expected], dim=-1))


def test_known_sinusoids_follow_the_precision_of_the_vectors() -> None:
    """A model that is copied to another precision does not keep rows of the old one."""
    added, at = AddedSinusoids(), torch.tensor([[3, 4]])
    exact = sinusoids(at + 1, VECTORS)
    for kind in (torch.float32, torch.float64, torch.float32):
        rows = added(torch.zeros(1, 2, VECTORS, dtype=kind), at)
        assert rows.dtype == kind
        assert torch.equal(rows, exact.to(kind))


def test_learned_positions_are_rows_of_a_table() -> None:
    """S5.3: a learned vector is added."""
    learned, vectors = stirred(LearnedPositions(MOST, VECTORS)), values(2, 3, VECTORS)
    at = torch.tensor([[0, 3, 1], [4, 2, 2]])
    close(learned(vectors, at), vectors + learned.table[at])


def test_joint_positions_are_those_of_the_formula() -> None:
    """S5.3: W_1 S(W_2 x + W_3 e_t + b), in NumPy with a real one-hot vector."""
    map_, vectors = stirred(JointPositions(MOST, VECTORS, 8)), values(2, 3, VECTORS)
    at = torch.tensor([[0, 3, 1], [4, 2, 9]])
    placed, weights = map_(vectors, at), weights_of(map_)
    for row in range(2):
        for step in range(3):
            expected = joint(weights, vectors[row, step].numpy(), int(at[row, step]))
            close(placed[row, step], torch.from_numpy(expected))


def test_nothing_says_where_a_token_stands() -> None:
    vectors = values(2, 3, VECTORS)
    assert torch.equal(NoPositions()(vectors, torch.tensor([[5, 6, 7]])), vectors)


@each_kind
def test_one_row_of_positions_stands_for_all(kind: str) -> None:
    """Rows that have read alike may share their positions, and each kind knows its width."""
    positions, vectors = KINDS[kind](), values(3, 4, VECTORS)
    at = torch.tensor([[2, 3, 4, 5]])
    placed = positions(vectors, at)
    assert placed.shape == (3, 4, positions.width(VECTORS))
    close(placed, positions(vectors, at.expand(3, -1)))


@each_kind
def test_a_vector_s_position_is_its_own(kind: str) -> None:
    """However rows and steps are cut, what a vector becomes depends on it and its place alone."""
    positions, vectors = KINDS[kind](), values(2, 4, VECTORS)
    at = torch.tensor([[0, 1, 2, 3], [3, 0, 4, 2]])
    whole = positions(vectors, at)
    for row in range(2):
        for step in range(4):
            alone = vectors[row, step][None, None], at[row, step][None, None]
            close(positions(*alone)[0, 0], whole[row, step])


@pytest.mark.parametrize("kind", LIMITED)
def test_positions_past_the_last_share_its_vector(kind: str) -> None:
    """A limited kind goes on past its limit, and tells what lies before it apart."""
    positions = KINDS[kind]()
    vectors = values(1, 1, VECTORS).expand(1, MOST + 3, -1)
    rows = positions(vectors, torch.arange(MOST + 3)[None])[0]
    for later in rows[MOST:]:
        assert torch.equal(later, rows[MOST - 1])
    assert len(rows.unique(dim=0)) == MOST


def test_rotary_turns_pairs_of_values() -> None:
    """S5.3: complex numbers turned by the angles of the sinusoids, row by row."""
    rotary, queries = Rotary(VECTORS), values(2, 3, 4, VECTORS)
    at = torch.tensor([[0, 1, 2, 3], [7, 8, 600, 10]])
    turned = rotary.rotate(queries, at)
    for row in range(2):
        for head in range(3):
            for step in range(4):
                expected = rotated(queries[row, head, step].numpy(), int(at[row, step]))
                close(turned[row, head, step], torch.from_numpy(expected))


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    """S5.3: q·k of two places is that of any two places as far apart, and else another."""
    rotary, steps = Rotary(VECTORS), torch.arange(40)[None]
    query = rotary.rotate(values(1, 1, 1, VECTORS).expand(-1, -1, 40, -1), steps)[0, 0]
    key = rotary.rotate(values(1, 1, 2, VECTORS)[:, :, 1:].expand(-1, -1, 40, -1), steps)[0, 0]
    scores = query @ key.T
    for distance in range(-39, 40):
        diagonal = scores.diagonal(distance)
        close(diagonal, diagonal[:1].expand(len(diagonal)))
    assert len(torch.cat([scores[0], scores[1:, 0]]).round(decimals=9).unique()) == 79
    close(query.norm(dim=-1), query[:1].norm(dim=-1).expand(40))


@pytest.mark.parametrize("kind", ["learned", "joint"])
def test_gradients_are_the_numerical_ones(kind: str) -> None:
    """RELIABILITY C4: for the vectors and for every parameter, also where positions are shared."""
    positions = KINDS[kind]()
    assert isinstance(positions, torch.nn.Module)
    names, parameters = zip(*positions.named_parameters(), strict=True)
    at = torch.tensor([[0, 1, 4], [2, 2, 9]])

    def placed(vectors: Tensor, *weights: Tensor) -> Tensor:
        given = dict(zip(names, weights, strict=True))
        result: Tensor = torch.func.functional_call(positions, given, (vectors, at))
        return result

    assert torch.autograd.gradcheck(placed, (values(2, 3, VECTORS).requires_grad_(), *parameters))
