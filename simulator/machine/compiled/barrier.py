"""The barrier unit of an SM: one server that takes in arriving warps, and the release of a block's warps."""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled
from simulator.machine.compiled.layout_sm import MOST_BARRIERS, block_at, kernel_at, sm_at, warp_at
from simulator.machine.compiled.sm_events import RELEASE, book_warp


@compiled
def _release_if_complete(m: Any, sm: int, index: int, barrier: int, cycle: int) -> None:
    block = block_at(m.blocks, index)
    if block.arrived[barrier] == 0:
        return
    meeting = kernel_at(m.kernel_states, block.kernel).meeting[barrier]
    if block.arrived[barrier] != (meeting if meeting > 0 else block.running):
        return
    release = max(sm_at(m.sm_states, sm).barrier_free, cycle) + m.barrier_release
    for place in range(block.warps):
        warp = warp_at(m.warps, block.warp[place])
        if warp.age == block.age[place] and warp.used and warp.barrier == barrier:
            warp.barrier = -1
            book_warp(m, release, RELEASE, block.warp[place])
    block.arrived[barrier] = 0


@compiled
def arrive(m: Any, sm: int, index: int, barrier: int, cycle: int) -> None:
    """A warp has issued its BARRIER instruction."""
    own = sm_at(m.sm_states, sm)
    own.barrier_free = max(own.barrier_free, cycle) + m.barrier_arrival
    warp = warp_at(m.warps, index)
    warp.barrier = barrier
    block_at(m.blocks, warp.block).arrived[barrier] += 1
    _release_if_complete(m, sm, warp.block, barrier, cycle)


@compiled
def left(m: Any, sm: int, index: int, cycle: int) -> None:
    """A warp of the block has exited: barriers no longer wait for it."""
    for barrier in range(MOST_BARRIERS):
        _release_if_complete(m, sm, index, barrier, cycle)
