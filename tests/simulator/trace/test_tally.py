"""Counting in closed form against walking every instruction."""

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwmodels.errors import InputError
from simulator.trace.builder import KernelBuilder
from simulator.trace.expand import expand, recorded
from simulator.trace.expression import block, thread, warp
from simulator.trace.info import info
from simulator.trace.tally import tally

LIMIT = 2000


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_counts_equal_a_walk(data: Any, random_traces: Any) -> None:
    trace = data.draw(random_traces)
    walked = list(itertools.islice(expand(trace), LIMIT))
    if len(walked) == LIMIT:
        return
    counts = Counter(item.static for item in walked)
    expected = [counts[index] for index in range(len(trace.flat().instructions))]
    assert tally(trace) == expected
    assert tally(recorded(trace)) == expected


def test_a_hundred_million_instructions_are_counted_at_once() -> None:
    k = KernelBuilder("long", grid=1000, block=128)
    with k.loop(5000), k.loop(1):
        k.alu(2, 2)
        k.alu(3, 3)
    facts = info(k.build())
    assert facts["warp_instructions"] == 4000 * (5000 * 4 + 1)
    assert facts["mix"] == {"ALU": 40_000_000, "BRANCH": 40_000_000, "EXIT": 4000}


def test_a_bounds_check_takes_whole_warps_out() -> None:
    k = KernelBuilder("bounded", grid=100_000, block=256)
    with k.guard(block * 256 + thread, 1000, 1 << 40):
        k.exit(0)
    k.alu(2, 2)
    assert tally(k.build()) == [800_000, 32, 32]  # 1000 threads are 32 warps


def test_triangular_loops() -> None:
    k = KernelBuilder("triangle", grid=2, block=64)
    with k.loop(10) as outer, k.loop(outer + warp, branch=False):
        k.alu(2, 2)
    assert tally(k.build()) == [2 * (45 + 55), 40, 4]


def test_what_cannot_be_counted_is_refused_by_name() -> None:
    k = KernelBuilder("endless", grid=1, block=32)
    with k.loop(1 << 30) as outer, k.loop(outer):
        k.alu(2, 2)
    with pytest.raises(InputError, match=r"^endless: counting .* more than 200000 steps"):
        tally(k.build())
