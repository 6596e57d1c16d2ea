"""Dealing L2 sectors to DRAM: reversible, dense, and fair even when only parts of lines are read."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwmodels.dram.address_map import split
from hwmodels.dram.dealing import dealt_sector, undealt_line, undealt_sector


@given(st.integers(0, 2**36), st.integers(0, 3), st.integers(1, 8), st.data())
def test_inverse(local, sector, slices, data):
    index = data.draw(st.integers(0, slices - 1))
    dealt = dealt_sector(local, sector, index, slices)
    assert undealt_line(dealt) == local * slices + index
    assert undealt_sector(dealt) == sector


@pytest.mark.parametrize("slices", [1, 2, 3])
def test_lines_fill_dram_densely(slices):
    dealt = {
        dealt_sector(local, sector, index, slices)
        for local in range(64)
        for sector in range(4)
        for index in range(slices)
    }
    assert dealt == set(range(64 * 4 * slices))


@pytest.mark.parametrize("pseudo_channels", [1, 2, 4])
@pytest.mark.parametrize("sectors", [(0,), (0, 2), (1, 3), (0, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("stride", [1, 3, 8, 1024])
def test_every_pseudo_channel_gets_its_share(pseudo_channels, sectors, stride):
    loads = Counter(
        split(dealt_sector(line * stride, sector, 0, 1), pseudo_channels)[0]
        for line in range(4096)
        for sector in sectors
    )
    mean = 4096 * len(sectors) / pseudo_channels
    assert all(abs(loads[where] - mean) <= 0.1 * mean for where in range(pseudo_channels))
