"""Lines that are written back together share rows of DRAM: checked by decoding every sector of them."""

import pytest

from hwmodels import Gpu
from hwmodels.dram.address_map import parse_map, split
from hwmodels.dram.dealing import dealt_sector
from hwmodels.write_back import first_of_group, is_cold

CARDS = ("v100-sxm2-16gb", "a100-sxm-40gb", "h100-sxm", "l40", "rtx-3090")


def rows_of(gpu, first, slice_index):
    """(pseudo-channel, bank group, bank, row) of all sectors of a group of lines of a slice."""
    dram = gpu.dram
    places = parse_map(
        dram.address_map, dram.bank_groups, dram.banks_per_group, dram.rows, dram.row_bytes // 32
    )
    lanes = gpu.channels_per_memory_partition * dram.pseudo_channels_per_channel
    rows = set()
    for local in range(first, first + gpu.l2.write_back_lines):
        for sector in range(4):
            dealt = dealt_sector(local, sector, slice_index, gpu.slices_per_memory_partition)
            lane, inside = split(dealt, lanes)
            place = places.decode(inside)
            rows.add((lane, place.bank_group, place.bank, place.row))
    return rows


@pytest.mark.parametrize("name", CARDS)
def test_a_group_lies_in_one_row_at_most_of_a_bank_group(name):
    gpu = Gpu.from_card(name)
    lines = gpu.l2.write_back_lines
    lanes = gpu.channels_per_memory_partition * gpu.dram.pseudo_channels_per_channel
    for group in (0, 1, 2, 77):
        for slice_index in range(gpu.slices_per_memory_partition):
            rows = rows_of(gpu, group * lines, slice_index)
            assert len({row[:2] for row in rows}) == len(rows) <= lanes * gpu.dram.bank_groups


@pytest.mark.parametrize("lines", [1, 5, 32])
def test_groups_of_lines_follow_each_other(lines):
    groups = {}
    for local in range(10 * lines):
        groups.setdefault(first_of_group(local, lines), []).append(local)
    assert list(groups.values()) == [list(range(first, first + lines)) for first in groups]


def test_a_line_is_cold_after_as_many_uses_as_there_are_lines():
    assert [is_cold(100, 100 - ago, 16) for ago in (0, 15, 16, 17, 100)] == [0, 0, 1, 1, 1]
