"""Measures one case on one engine, in a process of its own, so that memory and caches are its own.

CPU seconds are of the whole process, threads included, for the whole `replay` call with all statistics; the
best of the repeats counts, since everything else on a computer only adds. Simulated cycles are of kernels,
not of the launch gaps, which cost nothing to skip.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.bench.cases import CARD, WARM_UP, Case
from experiments.bench.host import peak_memory_mb
from experiments.config import make_config
from experiments.run import cards_of
from experiments.workers import run_all
from experiments.workload import make_variant, variant_names

FS_PER_S = 10**15


@dataclass(frozen=True, slots=True)
class Job:
    """One case on one engine."""

    case: Case
    engine: str
    repeats: int
    max_seconds: float | None
    """A replay is cut here; its rates are then of what it has done."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row of the table; all rates are derived from its counts."""

    engine: str
    trace: str
    sm_count: int
    threads: int
    warp_instructions: int
    cycles: int
    cpu_seconds: float
    wall_seconds: float
    kips: float
    """Thousand warp instructions a CPU-second."""
    cycles_per_second: float
    """Simulated SM cycles a CPU-second."""
    slowdown: float
    """Wall seconds for a second of the simulated card."""
    peak_memory_mb: float
    partial: bool
    """Cut by the limit of seconds."""


def measure(job: Job, report: Callable[[float, int], None] | None = None) -> Measurement:
    """Measure in a fresh process."""
    (measurement,) = run_all(_measure, [job], 1, report)
    return measurement


def _measure(job: Job, progress: Callable[[float, int], None]) -> Any:
    _replay(WARM_UP, job, None, progress)
    best: Measurement | None = None
    for _ in range(job.repeats):
        one = _replay(job.case.workload, job, job.max_seconds, progress)
        if best is None or one.cpu_seconds < best.cpu_seconds:
            best = one
    return best


def _replay(
    workload: dict[str, Any], job: Job, max_seconds: float | None, progress: Callable[[float, int], None]
) -> Measurement:
    from simulator import replay

    config = make_config({"gpu": [CARD], "set": {"gpu.scale": job.case.scale}, **workload}, "bench")
    (gpu,) = cards_of(config)
    kernels = make_variant(config, variant_names(config)[0], gpu).kernels
    reached = 0

    def watch(share: float, cycle: int) -> None:
        nonlocal reached
        reached = cycle
        progress(share, cycle)

    wall, cpu = time.perf_counter(), time.process_time()
    result = replay(
        kernels, gpu, job.engine, max_seconds=max_seconds, progress=watch, threads=job.case.threads
    )
    wall_seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    record = result.record
    started = min(kernel.start_fs for kernel in record.kernels) // record.sm_period_fs
    cycles = max(1, reached - started) if result.partial else result.cycles
    return Measurement(
        engine=job.engine,
        trace=job.case.name,
        sm_count=record.sm_count,
        threads=job.case.threads,
        warp_instructions=result.warp_instructions,
        cycles=cycles,
        cpu_seconds=cpu_seconds,
        wall_seconds=wall_seconds,
        kips=result.warp_instructions / cpu_seconds / 1000,
        cycles_per_second=cycles / cpu_seconds,
        slowdown=wall_seconds * FS_PER_S / (cycles * record.sm_period_fs),
        peak_memory_mb=peak_memory_mb(),
        partial=result.partial,
    )
