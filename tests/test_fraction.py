"""The share of long cases that `make test-long` runs: evenly spread, at least one; nonsense is refused."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import kept_indices, long_fraction


@given(st.integers(1, 500), st.fractions(Fraction(1, 1000), 1))
def test_kept_cases_are_the_share_and_evenly_spread(total: int, share: Fraction) -> None:
    kept = sorted(kept_indices(total, share))
    assert len(kept) == max(1, int(total * share))
    assert 0 <= kept[0] <= kept[-1] < total
    gaps = {after - before for before, after in pairwise(kept)}
    assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize("text", ["x", "0", "-1/2", "3/2", "1/0", ""])
def test_a_fraction_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLSCOPE_FRACTION", text)
    with pytest.raises(pytest.UsageError, match="write 1/20"):
        long_fraction()
