"""Bank conflicts and contention against brute force over words, plus the textbook patterns."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwmodels.shared_memory import bank_cycles, contention

FULL = 0xFFFFFFFF
addresses_any = st.one_of(
    st.lists(st.integers(0, 700), min_size=32, max_size=32),
    st.lists(st.sampled_from([128 * step for step in range(40)]), min_size=32, max_size=32),
    st.lists(st.integers(0, 2**40), min_size=32, max_size=32),
)
masks = st.one_of(st.just(FULL), st.integers(0, FULL))


def brute_cycles(addresses, mask, bytes_per_lane, banks, bank_bytes):
    lanes = 32 // max(1, bytes_per_lane // bank_bytes)
    cycles = 0
    for first in range(0, 32, lanes):
        words = {
            (addresses[lane] + byte) // bank_bytes
            for lane in range(first, min(32, first + lanes))
            if mask >> lane & 1
            for byte in range(bytes_per_lane)
        }
        cycles += max(Counter(word % banks for word in words).values(), default=0)
    return cycles


@given(
    addresses_any,
    masks,
    st.sampled_from([1, 2, 4, 8, 12, 16]),
    st.sampled_from([1, 16, 32, 48, 50, 128]),
    st.sampled_from([4, 8]),
)
def test_bank_cycles_equal_the_fullest_bank(addresses, mask, bytes_per_lane, banks, bank_bytes):
    got = bank_cycles(addresses, mask, bytes_per_lane, banks, bank_bytes)
    assert got == brute_cycles(addresses, mask, bytes_per_lane, banks, bank_bytes)


@given(st.integers(0, 2**20), st.integers(0, 130))
def test_word_strides_conflict_by_their_power_of_two(base, stride):
    addresses = [4 * base + 4 * stride * lane for lane in range(32)]
    shared_factor = 1 if stride == 0 else min(32, stride & -stride)
    assert bank_cycles(addresses, FULL, 4, 32, 4) == shared_factor


@pytest.mark.parametrize(("bytes_per_lane", "cycles"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)])
def test_contiguous_lanes_move_128_bytes_a_cycle(bytes_per_lane, cycles):
    assert (
        bank_cycles([256 + bytes_per_lane * lane for lane in range(32)], FULL, bytes_per_lane, 32, 4)
        == cycles
    )


@pytest.mark.parametrize("bytes_per_lane", [1, 2, 4])
def test_a_broadcast_is_free(bytes_per_lane):
    assert bank_cycles([64] * 32, FULL, bytes_per_lane, 32, 4) == 1
    assert bank_cycles([4 * (lane % 5) for lane in range(32)], FULL, bytes_per_lane, 32, 4) == 1


def test_bytes_of_one_word_are_no_conflict():
    assert bank_cycles([4096 + lane % 4 for lane in range(32)], FULL, 1, 32, 4) == 1


def test_an_idle_warp_takes_no_cycle_and_an_idle_half_none_of_its_own():
    assert bank_cycles([0] * 32, 0, 4, 32, 4) == 0
    assert bank_cycles([8 * lane for lane in range(32)], 0xFFFF, 8, 32, 4) == 1


@given(addresses_any, masks)
def test_contention_is_the_commonest_address(addresses, mask):
    active = Counter(addresses[lane] for lane in range(32) if mask >> lane & 1)
    assert contention(addresses, mask) == max(active.values(), default=0)
