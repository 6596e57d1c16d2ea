"""Threads share the work of a replay and change no number of it, however many there are."""

import numpy as np
import pytest

pytest.importorskip("numba")

from simulator.machine.compiled import layout
from simulator.machine.compiled.engine import Machine, simulate
from simulator.machine.compiled.pools import left
from simulator.machine.compiled.store import Store
from simulator.machine.options import Options
from simulator.machine.record_difference import differences
from tests.engines.readings import same_numbers
from tests.engines.test_identities import random_options
from tests.machines.random_card import seeded_card
from tests.machines.random_trace import seeded_traces


def record_of(seed, threads, **options):
    gpu = seeded_card(seed)
    return same_numbers(simulate(seeded_traces(seed, gpu), gpu, Options(threads=threads, **options)))


def compare(seed, counts):
    options = {**random_options(seed), "keep_requests": False}
    one = record_of(seed, 1, **options)
    for threads in counts:
        many = record_of(seed, threads, **options)
        assert differences(one, many) == []
        assert many == one


@pytest.mark.parametrize("seed", range(4))
def test_threads_change_no_number(seed):
    compare(seed, (2,))


@pytest.mark.parametrize("seed", range(40))
def test_shares_change_no_number(seed, monkeypatch):
    """The same without threads, which a busy computer keeps waiting for each other."""
    monkeypatch.setattr(Machine, "parallel", False)
    compare(seed, (2, 3, 8))


def test_a_run_that_keeps_requests_is_done_by_one():
    one = record_of(3, 1, keep_requests=True)
    assert one.requests
    assert record_of(3, 4, keep_requests=True) == one


def given_back(store, worker):
    """What a worker has on its stack of nodes."""
    own = store.pools_of(worker)[layout.P_NODES]
    return store.stack_of(layout.P_NODES, worker)[: own["count"]].tolist()


def test_a_worker_that_runs_low_gets_what_another_was_given_back():
    store = Store(2)
    store.pool(layout.P_NODES, 100, 10)
    before = len(store.tables["nodes"])
    poor, rich = (store.pools_of(worker)[layout.P_NODES] for worker in range(2))
    poor["fresh"] = poor["end"] - 4
    entries = list(range(150, 190))
    store.stack_of(layout.P_NODES, 1)[:40] = entries
    rich["count"], rich["fresh"] = 40, rich["end"] - 10
    store.grow_where_low()
    assert len(store.tables["nodes"]) == before
    assert left(poor) + left(rich) == 54
    assert left(poor) >= poor["low"]
    assert sorted(given_back(store, 0) + given_back(store, 1)) == entries
    assert len(given_back(store, 0)) == left(poor) - 4


def test_where_nobody_has_enough_the_pool_grows():
    store = Store(2)
    store.pool(layout.P_NODES, 100, 10)
    before = len(store.tables["nodes"])
    for worker in range(2):
        own = store.pools_of(worker)[layout.P_NODES]
        own["fresh"] = own["end"] - 3
    store.grow_where_low()
    table = store.tables["nodes"]
    pools = [store.pools_of(worker)[layout.P_NODES] for worker in range(2)]
    assert all(left(one) >= one["low"] for one in pools)
    assert len(store.stack_of(layout.P_NODES, 1)) == len(table)
    new = given_back(store, 0) + given_back(store, 1)
    assert len(set(new)) == len(new)
    assert set(new) == set(np.arange(before, len(table)).tolist())
