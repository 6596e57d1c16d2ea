"""Ours beside theirs for a PyTorch profiler trace: each different launch of a memory-bound kernel that is
known is replayed once and its duration set beside the median of what was measured.

L2 is as in the run (`run`): full of what others read and wrote, and a known producer runs right before
(`surroundings.py`). `cold` leaves it empty, `warm` has the inputs there as far as they fit, and `written`
lets a kernel that does nothing else write the first input before, so that L2 holds what a producer leaves.
Large grids are replayed on a slice of the card with that part of the grid, which the row says. A profiler
times the start and the end of a kernel too: what it shows of one that does nothing, less our time of that, is
added. Clocks are the card's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.profiles.names import short_name
from experiments.profiles.nsight_names import row_of
from experiments.profiles.profile import Profile, ProfiledKernel
from experiments.profiles.programs import operands_of, trace_of, writing
from experiments.profiles.surroundings import Producer, producers, run_up
from experiments.profiles.tables import occupancy_figures
from experiments.profiles.works import Refused, Work, work_of
from hwmodels.errors import InputError
from simulator.trace.builder import KernelBuilder
from simulator.trace.schema import LANES

if TYPE_CHECKING:
    from hwmodels import Gpu

NANOSECONDS = 1000
SLICED_BLOCKS = 4000
"""Grids above this are replayed on a slice of the card."""
MOST_REPLAYED = 40
NULL_KERNEL_US = 1.235
"""What a profiler shows of an empty kernel: H100 PCIe, Vellaisamy et al., ISPASS 2025, Table V."""
L2_STATES = ("cold", "warm", "written", "run")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Launched:
    """Runs of one launch: the same kernel with the same grid and inputs."""

    kernel: ProfiledKernel
    runs: tuple[ProfiledKernel, ...]
    producer: Producer | None = None
    """What ran right before the first of them, if they read its result."""

    @property
    def measured_us(self) -> float:
        """The median duration."""
        return median(run.duration_ns for run in self.runs) / NANOSECONDS


def launches_of(profile: Profile) -> list[Launched]:
    """The different launches of a profile, in order of their first run."""
    groups: dict[tuple[Any, ...], list[ProfiledKernel]] = {}
    for one in profile.kernels:
        operator = one.operator
        shapes = (operator.name, operator.shapes, operator.types) if operator else ()
        key = (one.name, one.grid, one.block, one.registers, one.shared_bytes, one.device, shapes)
        groups.setdefault(key, []).append(one)
    before = producers(profile)
    return [Launched(runs[0], tuple(runs), before.get(runs[0].place)) for runs in groups.values()]


def compared(
    profile: Profile,
    gpu: Gpu,
    engine: str = "compiled",
    l2_state: str = "cold",
    progress: Progress | None = None,
    most: int = MOST_REPLAYED,
) -> list[dict[str, Any]]:
    """One row a launch: measured and simulated duration, or why there is no simulated one. Of the known
    launches the `most` that took the longest time together are replayed.
    """
    launches = launches_of(profile)
    known = [one for one in launches if isinstance(work_of(one.kernel), Work)]
    dearest = sorted(known, key=lambda one: -one.measured_us * len(one.runs))[:most]
    left_out = {id(one) for one in known} - {id(one) for one in dearest}
    rows = []
    for number, launched in enumerate(launches):
        if progress is not None:
            progress(number, len(launches))
        if id(launched) in left_out:
            why = f"not among the {most} dearest launches (--most)"
            rows.append({**_measured(profile, launched), "why_not": why})
            continue
        rows.append(_row(profile, launched, gpu, engine, l2_state))
    return rows


def _row(profile: Profile, launched: Launched, gpu: Gpu, engine: str, l2_state: str) -> dict[str, Any]:
    kernel = launched.kernel
    work = work_of(kernel)
    row = _measured(profile, launched)
    if isinstance(work, Refused):
        return {**row, "why_not": work.reason}
    try:
        figures = simulated(kernel, work, gpu, engine, l2_state, launched.producer)
    except InputError as error:
        return {**row, "why_not": error.problem}
    row |= figures
    if launched.measured_us:
        row["error_pct"] = 100 * (row["simulated_us"] / launched.measured_us - 1)
    row["size_from"] = "launch" if work.from_launch else "shapes"
    return row


def _measured(profile: Profile, launched: Launched) -> dict[str, Any]:
    """A row without anything of ours but occupancy."""
    kernel = launched.kernel
    return {
        "kernel": kernel.name,
        "short_name": short_name(kernel.name),
        "operator": kernel.operator.name if kernel.operator else None,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "runs": len(launched.runs),
        "measured_us": launched.measured_us,
        "measured_us_min": min(run.duration_ns for run in launched.runs) / NANOSECONDS,
        "measured_us_max": max(run.duration_ns for run in launched.runs) / NANOSECONDS,
        "simulated_us": None,
        "kernel_us": None,
        "error_pct": None,
        "bound": None,
        "slice": None,
        "size_from": None,
        "why_not": None,
        "profiler_occupancy_pct": kernel.occupancy_pct,
        "our_occupancy_pct": occupancy_figures(profile.devices.get(kernel.device), kernel)[
            "our_occupancy_pct"
        ],
    }


def simulated(
    kernel: ProfiledKernel,
    work: Work,
    gpu: Gpu,
    engine: str = "compiled",
    l2_state: str = "cold",
    producer: Producer | None = None,
) -> dict[str, Any]:
    """Duration and bound of one launch on a card."""
    part, card, share = sliced(kernel, gpu)
    own = _cut(work, part, share)
    row = replayed_row(part, own, card, engine, l2_state, _cut_producer(producer, own, share))
    kernel_us = float(row["cycles"]) * card.sm_period_fs / 1e9
    return {
        "simulated_us": kernel_us + max(0.0, NULL_KERNEL_US - null_kernel_us(gpu)),
        "kernel_us": kernel_us,
        "bound": row["bound"],
        "slice": card.scale,
        "dram_throughput_pct": float(row["dram_throughput_pct"]),
    }


@lru_cache(maxsize=16)
def null_kernel_us(gpu: Gpu) -> float:
    """Our time of a kernel that does nothing."""
    from simulator import replay

    empty = KernelBuilder("null", 1, LANES).build()
    return float(replay([empty], gpu).kernels.iloc[0].cycles) * gpu.sm_period_fs / 1e9


def replayed_row(
    kernel: ProfiledKernel,
    work: Work,
    gpu: Gpu,
    engine: str = "compiled",
    l2_state: str = "cold",
    producer: Producer | None = None,
) -> dict[str, Any]:
    """The row of kernels.csv of one launch, all of it."""
    from simulator import replay

    if l2_state == "run":
        before, places = run_up(producer, work, gpu)
    else:
        places = operands_of(work)
        before = [writing(one) for one in places.inputs[:1]] if l2_state == "written" else []
    state = "warm" if l2_state == "warm" else "cold"
    result = replay([*before, trace_of(kernel, work, places)], gpu, engine, l2_state=state)
    return row_of(result, -1)


def totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How much was compared, and how well it agrees."""
    known = [row for row in rows if row["error_pct"] is not None]
    time = sum(row["measured_us"] * row["runs"] for row in rows)
    errors = [row["error_pct"] for row in known]
    return {
        "launches": len(rows),
        "kernels": sum(row["runs"] for row in rows),
        "simulated": len(known),
        "simulated_share_pct": 100 * sum(row["measured_us"] * row["runs"] for row in known) / time
        if time
        else 0.0,
        "mean_abs_error_pct": sum(map(abs, errors)) / len(errors) if errors else None,
        "worst_pct": max(errors, key=abs) if errors else None,
    }


