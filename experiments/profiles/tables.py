"""What a trace says of its kernels, as rows: launch, duration, theirs and our occupancy, and the gap before
each kernel of a stream.

Our occupancy beside theirs is the profiler's own figure worked out by our rules, since theirs counts only
blocks that the grid has; the theoretical occupancy and its limiters stand next to it.
"""

from typing import Any

from experiments.profiles.profile import Device, Profile, ProfiledKernel
from hwmodels.block_limits import BlockNeeds
from hwmodels.errors import InputError
from hwmodels.kineto_occupancy import kineto_occupancy_pct
from hwmodels.occupancy import occupancy_of
from hwmodels.sm_limits import CAPABILITIES, SmLimits

NANOSECONDS = 1000


def kernel_rows(profile: Profile) -> list[dict[str, Any]]:
    """One row a kernel, in the order of their starts."""
    gaps = gaps_ns(profile)
    return [_row(profile, kernel, gaps[number]) for number, kernel in enumerate(profile.kernels)]


def _row(profile: Profile, kernel: ProfiledKernel, gap_ns: int | None) -> dict[str, Any]:
    operator, launch = kernel.operator, kernel.launch
    ours = occupancy_figures(profile.devices.get(kernel.device), kernel)
    return {
        "kernel": kernel.name,
        "operator": operator.name if operator else None,
        "input_shapes": [list(shape) for shape in operator.shapes] if operator else [],
        "input_types": list(operator.types) if operator else [],
        "device": kernel.device,
        "stream": kernel.stream,
        "start_us": (kernel.start_ns - profile.kernels[0].start_ns) / NANOSECONDS,
        "duration_us": kernel.duration_ns / NANOSECONDS,
        "gap_us": None if gap_ns is None else gap_ns / NANOSECONDS,
        "launch": launch.name if launch else None,
        "launch_to_start_us": (kernel.start_ns - launch.start_ns) / NANOSECONDS if launch else None,
        "correlation": kernel.correlation,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "registers_per_thread": kernel.registers,
        "shared_bytes_per_block": kernel.shared_bytes,
        "profiler_occupancy_pct": kernel.occupancy_pct,
        **ours,
    }


def occupancy_figures(device: Device | None, kernel: ProfiledKernel) -> dict[str, Any]:
    """The profiler's figure by our rules, theoretical occupancy, limiters; None for an unknown device."""
    unknown: dict[str, Any] = {
        "our_occupancy_pct": None,
        "theoretical_occupancy_pct": None,
        "blocks_per_sm": None,
        "limiters": [],
    }
    if device is None or device.capability not in CAPABILITIES:
        return unknown
    sm = SmLimits.of_capability(device.capability)
    pct = kineto_occupancy_pct(
        sm, device.sm_count, kernel.threads, kernel.registers, kernel.shared_bytes, kernel.blocks
    )
    try:
        answer = occupancy_of(sm, BlockNeeds(kernel.threads, min(kernel.registers, 255), kernel.shared_bytes))
    except InputError as error:
        raise InputError(kernel.place, error.problem, error.remedy) from None
    return {
        "our_occupancy_pct": pct,
        "theoretical_occupancy_pct": answer.theoretical_pct,
        "blocks_per_sm": answer.blocks_per_sm,
        "limiters": list(answer.limiters),
    }


def gaps_ns(profile: Profile) -> list[int | None]:
    """Idle time of each kernel's stream before it; None for a stream's first, 0 where they overlap."""
    ends: dict[tuple[int, int], int] = {}
    gaps: list[int | None] = []
    for kernel in profile.kernels:
        key = (kernel.device, kernel.stream)
        end = ends.get(key)
        gaps.append(None if end is None else max(0, kernel.start_ns - end))
        ends[key] = max(kernel.end_ns, end or 0)
    return gaps


def summary(profile: Profile, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts and totals over the rows. A gap counts as the launch gap when the next launch was already made
    before the kernel ahead of it ended: the stream then waited for nothing but the launch itself.
    """
    judged = [row for row in rows if None not in (row["profiler_occupancy_pct"], row["our_occupancy_pct"])]
    queued = [
        row["gap_us"]
        for row, before in zip(rows, _before(profile), strict=True)
        if before is not None and row["gap_us"] is not None and _queued(profile, row, before)
    ]
    gaps = [row["gap_us"] for row in rows if row["gap_us"] is not None]
    return {
        "kernels": len(rows),
        "events": profile.events,
        "copies": profile.copies,
        "busy_us": sum(row["duration_us"] for row in rows),
        "gap_us": sum(gaps),
        "gaps": len(gaps),
        "queued_gaps": len(queued),
        "median_queued_gap_us": sorted(queued)[len(queued) // 2] if queued else None,
        "occupancy_compared": len(judged),
        "occupancy_equal": sum(row["profiler_occupancy_pct"] == row["our_occupancy_pct"] for row in judged),
    }


def _before(profile: Profile) -> list[ProfiledKernel | None]:
    last: dict[tuple[int, int], ProfiledKernel] = {}
    found = []
    for kernel in profile.kernels:
        key = (kernel.device, kernel.stream)
        found.append(last.get(key))
        last[key] = kernel
    return found


def _queued(profile: Profile, row: dict[str, Any], before: ProfiledKernel) -> bool:
    if row["launch_to_start_us"] is None:
        return False
    launched_us = row["start_us"] - row["launch_to_start_us"]
    return bool(launched_us <= (before.end_ns - profile.kernels[0].start_ns) / NANOSECONDS)
