"""Carrying on: exact where blocks cost the same, and bounded where their cost drifts."""

import pytest

from simulator.machine.sample_estimate import Point, carried, error_ppm, whole_grid
from simulator.statistics.phases import STATES
from simulator.statistics.record import KernelRecord
from simulator.statistics.sample import PPM
from simulator.statistics.schema import INDEX

WAVE = 10


def point(blocks: int, time_fs: int) -> Point:
    kernel = KernelRecord(0, "k", 0, start_fs=500, end_fs=500 + time_fs)
    kernel.counts[INDEX["blocks"]] = blocks
    kernel.counts[INDEX["l2_read_sectors"]] = 8 * blocks
    kernel.states = [blocks] * len(STATES)
    kernel.operations = [3 * blocks, 0, blocks]
    kernel.requests[0], kernel.latency_fs[0] = blocks, 700 * blocks
    kernel.phases[0] = [300 * blocks, 400 * blocks, *[0] * (len(kernel.phases[0]) - 2)]
    return Point(blocks, kernel)


def test_equal_blocks_are_carried_on_exactly() -> None:
    """Fill and drain of 900 fs, 20 fs a block: 4,003 blocks take 900 + 80,060."""
    points = [point(blocks, 900 + 20 * blocks) for blocks in (13, 23, 43, 83)]
    made = whole_grid(points[-2], points[-1], 4003)
    assert (made.start_fs, made.end_fs) == (0, 900 + 20 * 4003)
    assert made.counts[INDEX["blocks"]] == 4003
    assert made.counts[INDEX["l2_read_sectors"]] == 8 * 4003
    assert made.counts[INDEX["resident_warp_cycles"]] == sum(made.states) == len(STATES) * 4003
    assert made.counts[INDEX["warp_instructions"]] == sum(made.operations) == 4 * 4003
    assert made.latency_fs[0] == sum(made.phases[0]) == 700 * 4003


def test_bound_of_equal_blocks_is_one_wave() -> None:
    points = [point(blocks, 900 + 20 * blocks) for blocks in (13, 23, 43, 83)]
    assert error_ppm(points, 4003, WAVE) == PPM * (20 * WAVE) // (900 + 20 * 4003) + 1


@pytest.mark.parametrize("drift", [-3, 2, 5])
def test_bound_holds_where_the_rate_settles(drift: int) -> None:
    """Time a block comes closer to its limit by half with each doubling, as a cache that fills."""

    def time_fs(blocks: int) -> int:
        spent, reached, rate = 0, 0, 100 * (20 + drift)
        edge = 80
        while reached < blocks:
            step = min(blocks, edge) - reached
            spent += step * rate
            reached += step
            edge *= 2
            rate = 2000 + (rate - 2000) // 2
        return spent

    points = [point(blocks, time_fs(blocks)) for blocks in (40, 80, 160, 320)]
    made = whole_grid(points[-2], points[-1], 5120)
    true = time_fs(5120)
    assert PPM * abs(made.end_fs - true) <= error_ppm(points, 5120, WAVE) * true


def test_a_count_never_falls_below_zero() -> None:
    assert carried(10, 4, 1, 2, 100) == 0