def sliced(kernel: ProfiledKernel, gpu: Gpu) -> tuple[ProfiledKernel, Gpu, int]:
    """The part of a large one-dimensional grid that falls on a slice of the card, with the slice and its
    denominator; all of a small grid, on the whole card.
    """
    if kernel.blocks > SLICED_BLOCKS and kernel.grid[0] == kernel.blocks:
        for denominator in range(kernel.blocks // SLICED_BLOCKS + 1, 1, -1):
            try:
                card = gpu.scaled(f"1/{denominator}")
            except InputError:
                continue
            return _part_of(kernel, denominator), card, denominator
    return kernel, gpu, 1


def _part_of(kernel: ProfiledKernel, share: int) -> ProfiledKernel:
    return kernel if share == 1 else replace(kernel, grid=(max(1, kernel.blocks // share), 1, 1))


def _cut(work: Work, part: ProfiledKernel, share: int) -> Work:
    """The work of a part of the grid: whole blocks of a run over the elements."""
    if share == 1:
        return work
    elements = part.blocks * part.threads * work.per_thread
    if len(set(work.shapes)) > 1:
        # An operand that broadcasts keeps its shape: a part of the grid reads the same values of it.
        return replace(work, elements=elements)
    return replace(work, elements=elements, shapes=tuple((elements,) for _ in work.shapes))


def _cut_producer(producer: Producer | None, work: Work, share: int) -> Producer | None:
    """The part of a producer that makes what a part of the grid reads; None where they don't fit."""
    if producer is None or share == 1:
        return producer
    kernel = producer.kernel
    if kernel.grid[0] != kernel.blocks:
        return None
    part = _part_of(kernel, share)
    own = _cut(producer.work, part, share)
    return Producer(part, own) if own.elements == work.elements else None
