"""Several batches at a time give what one after another gives."""

from collections.abc import Iterator
from threading import get_ident

import pytest
import torch

from seqloom.errors import DivergedError
from seqloom.prediction import batching as model_module
from seqloom.prediction.batching import parallel_map
from seqloom.search import Beam, Exact, Greedy, PatientBeam, Search
from tests.prediction.untrained import SOURCES, untrained


@pytest.fixture(autouse=True)
def two_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_order() -> None:
    """From threads that use one core each, while the caller's own number of cores stays."""
    seen = list(parallel_map(lambda n: (n * n, torch.get_num_threads(), get_ident()), range(20)))
    assert [square for square, _, _ in seen] == [n * n for n in range(20)]
    assert {cores for _, cores, _ in seen} == {1}
    assert get_ident() not in {thread for _, _, thread in seen}
    assert torch.get_num_threads() == 2


def test_one_item_has_all_cores() -> None:
    """Nothing to share: it is done where it was asked for."""
    assert list(parallel_map(lambda _: (torch.get_num_threads(), get_ident()), [0])) == [
        (2, get_ident())
    ]


def test_an_error_is_the_callers() -> None:
    """What one batch raises comes out in its turn, and the cores are given back."""

    def work(number: int) -> int:
        if number == 3:
            raise DivergedError("here")
        return number

    results = parallel_map(work, range(8))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DivergedError, match="here"):
        next(results)
    assert torch.get_num_threads() == 2


SEARCHES: list[Search] = [Greedy(), Beam(3, n_best=2), PatientBeam(3), Exact()]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_outputs_do_not_depend_on_the_cores(
    kind: str, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY C2: the same in one batch, and in batches of four of which halves join others."""
    model = untrained(kind)
    inputs = [source * (1 + number % 3) for number, source in enumerate(SOURCES * 6)]
    together = model.predict(inputs, search=search)
    monkeypatch.setattr(model_module, "BATCH_SENTENCES", 4)
    apart = model.predict(inputs, search=search)
    assert [output.text for output in apart] == [output.text for output in together]
    assert [output.score for output in apart] == pytest.approx(
        [output.score for output in together], abs=1e-9
    )
