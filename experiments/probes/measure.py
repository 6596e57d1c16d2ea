"""Replays for probes: what a kernel costs beyond its start, and what its last memory requests took.

Silicon's microbenchmarks subtract or ignore the start of a kernel; so do these. They use the public replay
and its results only, so that a probe sees what a user would see.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hwmodels import Gpu
from simulator.machine.options import Preload
from simulator.machine.replay import replay
from simulator.statistics.phases import PHASE_NAMES
from simulator.statistics.result import Result
from simulator.trace.schema import KernelTrace

ENGINE = "reference"
"""For what takes seconds; it needs no compiling. Both engines give equal numbers."""
FAST = "compiled"
"""For what warms caches or streams through them."""


def replayed(
    traces: Sequence[KernelTrace],
    gpu: Gpu,
    *,
    preload: Sequence[Preload] = (),
    keep_requests: bool = False,
    interval_cycles: int = 0,
    max_cycles: int | None = None,
    engine: str = ENGINE,
    launch: str = "stream",
) -> Result:
    """One replay."""
    return replay(
        traces,
        gpu,
        engine,
        launch=launch,
        interval_cycles=interval_cycles,
        preload=preload,
        max_cycles=max_cycles,
        keep_requests=keep_requests,
    )


def marginal_cycles(
    gpu: Gpu, make: Callable[[int], list[KernelTrace]], count: int, *, engine: str = ENGINE
) -> float:
    """SM cycles that one more round takes: 2 × `count` rounds less `count`, over `count`."""
    longer, shorter = (replayed(make(rounds), gpu, engine=engine).cycles for rounds in (2 * count, count))
    return (longer - shorter) / count


@dataclass(frozen=True, slots=True)
class Load:
    """One finished load: SM cycles from issue to write-back, and in each latency phase."""

    issue_cycle: float
    latency_cycles: float
    phases: dict[str, float]


def last_loads(result: Result, count: int) -> list[Load]:
    """The last `count` memory requests of a replay that kept them, in order of issue."""
    period = result.record.sm_period_fs
    kept = sorted(result.record.requests, key=lambda one: one.issue_fs)[-count:]
    return [
        Load(
            one.issue_fs / period,
            (one.finish_fs - one.issue_fs) / period,
            {name: spent / period for name, spent in zip(PHASE_NAMES, one.phases, strict=True) if spent},
        )
        for one in kept
    ]


def mean_step(loads: Sequence[Load]) -> float:
    """SM cycles from one dependent load to the next: what a chase with a clock around it sees."""
    return (loads[-1].issue_cycle - loads[0].issue_cycle) / (len(loads) - 1)


def mean_latency(loads: Sequence[Load]) -> float:
    """Mean of the loads' own latencies."""
    return sum(one.latency_cycles for one in loads) / len(loads)


def one_sm(gpu: Gpu) -> Gpu:
    """The card with a single SM, for what happens inside one."""
    return gpu.with_overrides({"sm_count": 1})
