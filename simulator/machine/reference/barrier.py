"""The barrier unit of an SM: one server that takes in arriving warps, and the release of a block's warps.

An arrival is served in `barrier_arrival_cycles`; the release comes `barrier_release_cycles` after the last
arrival's service. One block of W warps then waits 21 + 2 W cycles on published cards, and two blocks contend
for the server. A warp that has exited is not waited for, unless the barrier says how many warps meet at it.
Barriers across an SM's boundary (clusters, whole-grid) are not modelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.state import Block, Warp

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm


class BarrierUnit:
    """Serves all blocks of one SM."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        self.arrival_cycles = sm.gpu.sm.barrier_arrival_cycles
        self.release_cycles = sm.gpu.sm.barrier_release_cycles
        self.free = 0
        """Cycle at which the server is idle."""

    def arrive(self, warp: Warp, barrier: int, cycle: int) -> None:
        """A warp has issued its BARRIER instruction."""
        self.free = max(self.free, cycle) + self.arrival_cycles
        warp.block.arrived.setdefault(barrier, []).append(warp)
        self._release_if_complete(warp.block, barrier, cycle)

    def left(self, block: Block, cycle: int) -> None:
        """A warp of the block has exited: barriers no longer wait for it."""
        for barrier in sorted(block.arrived):
            self._release_if_complete(block, barrier, cycle)

    def _release_if_complete(self, block: Block, barrier: int, cycle: int) -> None:
        waiting = block.arrived[barrier]
        if not waiting:
            return
        named = waiting[0].program.barrier_warps
        meeting = named[barrier] if barrier < len(named) else 0
        if len(waiting) == (meeting or block.running):
            release = max(self.free, cycle) + self.release_cycles
            for warp in waiting:
                self.sm.release_at(release, warp)
            del block.arrived[barrier]
