"""The slice hash: a bijection for any slice count, even over strided runs, and within 64-bit integers."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.scatter import scatter
from hwmodels.slice_hash import home_of, line_from, local_line

CARDS = [(2, 1), (5, 1), (7, 1), (20, 2), (32, 1), (80, 2), (96, 1)]
RUN_PER_SLICE = 400
shapes = st.tuples(st.integers(1, 100), st.sampled_from([1, 2])).filter(
    lambda shape: shape[0] % shape[1] == 0
)


def strides_of(slices):
    powers = [1 << power for power in range(13)]
    multiples = [slices * factor for factor in (1, 2, 3, 8, 16, 32, 37) if slices * factor <= 4096]
    around = [power + offset for power in (16, 64, 256, 1024) for offset in (-1, 1)]
    return sorted({*powers, *multiples, *around, 3, 5, 7, 9, 11, 13, 15, 48, 96, 4095})


@given(shapes, st.integers(0, 2**41 - 1))
def test_line_to_slice_and_back(shape, line):
    slices, partitions = shape
    home, local = home_of(line, slices, partitions), local_line(line, slices, partitions)
    assert 0 <= home < slices
    assert 0 <= local <= line
    assert line_from(home, local, slices, partitions) == line


@given(shapes, st.integers(0, 2**33), st.data())
def test_slice_to_line_and_back(shape, local, data):
    slices, partitions = shape
    home = data.draw(st.integers(0, slices - 1))
    line = line_from(home, local, slices, partitions)
    assert (home_of(line, slices, partitions), local_line(line, slices, partitions)) == (home, local)


@settings(max_examples=20)
@given(shapes, st.integers(0, 2**20))
def test_a_whole_block_of_lines_fills_every_slice_evenly_and_densely(shape, block):
    slices, partitions = shape
    lines = range(16 * slices * block, 16 * slices * (block + 1))
    places = {(home_of(line, slices, partitions), local_line(line, slices, partitions)) for line in lines}
    assert places == {(home, 16 * block + place) for home in range(slices) for place in range(16)}


@pytest.mark.parametrize(("slices", "partitions"), CARDS)
def test_no_stride_camps_on_a_few_slices_or_one_partition(slices, partitions):
    for stride in strides_of(slices):
        homes = Counter(home_of(stride * turn, slices, partitions) for turn in range(RUN_PER_SLICE * slices))
        assert max(homes.values()) <= 1.3 * RUN_PER_SLICE, stride
        near = sum(count for home, count in homes.items() if home < slices // partitions)
        assert abs(near * partitions / (RUN_PER_SLICE * slices) - 1) <= 0.07, stride


@settings(max_examples=15, deadline=None)
@given(shapes, st.integers(1, 4096), st.integers(0, 2**30))
def test_any_stride_spreads(shape, stride, base):
    slices, partitions = shape
    homes = Counter(
        home_of(base + stride * turn, slices, partitions) for turn in range(RUN_PER_SLICE * slices)
    )
    assert max(homes.values()) <= 1.3 * RUN_PER_SLICE


@given(st.integers(0, 2**48 - 1))
def test_scatter_stays_in_31_bits_and_its_products_in_64(value):
    assert 0 <= scatter(value) < 2**31
    # The two widest intermediates of the rule: 17 bits by 14, and 31 bits by 30 with an addend.
    assert (value >> 31) * 0x2F0B < 2**63
    assert (2**31 - 1) * 0x3C6EF373 + 0x1B873593 < 2**63


def test_scatter_flips_half_of_the_bits_for_one_bit_of_input():
    flips = [
        (scatter(value) ^ scatter(value ^ (1 << bit))).bit_count()
        for value in range(0, 200_000, 997)
        for bit in range(48)
    ]
    assert abs(sum(flips) / len(flips) - 15.5) < 1
