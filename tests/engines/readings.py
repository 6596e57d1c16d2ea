"""Numbers of a run by name, and the small cards on which the tests' closed forms hold."""

from functools import cache
from typing import Any

from hwmodels import Gpu
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.record import RunRecord
from simulator.statistics.schema import INDEX
from tests.machines.random_card import base_card

TINY = {
    "sm_count": 1,
    "memory_partitions": 1,
    "l2.slices": 1,
    "l2.size_kib": 192,
    "dram.channels": 1,
    "tlb.reach_mib": 0,
    "dram.refresh": "none",
    "launch.stream_gap_ns": 0,
    "launch.host_period_ns": 0,
    "launch.block_launch_ns": 1,
    "launch.block_done_ns": 1,
    "sm.warp_setup_tenths": 0,
    "sm.fetch_line_bytes": 512,
    "sm.l0_miss_latency_cycles": 1,
    "sm.l1_instruction_miss_latency_cycles": 1,
}
"""One SM, one slice, one channel; instructions are there two cycles after a block is accepted."""
FIRST_FETCH_CYCLES = 2


@cache
def tiny_card(base: str = "v100-sxm2-16gb", **overrides: Any) -> Gpu:
    """The tiny card with overrides; keys are written with two underscores for the dot."""
    return base_card(base).with_overrides(TINY | dotted(overrides))


def dotted(overrides: dict[str, Any]) -> dict[str, Any]:
    """`l1__ways` → `l1.ways`."""
    return {key.replace("__", "."): value for key, value in overrides.items()}


def states(record: RunRecord, kernel: int = 0) -> dict[str, int]:
    """Warp-cycles of each state that occurred."""
    spent = zip(STATE_NAMES, record.kernels[kernel].states, strict=True)
    return {name: cycles for name, cycles in spent if cycles}


def count(record: RunRecord, name: str, kernel: int = 0) -> int:
    """A counter of a kernel."""
    return record.kernels[kernel].counts[INDEX[name]]


def same_numbers(record: RunRecord) -> RunRecord:
    """The record without what depends on the machine that ran the simulator."""
    record.wall_seconds = record.cpu_seconds = record.peak_memory_mb = 0.0
    return record
