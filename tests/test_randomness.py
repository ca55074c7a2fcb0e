"""Keys are functions of their arguments: alike everywhere, and different wherever those differ."""

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from seqloom.randomness import key

NAMES = st.lists(st.one_of(st.text(max_size=8), st.integers()), max_size=4).map(tuple)


@given(seed=st.integers(0), names=NAMES)
def test_a_key_is_the_same_each_time_and_fits_63_bits(
    seed: int, names: tuple[str | int, ...]
) -> None:
    assert key(seed, *names) == key(seed, *names)
    assert 0 <= key(seed, *names) < 2**63


@given(one=st.tuples(st.integers(0), NAMES), other=st.tuples(st.integers(0), NAMES))
def test_keys_differ_wherever_a_seed_or_a_name_differs(
    one: tuple[int, tuple[str | int, ...]], other: tuple[int, tuple[str | int, ...]]
) -> None:
    assert (key(one[0], *one[1]) == key(other[0], *other[1])) == (one == other)


def test_names_of_another_type_order_or_cut_are_other_names() -> None:
    variants = [
        key(0, "epoch", 1),
        key(0, "epoch", "1"),
        key(0, "epoch", 1, 0),
        key(0, 1, "epoch"),
        key(0, "epoch1"),
        key(0, "epoc", "h1"),
        key(0, "epoch\x1fint:1"),
        key(0, "epoch', 1"),
        key(1, "epoch"),
    ]
    assert len(set(variants)) == len(variants)


def test_every_bit_is_set_about_half_the_time() -> None:
    """Over 4,000 keys a fair bit is set 2,000 times, give or take 5 × √1000 = 158."""
    keys = [key(1, "step", step) for step in range(4_000)]
    for bit in range(63):
        ones = sum(each >> bit & 1 for each in keys)
        assert abs(ones - 2_000) < 158


def test_another_process_gives_the_same_keys() -> None:
    """Hashes of strings differ between processes; keys do not (RELIABILITY, randomness)."""
    program = "from seqloom.randomness import key; print(key(7, 'mask', 3, 1))"
    for salt in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": salt}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert int(done.stdout) == key(7, "mask", 3, 1)
