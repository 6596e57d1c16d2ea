"""What runs before a sampled kernel and what is put into L2: enough to turn it over, or all there is."""

import pytest

from hwmodels import Gpu
from simulator.machine.options import Preload
from simulator.machine.sample_estimate import Point
from simulator.machine.sample_past import Past, turned_bytes
from simulator.statistics.record import KernelRecord
from simulator.statistics.schema import INDEX
from simulator.trace.kernels import from_spec

SLICE = Gpu.from_card("v100-sxm2-16gb").with_overrides({"gpu.scale": "1/16"})
L2_BYTES = 384 * 1024


def record(turned: int, time_fs: int = 10**12, index: int = 0) -> KernelRecord:
    kernel = KernelRecord(index, "k", 0, end_fs=time_fs)
    kernel.counts[INDEX["l2_fill_sectors"]] = turned // 64
    kernel.counts[INDEX["l2_write_sectors"]] = turned // 64
    return kernel


def past(*turned: int, preload: tuple[Preload, ...] = ()) -> Past:
    """Stages of a chain, 1 MiB in and out each, that turned so many bytes over."""
    traces = from_spec(f"chain,megabytes=1,stages={len(turned) + 1}")
    return Past(traces, [record(one) for one in turned], SLICE, preload)


def test_of_a_long_kernel_only_the_end_runs_first() -> None:
    found = past(20 * L2_BYTES)
    (before,), preload = found.before(1)
    whole = found.traces[0]
    assert preload == ()
    assert before.blocks == -(-whole.blocks * 125 // 2000)
    assert turned_bytes(found.kernels[0]) == 20 * L2_BYTES
    last = whole.cursor(whole.blocks - 1, 0)
    ours = before.cursor(before.blocks - 1, 0)
    while last.instruction.address is None:
        last.advance()
        ours.advance()
    assert ours.addresses() == last.addresses()


def test_short_kernels_run_whole_with_what_was_in_l2_at_the_start() -> None:
    start = (Preload(0, 4096),)
    found = past(L2_BYTES // 2, L2_BYTES // 2, preload=start)
    before, preload = found.before(2)
    assert before == list(found.traces[:2])
    assert preload is start
    assert found.error_ppm(2, record(0)) == 0


def test_what_is_older_is_put_in_as_far_as_it_fits() -> None:
    found = past(L2_BYTES, L2_BYTES // 8, L2_BYTES // 8)
    before, preload = found.before(3)
    assert before == list(found.traces[1:3])
    result = found.traces[0].tensors[-1]
    assert sum(one.bytes for one in preload) == L2_BYTES
    assert preload[-1].base_address + preload[-1].bytes == result.base_address + result.bytes


def test_a_past_that_did_not_all_run_costs_half_of_l2_and_noise() -> None:
    found = past(20 * L2_BYTES)
    half_s = L2_BYTES / 2 / (SLICE.dram.bandwidth_gb_s * 1e9)
    assert found.error_ppm(1, record(0, time_fs=10**12)) == pytest.approx(
        5000 + 1e6 * half_s / 1e-3, rel=0.05
    )
    assert found.error_ppm(0, record(0)) == 0


@pytest.mark.parametrize(
    ("at_point", "at_end", "settled"),
    [(125, 1000, True), (124, 1000, False), (10, 40, False), (10, 30, False)],
)
def test_l2_is_settled_when_turned_over(at_point: int, at_end: int, settled: bool) -> None:
    """The tensors of 1 MiB are larger than L2, so nothing short of turning it over settles it."""
    found = past()
    point = Point(10, record(at_point * L2_BYTES // 100 + 64))
    assert found.settled(point, record(at_end * L2_BYTES // 100)) == settled


def test_a_kernel_that_fits_in_a_cold_l2_is_settled_at_once() -> None:
    traces = from_spec("chain,megabytes=0.03125,stages=3")
    point = Point(10, record(6400))
    assert Past(traces, [], SLICE, ()).settled(point, record(L2_BYTES // 4))
    # The second stage reads what the first wrote; after half of L2 has passed, who knows how much is left.
    kernels = [record(L2_BYTES * 3 // 4)]
    assert not Past(traces, kernels, SLICE, ()).settled(point, record(L2_BYTES // 4, index=1))
    kernels = [record(L2_BYTES // 4)]
    assert Past(traces, kernels, SLICE, ()).settled(point, record(L2_BYTES // 4, index=1))


def test_a_sample_that_cannot_turn_l2_over_is_given_up_at_once() -> None:
    """Ten blocks bring a tenth of L2; a margin of two is left for kernels that bring more later."""
    point = Point(10, record(L2_BYTES // 10))
    assert past().hopeless(point, 0, 60)
    assert not past().hopeless(point, 0, 65)
    small = Past(from_spec("copy,megabytes=0.0625"), [], SLICE, ())
    assert not small.hopeless(point, 0, 60)
