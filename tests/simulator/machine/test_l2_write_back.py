"""Write-backs by rows of DRAM: which lines go with an evicted one, which stay, and what it is good for."""

import pytest

from hwmodels import Gpu
from hwmodels.slice_hash import line_from
from simulator import replay
from simulator.machine.messages import READ, WRITE
from simulator.statistics.schema import DRAM_COUNTERS
from simulator.trace.kernels import from_spec

STEP = 3000
"""Cycles after which a lone request is surely done."""
SETS, WAYS = 8, 2
LINES = SETS * WAYS
FAR_AWAY = 1000 * LINES
"""A line of a slice in other rows than the first ones, in the set of line 0 as these are numbered."""


def card(sets=SETS, ways=WAYS, **more):
    """A whole V100 with few lines in each slice."""
    whole = Gpu.from_card("v100-sxm2-16gb")
    size = whole.l2.slices * sets * ways * 128 // 1024
    return whole.with_overrides({"l2.ways": ways, "l2.size_kib": size, **more})


def filled(bench_class, packet_maker, gpu, after):
    """A slice whose lines 0 to 15 are written in order, then `after`: (operation, local line, sectors)."""
    script = [(WRITE, local, 15) for local in range(LINES)] + after
    packets = [
        packet_maker(what, 0, line_from(1, local, gpu.l2.slices, gpu.l2.partitions), sectors)
        for what, local, sectors in script
    ]
    return bench_class(gpu, {0: [(STEP * at, packet) for at, packet in enumerate(packets)]}).run()


def written(run):
    assert run.total("l2_writeback_sectors") == run.total("dram_write_sectors")
    return run.total("l2_writeback_sectors"), run.total("l2_dirty_left")


@pytest.mark.parametrize(("together", "lines"), [(32, LINES // 2), (4, 4), (1, 1)])
def test_the_older_half_goes_with_the_first_eviction(bench_class, packet_maker, together, lines):
    gpu = card(**{"l2.write_back_lines": together})
    run = filled(bench_class, packet_maker, gpu, [(READ, FAR_AWAY, 1)])
    assert written(run) == (4 * lines, 4 * (LINES - lines))


def test_what_was_written_back_stays_and_goes_later_without_a_write(bench_class, packet_maker):
    gpu = card()
    older = [(READ, local, 15) for local in range(SETS)]
    run = filled(bench_class, packet_maker, gpu, [(READ, FAR_AWAY, 1), *older])
    # Of the older half one line has gone, and when it comes back another one of its set.
    assert run.total("l2_read_hits") >= 4 * (SETS - 2)
    # Eight lines of other rows take the ways of the older half.
    victims = [(READ, FAR_AWAY + place, 1) for place in range(1, SETS)]
    run = filled(bench_class, packet_maker, gpu, [(READ, FAR_AWAY, 1), *victims])
    assert written(run) == (4 * SETS, 4 * SETS)


def test_rows_of_other_lines_are_left_alone(bench_class, packet_maker):
    gpu = card(ways=2 * WAYS)
    near, away = gpu.l2.write_back_lines, 5 * gpu.l2.write_back_lines
    packets = [(WRITE, local, 3) for base in (0, near, away) for local in range(base, base + 2)]
    # One clean line is used until the dirty ones are cold; then more clean lines take all ways.
    packets += [(READ, FAR_AWAY, 1)] * 2 * LINES
    packets += [(READ, FAR_AWAY + place, 1) for place in range(4 * LINES)]
    made = [
        packet_maker(what, 0, line_from(1, local, gpu.l2.slices, 1), sectors)
        for what, local, sectors in packets
    ]
    run = bench_class(gpu, {0: [(STEP * at, packet) for at, packet in enumerate(made)]})
    part = run.slice(1)
    batches = []
    send = part.partition.memory.write_back

    def noted(index, line, sectors, kernel, leaves_fs):
        batches.append((leaves_fs, line))
        send(index, line, sectors, kernel, leaves_fs)

    part.partition.memory.write_back = noted
    run.run()
    times = {}
    for time, line in batches:
        times.setdefault(time, set()).add(line)
    pairs = [{line_from(1, base + one, gpu.l2.slices, 1) for one in range(2)} for base in (0, near, away)]
    assert sorted(map(sorted, times.values())) == sorted(map(sorted, pairs))
    assert written(run) == (12, 0)


def test_a_full_write_queue_ends_the_batch(bench_class, packet_maker):
    queue = {"dram.write_queue_depth": 4, "dram.drain_high": 3, "dram.drain_low": 1}
    run = filled(bench_class, packet_maker, card(**queue), [(READ, FAR_AWAY, 1)])
    # Four sectors of a line fall on two pseudo-channels: two lines, and both queues are full.
    assert written(run) == (4 * 2, 4 * (LINES - 2))


def test_a_line_on_its_way_is_left_alone(bench_class, packet_maker):
    gpu = card(sets=2, ways=1)
    line = [line_from(1, local, gpu.l2.slices, 1) for local in range(2)]
    # Some line of other rows that takes the way of line 1.
    tags = bench_class(gpu, {}).slice(1).tags
    other = next(
        one
        for one in (line_from(1, FAR_AWAY + place, gpu.l2.slices, 1) for place in range(9))
        if tags.set_index(one) == tags.set_index(line[1])
    )

    def after(wait):
        """What is written when line 1 is evicted so many cycles after line 0 has missed."""
        script = [
            (0, packet_maker(WRITE, 0, line[0], 1)),
            (STEP, packet_maker(WRITE, 0, line[1], 15)),
            (2 * STEP, packet_maker(READ, 0, line[0], 2)),
            (2 * STEP + wait, packet_maker(READ, 0, line[1], 1)),
            (2 * STEP + wait, packet_maker(READ, 0, line[1], 1)),  # now line 0 is cold
            (2 * STEP + wait, packet_maker(READ, 0, other, 1)),
        ]
        return written(bench_class(gpu, {0: script}).run())

    assert after(1) == (4, 1)
    assert after(STEP) == (5, 0)


@pytest.mark.parametrize("name", ["v100-sxm2-16gb", "a100-sxm-40gb"])
def test_streams_of_several_vectors_a_thread_open_fewer_rows(name):
    gpu = Gpu.from_card(name).scaled("1/16" if name.startswith("v100") else "1/4")
    size = 8 * gpu.l2.size_kib / 1024
    rows = [counter.name for counter in DRAM_COUNTERS].index("activates")
    spec = f"kernel:copy,megabytes={size},unroll=4,threads=128"
    alone, together = (
        replay(from_spec(spec), gpu.with_overrides({"l2.write_back_lines": lines})) for lines in (1, 32)
    )
    assert together.record.dram[rows] < 0.7 * alone.record.dram[rows]
    assert together.cycles < alone.cycles
