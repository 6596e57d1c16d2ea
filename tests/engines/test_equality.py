"""Two engines, one machine: every number of a run is the same in both, on random cards and random kernels.

Five hundred pairs by seed, the same in every session; twenty thousand in the long tests, and hypothesis' own.
The records are compared whole, kept requests and intervals included; what differs is named as `stallscope
diverge` names it.
"""

import importlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.machine.options import Options
from simulator.machine.record_difference import differences
from simulator.machine.replay import ENGINES
from simulator.trace.kernels import from_spec
from tests.engines.readings import same_numbers
from tests.engines.test_identities import random_options
from tests.machines.random_card import base_card, cards, seeded_card
from tests.machines.random_trace import seeded_traces, traces

OTHERS = sorted(set(ENGINES) - {"reference"})
SEEDS = 500
LONG_SEEDS = 20_000
GROUP = 25


def record_of(engine, kernels, gpu, **options):
    record = importlib.import_module(ENGINES[engine]).simulate(kernels, gpu, Options(**options))
    record.engine = ""
    return same_numbers(record)


def compare(engine, kernels, gpu, **options):
    ours = record_of("reference", kernels, gpu, **options)
    theirs = record_of(engine, kernels, gpu, **options)
    assert differences(ours, theirs) == []
    assert theirs == ours


def compare_seeds(engine, first):
    for seed in range(first, first + GROUP):
        gpu = seeded_card(seed)
        compare(engine, seeded_traces(seed, gpu), gpu, **random_options(seed))


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
@pytest.mark.parametrize("other", OTHERS)
def test_both_engines_count_the_same(other, first):
    compare_seeds(other, first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, LONG_SEEDS, GROUP))
@pytest.mark.parametrize("other", OTHERS)
def test_both_engines_count_the_same_on_many_more(other, first):
    compare_seeds(other, first)


@pytest.mark.parametrize("other", OTHERS)
@settings(max_examples=25)
@given(data=st.data())
def test_both_engines_count_the_same_where_hypothesis_looks(other, data):
    gpu = data.draw(cards())
    compare(other, data.draw(traces(gpu)), gpu, keep_requests=True)


@pytest.mark.parametrize("seed", range(900, 912))
@pytest.mark.parametrize("other", OTHERS)
def test_a_cut_run_is_cut_at_the_same_place(other, seed):
    gpu = seeded_card(seed)
    kernels = seeded_traces(seed, gpu)
    whole = record_of("reference", kernels, gpu)
    cycles = whole.end_fs // whole.sm_period_fs
    for stop in (1, cycles // 3, cycles // 2):
        compare(other, kernels, gpu, max_cycles=max(stop, 1), interval_cycles=97)


@pytest.mark.parametrize("other", OTHERS)
def test_a_request_that_ends_behind_the_cut_is_not_counted(other):
    """Each fifth cycle is the last: some just before a request of a single line ends, some just behind."""
    gpu = base_card("v100-sxm2-16gb").with_overrides({"scale": "1/16"})
    kernels = from_spec("kernel:copy,megabytes=0.015625,bytes_per_lane=4")
    cycles = record_of("reference", kernels, gpu).end_fs // gpu.sm_period_fs
    for stop in range(cycles - 500, cycles, 5):
        compare(other, kernels, gpu, max_cycles=stop)
