"""Nsight Compute's measurements beside ours under the same names, kernel by kernel.

What follows from the launch alone (occupancy, its limits, waves) is always there. The rest needs a replay:
either a result folder of ours whose kernels are the measured ones in the same order, or a kernel whose work
is known from its name and launch. A metric that we don't have is left out; one that they lack too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.profiles.nsight import NsightKernel
from experiments.profiles.nsight_names import NAMES, Name
from experiments.profiles.profile import ProfiledKernel
from hwmodels.block_limits import BlockNeeds
from hwmodels.errors import InputError
from hwmodels.occupancy import occupancy_of
from hwmodels.sm_limits import SmLimits

if TYPE_CHECKING:
    from hwmodels import Gpu

REGISTERS = ("Registers Per Thread", "launch__registers_per_thread")
DYNAMIC = ("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic")
STATIC = ("Static Shared Memory Per Block", "launch__shared_mem_per_block_static")
CONFIGURED = ("Shared Memory Configuration Size", "launch__shared_mem_config_size")
KIB = 1024


def launch_row(kernel: NsightKernel, gpu: Gpu) -> dict[str, Any]:
    """The launch of a measured kernel as a row of kernels.csv would state it, without a replay."""
    needs, sm = needs_of(kernel), SmLimits.of_gpu(gpu)
    configured = kernel.value(*CONFIGURED)
    if configured and configured <= sm.carveouts_bytes[-1]:
        needs = replace(needs, carveout_kib=int(configured) // KIB)
    answer = occupancy_of(sm, needs)
    return {
        "kernel": kernel.name,
        "grid_blocks": kernel.grid[0] * kernel.grid[1] * kernel.grid[2],
        "threads_per_block": needs.threads,
        "registers_per_thread": needs.registers,
        "shared_bytes_per_block": needs.shared_bytes,
        "blocks_per_sm": answer.blocks_per_sm,
        "theoretical_occupancy_pct": answer.theoretical_pct,
        "limits": answer.limits,
    }


def needs_of(kernel: NsightKernel) -> BlockNeeds:
    """What its blocks need; an InputError where the page did not record registers."""
    registers = kernel.value(*REGISTERS)
    if registers is None:
        raise InputError(
            kernel.place, "no registers a thread", "profile with the section LaunchStats (--set basic)"
        )
    shared = (kernel.value(*DYNAMIC) or 0.0) + (kernel.value(*STATIC) or 0.0)
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    return BlockNeeds(threads, int(min(registers, 255)), int(shared))


def as_profiled(kernel: NsightKernel) -> ProfiledKernel:
    """The kernel in the form that our programs of known kernels start from."""
    needs = needs_of(kernel)
    duration = kernel.value("Duration", "gpu__time_duration.sum", unit="ns") or 0.0
    return ProfiledKernel(
        name=kernel.name,
        place=kernel.place,
        device=0,
        stream=0,
        start_ns=0,
        duration_ns=round(duration),
        grid=kernel.grid,
        block=kernel.block,
        registers=needs.registers,
        shared_bytes=needs.shared_bytes,
        occupancy_pct=None,
        correlation=0,
    )


def metric_rows(kernel: NsightKernel, gpu: Gpu, row: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """One row a metric that both have; `row` is ours of kernels.csv, None where nothing was replayed."""
    launch = launch_row(kernel, gpu)
    found = []
    for name in NAMES:
        theirs = theirs_of(kernel, name)
        if theirs is None:
            continue
        source = launch if name.from_launch else row
        ours = None if source is None else name.of(source, gpu)
        found.append(
            {
                "section": name.section,
                "metric": name.details,
                "raw_name": name.raw,
                "unit": name.unit,
                "theirs": theirs,
                "ours": ours,
                "difference_pct": 100 * (ours / theirs - 1) if ours is not None and theirs else None,
                "from": "launch" if name.from_launch else "replay",
            }
        )
    return found


def theirs_of(kernel: NsightKernel, name: Name) -> float | None:
    """The measured value under either of its names, in our unit where the page states one."""
    for (own, unit), metric in kernel.metrics.items():
        if own in {name.details, name.raw} and metric.value is not None and _same(unit, name.unit):
            return metric.value
    if name.details == "Shared Memory Per Block":
        needs = needs_of(kernel)
        return float(needs.shared_bytes)
    return None


def _same(theirs: str, ours: str) -> bool:
    """Whether two units measure the same: shares, bytes and times are told apart, words of counts are not."""
    kinds = ("%", "byte/s", "byte", "ns", "hz")
    kind_theirs = next((kind for kind in kinds if theirs.startswith(kind)), "")
    kind_ours = next((kind for kind in kinds if ours.startswith(kind)), "")
    return kind_theirs == kind_ours


def matched(
    kernels: Sequence[NsightKernel], rows: Sequence[Mapping[str, Any]], place: str
) -> list[Mapping[str, Any]]:
    """Our rows for the measured kernels, one each in order; an InputError where launches differ."""
    if len(rows) != len(kernels):
        problem = f"{len(rows)} kernels, where {len(kernels)} were measured"
        raise InputError(place, problem, "replay the kernels that were measured")
    for kernel, row in zip(kernels, rows, strict=True):
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
        if (int(row["threads_per_block"]), int(row["grid_blocks"])) != (threads, blocks):
            ours = f"{row['grid_blocks']} x {row['threads_per_block']}"
            problem = f"{row['kernel']} is {ours}, measured was {blocks} x {threads} ({kernel.place})"
            raise InputError(place, problem, "replay the kernels that were measured")
    return list(rows)
