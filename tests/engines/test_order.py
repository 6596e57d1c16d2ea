"""What must not change a number: the order of building, the order of simultaneous events, being watched,
running twice.
"""

import dataclasses
import random

import pytest

from simulator.statistics.identities import AT_THE_END
from simulator.statistics.schema import COUNTER_NAMES
from tests.engines.readings import same_numbers
from tests.machines.random_card import seeded_card
from tests.machines.random_trace import seeded_traces

SEEDS = range(700, 710)
SETTLED_AT_THE_END = AT_THE_END | {"resident_warp_cycles"}


def machine(seed):
    gpu = seeded_card(seed)
    return seeded_traces(seed, gpu), gpu


def record_of(run, seed, **options):
    return same_numbers(run(*machine(seed), **options))


def only_for(engine, name):
    if engine != name:
        pytest.skip(f"an option of the {name} engine")


@pytest.mark.parametrize("seed", SEEDS)
def test_running_twice(run, seed):
    kernels, gpu = machine(seed)
    first, second = (same_numbers(run(kernels, gpu)) for _ in range(2))
    assert first == second
    assert first == record_of(run, seed), "traces and cards that have run before are as good as new"


@pytest.mark.parametrize("seed", SEEDS)
def test_building_in_reverse(engine, run, seed):
    only_for(engine, "reference")
    assert record_of(run, seed, reverse_build=True) == record_of(run, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_shuffling_simultaneous_events(engine, run, seed):
    only_for(engine, "reference")
    plain = record_of(run, seed)
    for shuffle in range(3):
        priority = random.Random(shuffle).getrandbits
        assert record_of(run, seed, priority=lambda draw=priority: draw(8)) == plain


@pytest.mark.parametrize("seed", SEEDS)
def test_being_watched(run, seed):
    plain = record_of(run, seed)
    seen = []
    watched = record_of(run, seed, keep_requests=True, progress=lambda *report: seen.append(report))
    assert watched.requests or not any(map(any, (kernel.requests for kernel in plain.kernels)))
    assert seen
    assert seen[-1][0] == 1
    assert dataclasses.replace(watched, requests=[]) == plain
    for interval_cycles in (0, 97):
        sliced = record_of(run, seed, interval_cycles=interval_cycles)
        assert dataclasses.replace(sliced, intervals=plain.intervals) == plain


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stop_is_a_time(run, seed):
    """A run that is stopped has counted what the whole run had counted by then, and nothing more."""
    total = cycles_of(record_of(run, seed))
    for stop in (total // 3, total // 2):
        cut = record_of(run, seed, max_cycles=stop)
        assert cut.partial
        first = [one for one in record_of(run, seed, interval_cycles=stop).intervals if one.start_fs == 0]
        for place, kernel in enumerate(cut.kernels):
            before = next((one.counts for one in first if one.kernel == place), [0] * len(kernel.counts))
            for name, got, wanted in zip(COUNTER_NAMES, kernel.counts, before, strict=True):
                assert got == wanted or name in SETTLED_AT_THE_END, name


def cycles_of(record):
    return record.end_fs // record.sm_period_fs
