"""Set index and replacement: contiguous footprints fit, strides spread, LRU equals an ordered list."""

from collections import Counter, OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.cache import find_way, lru_way, set_of
from hwmodels.replacement import free_lru_way


@given(st.integers(1, 3000), st.integers(0, 2**41 - 1))
def test_set_is_in_range(sets, line):
    assert 0 <= set_of(line, sets) < sets


@settings(max_examples=40)
@given(st.integers(1, 700), st.integers(0, 2**25), st.integers(1, 4))
def test_an_aligned_footprint_of_the_cache_fits_it_exactly(sets, block, ways):
    loads = Counter(set_of(line, sets) for line in range(block * sets, (block + ways) * sets))
    assert set(loads.values()) == {ways}
    assert len(loads) == sets


@given(st.integers(1, 700), st.integers(0, 2**30))
def test_a_block_position_and_a_set_name_one_line(sets, block):
    lines = range(block * sets, (block + 1) * sets)
    assert len({set_of(line, sets) for line in lines}) == sets


@pytest.mark.parametrize("sets", [64, 85, 121, 242, 256, 340, 341, 460, 502])
@pytest.mark.parametrize(
    "stride", [1 << power for power in range(1, 14)] + [63, 65, 255, 257, 510, 514, 1020]
)
def test_a_strided_run_of_half_the_capacity_mostly_fits(sets, stride):
    ways = 8
    lines = sets * ways // 2
    loads = Counter(set_of(stride * turn, sets) for turn in range(lines))
    evicted = sum(max(0, load - ways) for load in loads.values())
    # By chance alone (Poisson of mean 4 into 8 ways) about 1 % of the lines find no room.
    assert evicted <= 0.06 * lines


@given(st.lists(st.integers(0, 9), min_size=16, max_size=16), st.integers(0, 8), st.integers(1, 8))
def test_lru_way_is_the_first_of_the_lowest(stamps, start, ways):
    chosen = stamps[start : start + ways]
    assert lru_way(stamps, start, ways) == chosen.index(min(chosen))


@given(st.lists(st.integers(0, 9), min_size=8, max_size=8), st.integers(0, 255))
def test_a_pinned_way_is_never_chosen(stamps, pinned):
    free = [way for way in range(8) if not pinned >> way & 1]
    expected = min(free, key=lambda way: (stamps[way], way), default=-1)
    assert free_lru_way(stamps, pinned, 0, 8) == expected


@given(st.lists(st.integers(0, 30), min_size=3, max_size=12, unique=True), st.integers(0, 30))
def test_find_way_is_where_the_tag_stands(tags, tag):
    assert find_way([99, *tags], tag, 1, len(tags)) == (tags.index(tag) if tag in tags else -1)


@given(st.lists(st.integers(0, 40), max_size=200), st.sampled_from([1, 3, 5]), st.integers(1, 4))
def test_a_cache_of_these_rules_hits_like_an_ordered_list(lines, sets, ways):
    tags, stamps = [-1] * (sets * ways), [-1] * (sets * ways)
    model = [OrderedDict() for _ in range(sets)]
    for now, line in enumerate(lines):
        place = set_of(line, sets)
        way = find_way(tags, line, place * ways, ways)
        assert (way >= 0) == (line in model[place])
        if way < 0:
            way = lru_way(stamps, place * ways, ways)
            if len(model[place]) == ways:
                model[place].popitem(last=False)
        tags[place * ways + way], stamps[place * ways + way] = line, now
        model[place][line] = True
        model[place].move_to_end(line)
