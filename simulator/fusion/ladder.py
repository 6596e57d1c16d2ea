"""The cost ladder: byte bound, analytic, sampled simulation, full replay. Each rung takes a group's kernels
and what is in L2 before them, and gives their costs; each is dearer than the one before and closer to the
last.

A group is priced by itself. Operands that the graph has written shortly before are in L2, as far as they
fit: for a replay dirty, as their writers leave them, so that it pays for writing them back where it drives
them out; for arithmetic clean. What that leaves out shows when a whole plan is replayed in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan

from hwmodels import Gpu
from simulator.fusion.analytic import estimate
from simulator.fusion.before import put_in, resident_tensors, writers
from simulator.fusion.footprint import byte_bound_fs, footprint_of, least_dram_bytes
from simulator.fusion.price import KernelCost
from simulator.machine.launchable import occupancy_of
from simulator.machine.replay import replay
from simulator.trace.schema import KernelTrace

BYTES, ANALYTIC, SAMPLED, FULL = "bytes", "analytic", "sampled", "full"
RUNG_NAMES = (BYTES, ANALYTIC, SAMPLED, FULL)
PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class Means:
    """What simulation is done with: engine, and the tolerance of a sample."""

    engine: str = "compiled"
    sample: float = 0.02


Rung = Callable[[Sequence[KernelTrace], Gpu, frozenset[str], Means], list[KernelCost]]


def by_bytes(
    traces: Sequence[KernelTrace], gpu: Gpu, resident: frozenset[str], _means: Means
) -> list[KernelCost]:
    """Compulsory bytes at peak bandwidth: never above the replayed time."""
    found = []
    for trace in traces:
        size = least_dram_bytes(trace, footprint_of(trace), gpu, resident)
        time_fs = byte_bound_fs(size, gpu)
        found.append(cost_of(trace, gpu, time_fs, time_fs // gpu.sm_period_fs, size))
    return found


def by_arithmetic(
    traces: Sequence[KernelTrace], gpu: Gpu, resident: frozenset[str], _means: Means
) -> list[KernelCost]:
    """The busiest resource or latency."""
    found = []
    for trace in traces:
        made = estimate(trace, gpu, occupancy_of(trace, gpu), resident)
        found.append(cost_of(trace, gpu, made.cycles * gpu.sm_period_fs, made.cycles, made.dram_bytes))
    return found


def by_sample(
    traces: Sequence[KernelTrace], gpu: Gpu, resident: frozenset[str], means: Means
) -> list[KernelCost]:
    """A replay of the first blocks, carried on to the grid."""
    return replayed(traces, gpu, resident, means.engine, means.sample)


def by_replay(
    traces: Sequence[KernelTrace], gpu: Gpu, resident: frozenset[str], means: Means
) -> list[KernelCost]:
    """A replay of every block."""
    return replayed(traces, gpu, resident, means.engine, None)


RUNGS: dict[str, Rung] = {BYTES: by_bytes, ANALYTIC: by_arithmetic, SAMPLED: by_sample, FULL: by_replay}


def cost_of(trace: KernelTrace, gpu: Gpu, time_fs: int, cycles: int, dram_bytes: int) -> KernelCost:
    """A kernel's cost where nothing was replayed."""
    fits = occupancy_of(trace, gpu)
    return KernelCost(
        time_fs,
        cycles,
        dram_bytes,
        trace.registers_per_thread,
        trace.local_bytes_per_thread,
        trace.shared_bytes_per_block,
        fits.blocks_per_sm,
        theoretical_pct(trace, gpu, fits.blocks_per_sm),
    )


def theoretical_pct(trace: KernelTrace, gpu: Gpu, blocks: int) -> float:
    """Warps of so many blocks of all warp slots."""
    return 100 * blocks * trace.warps_per_block / gpu.sm.warp_slots


def replayed(
    traces: Sequence[KernelTrace],
    gpu: Gpu,
    resident: frozenset[str],
    engine: str,
    sample: float | None,
) -> list[KernelCost]:
    """Costs by the simulator."""
    there = resident_tensors(traces, resident)
    before = writers(there)
    result = replay([*before, *traces], gpu, engine, interval_cycles=0, preload=put_in(there), sample=sample)
    kernels = result.record.kernels[len(before) :]
    rows = result.kernels.to_dict("records")[len(before) :]
    found = []
    for trace, kernel, row in zip(traces, kernels, rows, strict=True):
        found.append(
            KernelCost(
                kernel.end_fs - kernel.start_fs,
                int(row["cycles"]),
                int(row["dram_read_bytes"] + row["dram_write_bytes"]),
                trace.registers_per_thread,
                trace.local_bytes_per_thread,
                trace.shared_bytes_per_block,
                int(row["blocks_per_sm"]),
                float(row["achieved_occupancy_pct"]),
                number(row["l1_hit_pct"]),
                number(row["l2_hit_pct"]),
                round(PPM / 100 * float(row["sample_error_pct"])),
            )
        )
    return found


def number(value: object) -> float | None:
    """A cell of a table; None where it is empty."""
    return float(value) if isinstance(value, int | float) and not isnan(value) else None
