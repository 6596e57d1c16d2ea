"""The cursors against a naive walk of the program tree, the recorded form, and their own checkpoints."""

import itertools
import time
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hwmodels.operations import Operation
from simulator.trace.builder import KernelBuilder
from simulator.trace.expand import expand, recorded
from simulator.trace.expression import block, lane, thread, warp
from simulator.trace.schema import KernelTrace

LIMIT = 3000
QUIET = settings(max_examples=70, deadline=None, suppress_health_check=list(HealthCheck))


@QUIET
@given(data=st.data())
def test_walks_agree_with_the_naive_one_and_with_the_recording(
    data: Any, naive_walk: Any, random_traces: Any
) -> None:
    trace = data.draw(random_traces)
    walked = list(itertools.islice(expand(trace), LIMIT))
    assert walked == list(itertools.islice(naive_walk(trace), LIMIT))
    if len(walked) < LIMIT:
        assert list(expand(recorded(trace))) == walked


@QUIET
@given(data=st.data(), stop=st.integers(0, 40))
def test_a_restored_cursor_goes_on_where_the_dumped_one_stood(
    data: Any, stop: int, random_traces: Any
) -> None:
    generated = data.draw(random_traces)
    traces = [generated]
    if sum(1 for _ in itertools.islice(expand(generated), LIMIT)) < LIMIT:
        traces.append(recorded(generated))
    for trace in traces:
        first = trace.cursor(trace.blocks - 1, 0)
        for _ in range(stop):
            if first.peek() >= 0:
                first.advance()
        second = trace.cursor(0, trace.warps_per_block - 1)
        second.restore(first.dump())
        assert rest(first) == rest(second)


def rest(cursor: Any) -> list[tuple[int, int]]:
    steps = []
    while cursor.peek() >= 0 and len(steps) < LIMIT:
        steps.append((cursor.peek(), cursor.mask()))
        cursor.advance()
    return steps


def tiled(trips: int = 3) -> KernelTrace:
    k = KernelBuilder("tiled", grid=(4, 2, 1), block=64)
    with k.loop(trips) as turn:
        k.load(2, block * 4096 + thread * 4 + turn * 128)
        with k.guard(warp * 32 + lane + turn, 1, 40):
            k.fadd(3, 2, 3)
    return k.build()


def test_equal_patterns_are_one_object_and_affine_bases_follow_the_counters() -> None:
    cursor = tiled().cursor(5, 1)
    base, offsets = cursor.access()
    assert (base, offsets) == (5 * 4096 + 128, tuple(range(0, 128, 4)))
    cursor.advance()
    assert cursor.mask() == 0x000000FF  # threads 32–63, below 40
    cursor.advance()
    assert cursor.instruction.operation is Operation.BRANCH
    cursor.advance()
    assert (cursor.peek(), cursor.access()[0]) == (0, base + 128)
    assert cursor.access()[1] is offsets


def test_loops_of_no_trips_are_skipped_and_warps_may_differ() -> None:
    k = KernelBuilder("uneven", grid=1, block=96)
    with k.loop(warp - 1):
        k.alu(2, 2)
    trace = k.build()
    assert [len(rest(trace.cursor(0, number))) for number in range(3)] == [1, 1, 3]


def test_fetch_addresses_are_16_bytes_apart() -> None:
    assert tiled().flat().fetch_addresses == [0, 16, 32, 48]


def test_the_walk_is_fast_enough_for_an_inner_loop() -> None:
    cursor = tiled(trips=100_000).cursor(0, 0)
    best = min(microseconds(cursor) for _ in range(5))
    assert best < 8, f"{best:.1f} µs for an advance, a mask and a third of an address"


def microseconds(cursor: Any) -> float:
    start = time.process_time()
    for _ in range(6000):
        cursor.mask()
        if cursor.static == 0:
            cursor.access()
        cursor.advance()
    return (time.process_time() - start) / 6000 * 1e6
