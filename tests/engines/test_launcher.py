"""The grid launcher: where blocks go, how many fit, when kernels start, what the turn of a block costs."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodels.occupancy import occupancy
from hwmodels.operations import Operation
from simulator.statistics.record import LIMITERS
from simulator.trace.builder import KernelBuilder
from simulator.trace.expression import lane
from tests.engines.readings import FIRST_FETCH_CYCLES, tiny_card

LONG = 4000


def up(value, step):
    return -(-value // step) * step


def marked(blocks=1, threads=32, *, work=0, name="marked", **header):
    """Blocks whose warps each leave a mark, the shared load that they issue first, and then compute."""
    header = {"registers_per_thread": 16, "shared_bytes_per_block": 128} | header
    k = KernelBuilder(name, blocks, threads, **header)
    k.load_shared(0, 4 * (lane % 32))
    if work:
        k.emit(Operation.OPAQUE, 1, 2, latency=work)
        k.alu(3, 1)
    return k.build()


def marks(record, kernel=0):
    """(cycle, SM) of the marks, in order of time."""
    period = record.sm_period_fs
    return sorted((one.issue_fs // period, one.sm) for one in record.requests if one.kernel == kernel)


@pytest.mark.parametrize("sms", [6, 8])
def test_breadth_first_one_block_a_cycle(run, sms):
    gpu = tiny_card(sm_count=sms, sm__sub_cores=1, sm__scheduler="lrr")
    got = marks(run(marked(3 * sms, work=LONG), gpu, keep_requests=True))
    first = got[0][0] - FIRST_FETCH_CYCLES
    # The first block of an SM waits for its instructions; later ones find them.
    assert got == sorted(
        (first + wave * sms + sm + (0 if wave else FIRST_FETCH_CYCLES), sm)
        for wave in range(3)
        for sm in range(sms)
    )


@pytest.mark.parametrize(("rate", "gaps"), [(250, {4}), (400, {2, 3}), (2000, {0, 1})])
def test_dispatch_rate(run, rate, gaps):
    gpu = tiny_card(sm_count=8, launch__dispatch_blocks_per_kilocycle=rate)
    cycles = [cycle for cycle, _ in marks(run(marked(32, work=LONG), gpu, keep_requests=True))[8:]]
    steps = [b - a for a, b in pairwise(cycles)]
    assert set(steps) == gaps
    assert sum(steps) == pytest.approx(1000 * len(steps) / rate, abs=1)


@settings(max_examples=40)
@given(
    threads=st.sampled_from([32, 64, 96, 160, 256, 1000]),
    registers=st.integers(1, 128),
    shared=st.sampled_from([0, 128, 1000, 3000, 20_000]),
    barriers=st.sampled_from([1, 2, 5]),
    slots=st.sampled_from([0, 8]),
    size_kib=st.sampled_from([32, 100, 256]),
    block_slots=st.sampled_from([32, 3]),
)
def test_as_many_blocks_as_the_occupancy_says(
    run, threads, registers, shared, barriers, slots, size_kib, block_slots
):
    gpu = tiny_card(
        register_file__size_kib=size_kib, sm__block_slots=block_slots, sm__barrier_slots=slots or 0
    )
    fits = occupancy(gpu, threads, registers, max(shared, 128), barriers)
    if not fits.blocks_per_sm:
        return
    trace = marked(
        fits.blocks_per_sm + 1,
        threads,
        work=LONG,
        registers_per_thread=max(registers, 4),
        shared_bytes_per_block=max(shared, 128),
        barriers=barriers,
    )
    fits = occupancy(gpu, threads, max(registers, 4), max(shared, 128), barriers)
    record = run(trace, gpu, keep_requests=True)
    kernel = record.kernels[0]
    first = [cycle for cycle, _ in marks(record) if cycle < LONG]
    warps = -(-threads // 32)
    assert len(first) == min(fits.blocks_per_sm, trace.blocks) * warps
    assert kernel.blocks_per_sm == fits.blocks_per_sm
    blocked = {name for name, cycles in zip(LIMITERS, kernel.launch_blocked_cycles, strict=True) if cycles}
    assert blocked == (set(fits.limiters) if trace.blocks > fits.blocks_per_sm else set())
    smallest = [
        kib * 1024
        for kib in gpu.shared_memory.carveouts_kib
        if kib * 1024 >= fits.blocks_per_sm * up(max(shared, 128), gpu.shared_memory.allocation_unit_bytes)
    ]
    assert kernel.carveout_bytes == smallest[0]


def test_kernels_of_a_stream_wait_for_the_gap_and_for_the_host(run):
    gpu = tiny_card(launch__stream_gap_ns=700, launch__host_period_ns=2000, launch__graph_gap_ns=90)
    period = gpu.sm_period_fs
    works = [0, 0, 9000, 0]
    kernels = [marked(1, work=work, name=f"k{place}") for place, work in enumerate(works)]
    for launch, gap, host in (("stream", 700, 2000), ("graph", 90, 0)):
        record = run(kernels, gpu, launch=launch)
        ended, issued = 0, -(10**15)
        for kernel in record.kernels:
            start = up(max(ended + gap * 10**6, issued + host * 10**6), period)
            done = 1 * 10**6
            # The launcher knows of the end when "block done" has arrived, which is before any gap is over.
            assert kernel.start_fs == max(start, up(ended + done, period) if ended else 0)
            assert kernel.launch_fs == kernel.start_fs - ended
            ended, issued = kernel.end_fs, kernel.start_fs


def test_streams_run_side_by_side(run):
    gpu = tiny_card()
    two = [marked(1, work=LONG, name=f"k{stream}", stream=stream) for stream in (0, 1)]
    same = [marked(1, work=LONG, name=f"k{stream}") for stream in (0, 1)]
    apart, behind = run(two, gpu), run(same, gpu)
    assert apart.end_fs < 1.1 * LONG * gpu.sm_period_fs
    assert behind.end_fs > 2 * LONG * gpu.sm_period_fs
    assert behind.kernels[1].start_fs >= behind.kernels[0].end_fs


def test_the_kernel_that_started_first_is_placed_first(run):
    gpu = tiny_card(sm__block_slots=2)
    kernels = [marked(4, work=LONG, name="first", stream=5), marked(2, work=LONG, name="second", stream=3)]
    record = run(kernels, gpu, keep_requests=True)
    assert marks(record, 0)[-1][0] < marks(record, 1)[0][0]


def test_a_block_that_fits_goes_past_one_that_does_not(run):
    gpu = tiny_card(sm__block_slots=4)
    large = marked(2, 1024, work=LONG, name="large", registers_per_thread=64)
    small = marked(1, 32, work=LONG, name="small", registers_per_thread=16, stream=1)
    record = run([large, small], gpu, keep_requests=True)
    assert {name for name, c in zip(LIMITERS, record.kernels[0].launch_blocked_cycles, strict=True) if c} == {
        "registers"
    }
    assert marks(record, 1)[0][0] > LONG


@pytest.mark.parametrize("clock_mhz", [1000, 1530, 777])
def test_the_turn_of_a_block(run, clock_mhz):
    """From a block's first issue to that of the next one in its place."""
    gpu = tiny_card(
        clock_mhz=clock_mhz, sm__block_slots=1, launch__block_done_ns=93, launch__block_launch_ns=57
    )
    sm, period = gpu.sm, gpu.sm_period_fs
    load = (
        sm.operand_latency_cycles
        + sm.mio_latency_cycles
        + gpu.shared_memory.access_latency_cycles
        + sm.writeback_latency_cycles
    )
    cycles = [cycle for cycle, _ in marks(run(marked(6), gpu, keep_requests=True))]
    for this, following in pairwise(cycles):
        freed = (this + load + sm.exit_latency_cycles) * period
        known = up(freed + 93 * 10**6, period)
        assert following * period == up(known + 57 * 10**6, period)


def test_stores_do_not_hold_a_block(run):
    """The end of a block is the hand-over of its last store, not the acknowledgement."""
    gpu = tiny_card()
    k = KernelBuilder("store", 1, 32, registers_per_thread=16)
    k.store(0, 4 * lane + (1 << 32))
    record = run(k.build(), gpu, keep_requests=True)
    [store] = record.requests
    sm, period = gpu.sm, gpu.sm_period_fs
    handed_over = (
        sm.operand_latency_cycles
        + sm.mio_latency_cycles
        + gpu.l1.tag_latency_cycles
        + gpu.l1.miss_latency_cycles
    )
    assert record.kernels[0].end_fs == store.issue_fs + (handed_over + sm.exit_latency_cycles) * period
    assert store.finish_fs > record.kernels[0].end_fs
