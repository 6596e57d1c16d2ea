"""Groups, medians, contradictions and percentiles, against brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.validation.judge import (
    CONTRADICTS,
    COVERED,
    Judged,
    against_groups,
    document,
    errors_of,
    groups,
    refused,
)
from experiments.validation.measurements import Measurement
from experiments.validation.request import SHAPE, Refusal


def judged(theirs, ours, group=("latency", "GV100", "L1 hit")):
    row = Measurement("rows.csv:2", "V100", "lat.l1_hit", theirs, "cycles", "", "", "high")
    return Judged(row, "v100-pcie-16gb", group, ours, COVERED)


def test_a_group_is_judged_by_its_median():
    made = against_groups([judged(28.0, 30.0), judged(30.0, 30.0), judged(31.0, 30.0)])
    (group,) = groups(made)
    assert group.rows == 3
    assert group.error_pct == pytest.approx(0.0)


def test_what_contradicts_its_group_is_listed_and_not_counted():
    made = against_groups([judged(28.0, 28.0), judged(28.5, 28.0), judged(40.0, 28.0)])
    assert [one.status for one in made] == [COVERED, COVERED, CONTRADICTS]
    assert "+40 % from the median of 3 rows" in made[2].why
    (group,) = groups(made)
    assert group.rows == 2
    assert document(made)["worst"]["theirs"] == 28.5


def test_two_that_differ_do_not_say_which_is_wrong():
    made = against_groups([judged(20.0, 28.0), judged(40.0, 28.0)])
    assert [one.status for one in made] == [COVERED, COVERED]


def test_boards_of_other_clocks_are_compared_by_ratio():
    made = against_groups([judged(391.0, 400.0), judged(405.0, 414.0), judged(100.0, 102.0)])
    assert all(one.status == COVERED for one in made)


@given(st.lists(st.floats(-500, 500), min_size=1, max_size=40))
def test_errors_against_brute_force(percents):
    found = errors_of(percents)
    ordered = sorted(map(abs, percents))
    assert found.worst == ordered[-1]
    assert found.mean == pytest.approx(sum(ordered) / len(ordered))
    # The 90th percentile: at least 90 % do not exceed it, and no smaller error has that.
    assert sum(one <= found.ninetieth for one in ordered) >= 0.9 * len(ordered)
    smaller = [one for one in ordered if one < found.ninetieth]
    assert not smaller or sum(one <= smaller[-1] for one in ordered) < 0.9 * len(ordered)


def test_the_document_counts_every_row_once():
    rows = [judged(28.0, 28.0), refused(judged(1.0, 1.0).row, "v100-pcie-16gb", Refusal(SHAPE, "no size"))]
    made = document(against_groups(rows))
    assert made["covered"] + made["not_covered"] + made["contradicting"] == len(made["rows"]) == 2
    assert made["rows"][1]["why"] == "shape unknown: no size"
    assert made["rows"][1]["ours"] is None
    assert made["mean_abs_error_pct"] == 0
    assert document([])["worst"] is None
