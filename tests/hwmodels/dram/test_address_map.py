"""The DRAM address map: an exact bijection for every legal text and geometry, whose hash spreads strides."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.coalescing import SECTORS_PER_LINE
from hwmodels.dram.address_map import DEFAULT_MAP, Place, fold, join, parse_map, split
from hwmodels.errors import InputError


@st.composite
def maps(draw):
    """Any legal map: fields cut in two or whole, in any order below the row's top, with any options."""
    widths = {field: draw(st.integers(0, 4)) for field in ("bank", "bankgroup", "column")}
    widths["row"] = draw(st.integers(1, 8))
    parts = []
    for field, width in widths.items():
        cut = draw(st.integers(0, width))
        if 0 < cut < width:
            parts += [f"{field}[{cut - 1}:0]", f"{field}[{width - 1}:{cut}]"]
        else:
            parts.append(field)
    top = parts.pop()
    order = draw(st.permutations(parts))
    options = draw(st.sampled_from(["", " plain", " rotate=1", " rotate=3", " plain rotate=2"]))
    sizes = [1 << widths[field] for field in ("bankgroup", "bank", "row", "column")]
    text = ":".join([top, *order]) + options
    return parse_map(text, *sizes), sizes


@given(maps(), st.integers(0, (1 << 30) - 1))
@settings(max_examples=300, deadline=None)
def test_decode_and_encode_are_exact_inverses(drawn, sector):
    address_map, (groups, banks, _, columns) = drawn
    place = address_map.decode(sector)
    assert 0 <= place.bank_group < groups
    assert 0 <= place.bank < banks
    assert 0 <= place.column < columns
    assert address_map.encode(place) == sector


@given(maps())
@settings(max_examples=40, deadline=None)
def test_every_place_is_hit_once(drawn):
    address_map, (groups, banks, rows, columns) = drawn
    capacity = groups * banks * rows * columns
    sectors = range(min(capacity, 4096))
    assert len({address_map.decode(sector) for sector in sectors}) == len(sectors)
    if capacity <= 4096:
        assert all(address_map.decode(sector).row < rows for sector in sectors)


@given(st.integers(0, 1 << 40), st.integers(1, 8))
def test_fold_is_the_parity_of_each_bit_position(value, bits):
    for bit in range(bits):
        ones = sum(value >> place & 1 for place in range(bit, 64, bits))
        assert fold(value, bits) >> bit & 1 == ones % 2


@given(st.integers(0, 1 << 40), st.integers(1, 4))
def test_split_and_join_are_inverses_and_deal_lines_in_turn(sector, pseudo_channels):
    where, inside = split(sector, pseudo_channels)
    assert join(where, inside, pseudo_channels) == sector
    assert split(sector + SECTORS_PER_LINE, pseudo_channels)[0] == (where + 1) % pseudo_channels
    first = sector - sector % SECTORS_PER_LINE
    line = [split(first + one, pseudo_channels) for one in range(4)]
    assert line == [(where, inside // 4 * 4 + one) for one in range(4)]


def test_default_order_rotates_bank_groups_then_columns_then_banks_then_rows():
    address_map = parse_map(DEFAULT_MAP + " plain", 4, 4, 1024, 32)
    assert [address_map.decode(sector).bank_group for sector in range(5)] == [0, 1, 2, 3, 0]
    assert address_map.decode(4) == Place(0, 0, 0, 1)
    assert address_map.decode(4 * 32) == Place(0, 1, 0, 0)
    assert address_map.decode(4 * 32 * 4) == Place(0, 0, 1, 0)


@pytest.mark.parametrize("row_stride", [1, 2, 3, 4, 8, 16, 64, 1024])
def test_strides_of_rows_do_not_meet_in_one_bank(row_stride):
    address_map = parse_map(DEFAULT_MAP, 4, 4, 32768, 32)
    places = [address_map.decode(index * row_stride * 512) for index in range(64)]
    load = Counter((place.bank_group, place.bank) for place in places)
    assert max(load.values()) <= 64 // 4


def test_sectors_beyond_the_device_keep_rows_of_their_own():
    address_map = parse_map(DEFAULT_MAP, 4, 4, 16, 32)
    assert address_map.decode(16 * 512 * 7).row == 16 * 7


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("row:bank:column", "bankgroup needs its 2 bits"),
        ("row:bank:column:bankgroup:bank", "bank needs its 2 bits"),
        ("bank:row:column:bankgroup", "top bits are not the row's"),
        ("row:bank:colum:bankgroup", "'colum' is not a field"),
        ("row:bank:column[7:0]:bankgroup", "column has 5 bits"),
        ("row:bank:column:bankgroup spread", "'spread' is not an option"),
    ],
)
def test_a_map_that_does_not_fit_is_one_line(text, words):
    with pytest.raises(InputError) as caught:
        parse_map(text, 4, 4, 1024, 32)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_geometry_that_is_no_power_of_two_is_refused():
    with pytest.raises(InputError, match="3 banks is not a power of two"):
        parse_map(DEFAULT_MAP, 4, 3, 1024, 32)
