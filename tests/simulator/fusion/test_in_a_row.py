"""Partitions compared in their place: pieces, what is exchanged, and that replayed rows decide."""

import pytest

from simulator import replay
from simulator.fusion.groups import BLOCK_SPLIT, Partition, horizontal, vertical
from simulator.fusion.in_a_row import ends_alike, exchanged, pieces, rows_fs, settled
from simulator.fusion.planner import Planner
from simulator.fusion.price import spacing_fs
from simulator.workload.operator_list import operator_list
from tests.simulator.fusion.support import planner_of

SHAPE = [8, 1024]
NAMES = [f"n{at}" for at in range(5)]


def two_chains() -> Planner:
    """n0 → n1 → n2 and, beside them, n3 → n4."""
    links = (("Relu", "x", "a"), ("Tanh", "a", "b"), ("Abs", "b", "c"), ("Exp", "y", "d"), ("Neg", "d", "e"))
    items = [{"op": kind, "inputs": [source], "output": made, "shape": SHAPE} for kind, source, made in links]
    return planner_of(operator_list(items), rung="full")


APART: Partition = tuple(map(vertical, NAMES))
CHAINS: Partition = (vertical("n0", "n1"), vertical("n2"), vertical("n3", "n4"))
WIDE: Partition = (
    horizontal(BLOCK_SPLIT, [vertical("n0"), vertical("n3")]),
    vertical("n1"),
    vertical("n2"),
    vertical("n4"),
)


def test_pieces_are_the_least_sets_that_both_compute() -> None:
    assert set(pieces(APART, CHAINS)) == {frozenset(("n0", "n1")), frozenset(("n3", "n4"))}
    assert set(pieces(CHAINS, WIDE)) == {frozenset(("n0", "n1", "n3", "n4"))}
    assert not list(pieces(CHAINS, CHAINS))


def test_a_piece_is_exchanged_in_an_order_that_can_be_launched() -> None:
    planner = two_chains()
    one = exchanged(planner, APART, CHAINS, frozenset(("n0", "n1")))
    assert one is not None
    assert set(one) == {vertical("n0", "n1"), *map(vertical, NAMES[2:])}
    assert one.index(vertical("n0", "n1")) < one.index(vertical("n2"))
    assert ends_alike(APART, one) == 0
    assert ends_alike(APART[::-1], one[::-1]) == 3


def test_a_row_takes_what_its_kernels_take(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = two_chains()
    traces = [one.trace for group in APART for one in planner.kernels(group)]
    result = replay(traces, planner.gpu, "compiled", interval_cycles=0)
    kernels = result.record.kernels
    spent = sum(spacing_fs(one.end_fs - one.start_fs, planner.gpu, "stream") for one in kernels)
    assert rows_fs(planner, [APART]) == [spent]
    # Known rows are not replayed again.
    monkeypatch.setattr("simulator.fusion.in_a_row.replay", None)
    assert rows_fs(planner, [APART, APART]) == [spent, spent]


@pytest.mark.parametrize("start", [APART, WIDE])
def test_the_faster_way_is_taken_for_every_piece(start: Partition) -> None:
    planner = two_chains()
    everything: Partition = (vertical("n0", "n1", "n2"), vertical("n3", "n4"))
    found = settled(planner, start, [CHAINS, everything])
    mine, *others = rows_fs(planner, [found, start, CHAINS, everything])
    assert mine <= min(others)
    assert settled(planner, found, [start, CHAINS]) == found
