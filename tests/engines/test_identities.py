"""Whatever card and kernels: the run ends, everything adds up, and every kept request sums to its latency.

Two hundred pairs by seed, the same in every session; more of them, and hypothesis' own, in the long tests.
The balances themselves are checked by the fixture `run`.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.machine.options import Preload
from simulator.statistics.phases import ACCESS_CLASSES, STATE_NAMES
from simulator.statistics.schema import COUNTER_NAMES, INDEX
from simulator.trace.tally import tally
from tests.machines.dice import SeededDice
from tests.machines.random_card import cards, seeded_card
from tests.machines.random_trace import seeded_traces, traces

SEEDS = 200
GROUP = 20


def random_options(seed):
    """How the run is looked at and launched, by the seed."""
    dice = SeededDice(seed + 10**6)
    return {
        "launch": dice.choice(("stream", "graph")),
        "interval_cycles": dice.choice((0, 97, 1000)),
        "preload": dice.choice(((), (Preload(1 << 32, 3000), Preload((1 << 32) + (1 << 16), 1)))),
        "keep_requests": dice.choice((False, True)),
        "keep_blocks": dice.choice((0, 3, 1 << 20)),
    }


def check_blocks(record, kernels, kept):
    """The first blocks of every kernel, each on an SM, inside the kernel's time; the last one ends it."""
    for place, (kernel, trace) in enumerate(zip(record.kernels, kernels, strict=True)):
        own = [one for one in record.blocks if one.kernel == place]
        assert sorted(one.index for one in own) == list(range(min(kept, trace.blocks)))
        for one in own:
            assert kernel.start_fs <= one.start_fs < one.end_fs <= kernel.end_fs
            assert 0 <= one.sm < record.sm_count
        if kept >= trace.blocks:
            assert max(one.end_fs for one in own) == kernel.end_fs
            resident_fs = sum(one.end_fs - one.start_fs for one in own) * -(-trace.threads_per_block // 32)
            warp_cycles = kernel.counts[INDEX["resident_warp_cycles"]]
            # A block goes at its last warp's end, some cycles after the first of its warps.
            assert resident_fs >= warp_cycles * record.sm_period_fs


def check_requests(record):
    """Kept requests are those that were counted, phase by phase."""
    for place, kernel in enumerate(record.kernels):
        own = [one for one in record.requests if one.kernel == place]
        for access_class in range(len(ACCESS_CLASSES)):
            of_class = [one for one in own if one.access_class == access_class]
            assert len(of_class) == kernel.requests[access_class]
            columns = [sum(column) for column in zip(*(one.phases for one in of_class), strict=True)]
            assert columns == (kernel.phases[access_class] if of_class else [])
    for one in record.requests:
        assert sum(one.phases) == one.finish_fs - one.issue_fs
        assert min(one.phases) >= 0


def check_seed(run, seed):
    gpu = seeded_card(seed)
    kernels = seeded_traces(seed, gpu)
    options = random_options(seed)
    record = run(kernels, gpu, **options)
    assert not record.partial
    assert record.expected_instructions == [int(sum(tally(trace))) for trace in kernels]
    if options["keep_requests"]:
        check_requests(record)
    check_blocks(record, kernels, options["keep_blocks"])


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_everything_adds_up(run, first):
    for seed in range(first, first + GROUP):
        check_seed(run, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, 20 * SEEDS, GROUP))
def test_everything_adds_up_on_many_more(run, first):
    for seed in range(first, first + GROUP):
        check_seed(run, seed)


@settings(max_examples=25)
@given(data=st.data())
def test_everything_adds_up_where_hypothesis_looks(run, data):
    gpu = data.draw(cards())
    kernels = data.draw(traces(gpu))
    check_requests(run(kernels, gpu, keep_requests=True))


def test_the_random_machines_are_worth_it(run):
    """Every state, every class of requests and every counter occurs among the first."""
    spent, requests, counts = [0] * len(STATE_NAMES), [0] * len(ACCESS_CLASSES), [0] * len(COUNTER_NAMES)
    for seed in range(SEEDS // 4):
        gpu = seeded_card(seed)
        for kernel in run(seeded_traces(seed, gpu), gpu, interval_cycles=0).kernels:
            for totals, values in (
                (spent, kernel.states),
                (requests, kernel.requests),
                (counts, kernel.counts),
            ):
                for place, value in enumerate(values):
                    totals[place] += value
    assert [name for name, value in zip(STATE_NAMES, spent, strict=True) if not value] == []
    assert all(requests)
    assert [name for name, value in zip(COUNTER_NAMES, counts, strict=True) if not value] == []
