"""The rules of refresh and of the bus direction against the sentence that defines each."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.dram.direction import batch_due, direction
from hwmodels.dram.refresh import first_due, refresh_bank

banks = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([-1, 0, 5]), st.booleans()),
    min_size=1,
    max_size=16,
)


@given(banks, st.integers(0, 1))
@settings(max_examples=300)
def test_the_refresh_bank_is_the_least_of_the_fit_ones(drawn, forced):
    present, other, rows, left = zip(*drawn, strict=True)
    mask = sum(1 << index for index, stays in enumerate(left) if stays)
    fit = [index for index, stays in enumerate(left) if stays and (present[index] == 0 or forced)]
    expected = min(fit, key=lambda index: (present[index], other[index], rows[index] >= 0, index), default=-1)
    assert refresh_bank(present, other, rows, mask, len(drawn), forced) == expected


def test_refreshes_are_spread_over_the_pseudo_channels():
    assert [first_due(244, index, 2) for index in range(2)] == [244, 366]


def test_a_batch_begins_at_the_high_mark_and_ends_at_the_low_mark():
    seen = []
    batch = 0
    for writes in [*range(193), *range(192, 50, -1)]:
        batch = batch_due(writes, batch, 192, 64)
        seen.append((writes, batch))
    assert [writes for writes, on in seen if on] == [192, *range(192, 64, -1)]


def test_direction_follows_the_marks():
    read, write = 0, 1
    assert direction(read, 5, 100, 0) == read
    assert direction(read, 5, 192, 1) == write
    assert direction(read, 0, 1, 0) == write
    assert direction(read, 0, 0, 0) == read
    assert direction(write, 5, 100, 1) == write
    assert direction(write, 5, 63, 0) == read
    assert direction(write, 0, 1, 0) == write
    assert direction(write, 0, 0, 0) == write
