"""Storage and places of tensors: packing is reversible, padding is zero, places neither overlap nor move."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.workload.layout import PAGE, Layout, Placement, activation, padded_channels


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.sampled_from(["float16", "float32"]),
    st.sampled_from(["activation", "flat"]),
)
def test_packing_is_reversible_and_counts_its_bytes(extents, dtype, role):
    shape = tuple(extents)
    layout = Layout(shape, dtype, role)
    values = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    stored = layout.pack(values)
    assert stored.size == layout.bytes
    assert layout.bytes % 16 == 0
    np.testing.assert_array_equal(layout.unpack(stored), values)
    assert stored.view(dtype).astype(np.float64).sum() == values.astype(np.float64).sum()


def test_channels_lie_innermost():
    layout = activation((1, 2, 1, 3), "float16")
    values = np.array([[[[1, 2, 3]], [[4, 5, 6]]]], np.float16)
    expected = [1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0]
    assert list(layout.pack(values).view(np.float16)[:12]) == expected
    assert [padded_channels(count) for count in (1, 3, 4, 5, 8, 9, 64)] == [4, 4, 4, 8, 8, 16, 64]


def test_places_are_pages_apart_and_stay():
    place = Placement()
    first = place.place("a", activation((1, 64, 112, 112), "float16"), "input")
    second = place.place("b", activation((1, 8), "float32"), "weight")
    assert first.base_address % PAGE == second.base_address % PAGE == 0
    assert second.base_address >= first.base_address + first.bytes
    assert place.place("a", activation((1, 64, 112, 112), "float16"), "input") == first
    with pytest.raises(InputError, match="two layouts"):
        place.place("a", activation((1, 8), "float16"), "input")


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="2\\^48"):
        Placement().place("a", Layout((1 << 47, 2), "float32", "flat"), "input")
