"""Totals of a few runs are in the repository, so that a change of results is always seen and explained."""

import copy
import json

import pytest

from simulator.machine.replay import ENGINES
from simulator.statistics.schema import COUNTER_NAMES
from tests.golden.runs import RUNS, TOTALS, changes, replayed, totals_of

REMEDY = "meant? `python -m tests.golden.regenerate`, and say in the commit why the numbers moved"
KEPT = json.loads(TOTALS.read_text(encoding="utf-8"))


def test_every_run_is_kept_and_no_other():
    assert list(KEPT) == list(RUNS), REMEDY


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("name", RUNS)
def test_totals(name, engine):
    moved = changes(KEPT[name], totals_of(replayed(name, engine)))
    assert not moved, "\n".join([f"{name} on the {engine} engine:", *moved, REMEDY])


def test_the_runs_reach_every_counter():
    reached = {name for run in KEPT.values() for kernel in run["kernels"].values() for name in kernel}
    assert not set(COUNTER_NAMES) - reached


def test_a_change_is_named():
    before = KEPT["atomics"]
    after = copy.deepcopy(before)
    label = next(iter(after["kernels"]))
    after["kernels"][label]["l2_atomic_requests"] += 5
    after["card"] = "another"
    line, note = changes(before, after)
    assert line.startswith(f"{label}: l2_atomic_requests ")
    assert "card" in note
    after = copy.deepcopy(before) | {"digest": "another"}
    assert changes(before, after) == ["no counter, but phases, intervals, queues or the times of requests"]
    assert changes(before, before) == []
