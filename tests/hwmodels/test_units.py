"""Conversions to and from whole femtoseconds."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwmodels.units import cycles_ceil, fs_to_ns, mhz_to_period_fs, ns_to_fs


@given(st.integers(1, 20_000))
def test_a_period_is_the_nearest_femtosecond(mhz: int) -> None:
    assert abs(Fraction(10**9, mhz) - mhz_to_period_fs(mhz)) <= Fraction(1, 2)


@pytest.mark.parametrize("mhz", [0, -1])
def test_no_clock_has_no_period(mhz: int) -> None:
    with pytest.raises(ValueError, match="has no period"):
        mhz_to_period_fs(mhz)


@given(st.decimals(0, 10**6, places=6))
def test_nanoseconds_go_there_and_back(ns: Decimal) -> None:
    assert ns_to_fs(ns) == ns * 10**6
    assert ns_to_fs(float(ns)) == ns_to_fs(ns)
    assert ns_to_fs(fs_to_ns(ns_to_fs(ns))) == ns_to_fs(ns)


@pytest.mark.parametrize(
    ("ns", "fs"), [(14, 14_000_000), (14.2, 14_200_000), (0.1, 100_000), (243.75, 243_750_000)]
)
def test_a_float_means_what_it_prints(ns: float, fs: int) -> None:
    assert ns_to_fs(ns) == fs


@given(st.integers(0, 10**12), st.integers(1, 10**7))
def test_ceiling_is_the_fewest_cycles_that_last(time_fs: int, period_fs: int) -> None:
    cycles = cycles_ceil(time_fs, period_fs)
    assert (cycles - 1) * period_fs < time_fs <= cycles * period_fs
