"""What the bus of DRAM carries in a kernel's own time: by hand, by conservation, and on a run in which one
kernel drives out what another has dirtied.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import CARD, HEADERS, PERIOD_FS, synthetic_run

from hwmodels import Gpu
from simulator import replay
from simulator.statistics.bus import sectors_written_during
from simulator.statistics.record import IntervalRecord, KernelRecord, RunRecord
from simulator.statistics.result import Result
from simulator.statistics.schema import INDEX
from simulator.trace.kernels import from_spec

WRITES = INDEX["dram_write_sectors"]


def run_of(kernels: list[tuple[int, int]], writes: list[tuple[int, int, int, int]]) -> RunRecord:
    """Kernels as (start, end); writes as (kernel charged, start, end, sectors) of an interval."""
    records = [
        KernelRecord(at, "k", 0, start_fs=start, end_fs=end) for at, (start, end) in enumerate(kernels)
    ]
    record = RunRecord("reference", "paper-gpu", "", 1, 1, records)
    record.end_fs = max(end for _, end in kernels)
    for kernel, start, end, sectors in writes:
        interval = IntervalRecord(kernel, start, end, [0] * len(INDEX), [])
        interval.counts[WRITES] = sectors
        record.intervals.append(interval)
        records[kernel].counts[WRITES] += sectors
    return record


def test_writes_belong_to_the_time_in_which_they_happen_and_not_to_who_dirtied_the_line() -> None:
    record = run_of([(0, 100), (150, 250)], [(0, 0, 100, 4), (0, 200, 300, 40), (1, 200, 300, 8)])
    assert sectors_written_during(record) == [4, 48]


def test_an_interval_with_two_kernels_and_a_gap_is_shared_by_the_time_that_they_ran() -> None:
    assert sectors_written_during(run_of([(0, 20), (40, 100)], [(0, 0, 100, 80)])) == [20, 60]


def test_kernels_side_by_side_both_see_the_bus() -> None:
    assert sectors_written_during(run_of([(0, 100), (50, 100)], [(0, 50, 100, 10)])) == [10, 10]


def test_writes_after_the_last_kernel_are_nobodys() -> None:
    assert sectors_written_during(run_of([(0, 90)], [(0, 0, 100, 3), (0, 100, 200, 9)])) == [3]


def test_without_intervals_the_run_is_one() -> None:
    record = run_of([(100, 200), (300, 600)], [(0, 0, 600, 80)])
    record.intervals = []
    assert sectors_written_during(record) == [20, 60]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 90)), min_size=1, max_size=8),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_kernels_in_order_get_every_write_that_happens_while_one_of_them_runs(spans, length, dice) -> None:
    kernels, at = [], 0
    for gap, duration in spans:
        kernels.append((at + gap, at + gap + duration))
        at += gap + duration
    writes = [
        (dice.randrange(len(kernels)), start, start + length, dice.randrange(100))
        for start in range(0, at + 3 * length, length)
    ]
    touched = sum(
        sectors
        for _, start, end, sectors in writes
        if any(first < end and last > start for first, last in kernels)
    )
    assert sum(sectors_written_during(run_of(kernels, writes))) == pytest.approx(touched)


def test_the_table_counts_own_reads_and_all_writes_meanwhile() -> None:
    """10 sectors of `conv` are written in the 1,000 cycles (1 µs at 1 GB/s: 1,000 bytes) of `relu`."""
    record = synthetic_run()
    record.kernels[0].counts[WRITES] += 10
    record.intervals.append(IntervalRecord(0, 4_000 * PERIOD_FS, 5_000 * PERIOD_FS, [0] * len(INDEX), []))
    record.intervals[-1].counts[WRITES] = 10
    conv, relu = Result(record, HEADERS, CARD, verify=False).kernels.to_dict("records")
    assert (conv["dram_write_bytes"], relu["dram_write_bytes"]) == (320, 0)
    assert conv["dram_throughput_pct"] == pytest.approx(102.4)
    assert relu["dram_throughput_pct"] == pytest.approx(32.0)


def test_no_kernel_has_more_than_the_bus_when_another_drives_its_lines_out() -> None:
    """`init` leaves 320 KiB dirty in the 384 KiB of L2 and takes a quarter of the time that DRAM would."""
    gpu = Gpu.from_card("v100-sxm2-16gb").with_overrides({"gpu.scale": "1/16"})
    traces = [
        trace
        for spec in ("init,megabytes=0.3125", "copy,megabytes=0.25")
        for trace in from_spec(f"kernel:{spec}")
    ]
    init, copy = replay(traces, gpu, interval_cycles=1_000).kernels.to_dict("records")
    peak = gpu.dram.bandwidth_gb_s * 1e3 * init["cycles"] * gpu.sm_period_fs / 1e9
    assert init["dram_write_bytes"] > peak
    assert init["dram_throughput_pct"] < 10
    assert 50 < copy["dram_throughput_pct"] <= 100
    assert init["bound"] == "l2"
