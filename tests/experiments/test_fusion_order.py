"""The shipped example in which the order of horizontal and vertical fusion matters, and why."""

from typing import Any

import pytest

from experiments.config import load_config
from experiments.planner import part_plan
from experiments.run import cards_of, run
from experiments.workload import parts_of
from simulator.workload.layout import Placement

WIDE_FIRST, DEEP_FIRST = "horizontal-then-vertical", "vertical-then-horizontal"
VALUE_BYTES = 2 * 60 * 1024


@pytest.fixture(scope="module")
def totals() -> dict[str, dict[str, Any]]:
    """Sums over the kernels of each order."""
    config = load_config("fusion-order", {"fusion": [WIDE_FIRST, DEEP_FIRST]})
    found = {}
    for result in run(config, workers=1).results:
        table = result.kernels
        columns = ("cycles", "time_us", "dram_read_bytes", "l2_read_bytes")
        found[result.variant] = {name: float(table[name].sum()) for name in columns}
        found[result.variant]["launches"] = len(table)
    return found


def test_the_orders_end_in_different_groups() -> None:
    config = load_config("fusion-order")
    gpu = cards_of(config)[0]
    groups = {
        order: [
            (group.form, group.operators)
            for group in part_plan(config, parts_of(config)[0], order, gpu, Placement()).partition
        ]
        for order in (WIDE_FIRST, DEEP_FIRST)
    }
    assert groups[WIDE_FIRST] == [("vertical", ("n0", "n1")), ("block-split", ("n2", "n3"))]
    assert [set(names) for _, names in groups[DEEP_FIRST]] == [{"n0", "n1", "n2", "n3"}]


def test_along_the_chains_first_is_faster_because_nothing_lies_between(totals) -> None:
    wide, deep = totals[WIDE_FIRST], totals[DEEP_FIRST]
    assert (wide["launches"], deep["launches"]) == (2, 1)
    assert deep["cycles"] < 0.95 * wide["cycles"]
    assert deep["time_us"] < wide["time_us"]
    # One asks L2 for x and both values between; the other for x, at most twice.
    assert wide["l2_read_bytes"] == pytest.approx(3 * VALUE_BYTES, rel=0.01)
    assert deep["l2_read_bytes"] <= 2.01 * VALUE_BYTES
