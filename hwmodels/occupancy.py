"""Occupancy: blocks an SM holds, every resource that limits them, and the smallest step to one block more.

Active blocks are the least of all limits of `block_limits`, and several may bind at once
(`facts/OCCUPANCY.md`, rules 5 to 7). Shared memory follows either the largest carve-out or a given one.
Theoretical occupancy is a share of warp slots; what is achieved over time is the machine's business, not this
file's.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hwmodels.block_limits import (
    LIMITERS,
    BlockNeeds,
    block_limits,
    carveout_bytes,
    check_needs,
    launch_problem,
    register_limit,
    shared_limit,
)
from hwmodels.occupancy_rules import NO_LIMIT
from hwmodels.sm_limits import SmLimits

if TYPE_CHECKING:
    from hwmodels.gpu import Gpu


@dataclass(frozen=True, slots=True)
class NextStep:
    """The fewest registers a thread and shared bytes a block to give up, together, for one block more."""

    blocks_per_sm: int
    theoretical_pct: float
    registers_fewer: int
    shared_bytes_fewer: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The answer for one kernel. `limits` holds each limiter's own blocks, None where it does not limit."""

    blocks_per_sm: int
    warps_per_block: int
    theoretical_pct: float
    limiters: tuple[str, ...]
    limits: dict[str, int | None]
    carveout_bytes: int
    next_step: NextStep | None  # None: no saving of registers or shared memory buys a block
    cannot_launch: str  # which limit is broken and by how much; empty for a kernel that launches


def occupancy(
    gpu: "Gpu",
    threads: int,
    registers: int,
    shared_bytes: int,
    barriers: int = 0,
    carveout_kib: int | None = None,
) -> Occupancy:
    """The occupancy of a kernel on a card; an InputError for numbers that no kernel can have."""
    needs = BlockNeeds(threads, registers, shared_bytes, barriers, carveout_kib)
    return occupancy_of(SmLimits.of_gpu(gpu), needs)


def occupancy_of(sm: SmLimits, needs: BlockNeeds) -> Occupancy:
    """The same for bare limits. A kernel that does not fit has 0 blocks and says why."""
    check_needs(sm, needs)
    limits = block_limits(sm, needs)
    blocks = min(limits.values())
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_block=needs.warps,
        theoretical_pct=_percent(sm, needs, blocks),
        limiters=tuple(name for name in LIMITERS if limits[name] == blocks),
        limits={name: None if limits[name] == NO_LIMIT else limits[name] for name in LIMITERS},
        carveout_bytes=carveout_bytes(sm, needs, needs.shared_bytes),
        next_step=_next_step(sm, needs, limits),
        cannot_launch=launch_problem(sm, needs),
    )


def _percent(sm: SmLimits, needs: BlockNeeds, blocks: int) -> float:
    return 100.0 * blocks * needs.warps / sm.warp_slots


def _next_step(sm: SmLimits, needs: BlockNeeds, limits: dict[str, int]) -> NextStep | None:
    target = min(limits.values()) + 1
    if min(limits["warps"], limits["blocks"], limits["barriers"]) < target:
        return None
    registers = _registers_for(sm, needs, target)
    shared = _shared_bytes_for(sm, needs, target)
    if registers is None or shared is None:
        return None
    return NextStep(
        blocks_per_sm=target,
        theoretical_pct=_percent(sm, needs, target),
        registers_fewer=needs.registers - registers,
        shared_bytes_fewer=needs.shared_bytes - shared,
    )


def _registers_for(sm: SmLimits, needs: BlockNeeds, target: int) -> int | None:
    """Most registers a thread, up to what is used, with which `target` blocks fit; None: no number does."""
    if register_limit(sm, needs.warps, needs.registers) >= target:
        return needs.registers
    most = min(needs.registers, sm.registers_max_per_thread)
    fitting = (count for count in range(most, 0, -1) if register_limit(sm, needs.warps, count) >= target)
    return next(fitting, None)


def _shared_bytes_for(sm: SmLimits, needs: BlockNeeds, target: int) -> int | None:
    """Most bytes a block, up to what is used, with which `target` blocks fit; None: no number does.

    Only the most bytes of each allocation step are tried, all the way down: with a given carve-out the limit
    is not monotone, since a larger block may raise the carve-out.
    """
    if shared_limit(sm, needs, needs.shared_bytes) >= target:
        return needs.shared_bytes
    most = min(needs.shared_bytes, sm.shared_max_bytes)
    top = (most + sm.shared_reserved_bytes) // sm.shared_unit_bytes * sm.shared_unit_bytes
    first = top - sm.shared_reserved_bytes
    candidates = (most, *range(first, -1, -sm.shared_unit_bytes), 0)
    fitting = (count for count in candidates if shared_limit(sm, needs, count) >= target)
    return next(fitting, None)
