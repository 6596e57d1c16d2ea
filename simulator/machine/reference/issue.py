"""Issue: what one warp instruction does in the cycle in which it is selected, and what its write-back does
later.

Books the pipeline, marks destination registers, hands memory instructions to the load/store unit, moves the
warp to its next instruction. Also keeps, for each register, how long its value took to come, so that the
latency of an operator's accesses to its inputs is counted at their first consumption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.machine.program import (
    BARRIER_UNIT,
    COPY_COMMIT,
    FENCE,
    LG,
    MATH,
    MIO,
    SPECIAL,
    Decoded,
)
from simulator.machine.state import LONG_PENDING, SHORT_PENDING, AsyncGroup, Request, Warp
from simulator.statistics.phases import (
    ASYNC_COPY,
    BARRIER,
    DRAIN,
    GLOBAL_REDUCTION,
    GLOBAL_STORE,
    LOCAL_STORE,
    MEMBAR,
    NO_INSTRUCTION,
    SELECTED,
    SHARED_STORE,
)
from simulator.statistics.schema import COUNTERS, INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm
    from simulator.machine.reference.sub_core import SubCore

C_WARP = INDEX["warp_instructions"]
C_THREAD = INDEX["thread_instructions"]
C_CONFLICT = INDEX["operand_conflict_cycles"]
C_ACCESS = INDEX["access_count"]
C_ACCESS_FS = INDEX["access_fs"]
STATE_BASE = len(COUNTERS)
STORES = (GLOBAL_STORE, LOCAL_STORE, SHARED_STORE, GLOBAL_REDUCTION)


class Issue:
    """The issue stage of one SM, used by its four sub-cores."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        self.order = 0
        self.branch_latency = sm.gpu.sm.branch_latency_cycles
        self.fence_latency = sm.gpu.sm.membar_latency_cycles

    def issue(self, sub_core: SubCore, warp: Warp, cycle: int) -> bool:
        """Issue the warp's next instruction; returns whether to look at the warp again in the next cycle."""
        sm = self.sm
        inst: Decoded = warp.next  # type: ignore[assignment]
        kernel = warp.kernel
        cursor = warp.cursor
        mask = cursor.mask()
        counts = sm.counts[kernel]
        counts[C_WARP] += 1
        counts[C_THREAD] += mask.bit_count()
        sm.operations[kernel][inst.operation] += 1
        # `selected` lasts exactly this cycle; what the warp does next is judged in the next one.
        counts[STATE_BASE + warp.state] += cycle - warp.since
        counts[STATE_BASE + SELECTED] += 1
        warp.state = NO_INSTRUCTION
        warp.since = cycle + 1
        if inst.operand_cycles > 1:
            sub_core.dispatch_free = cycle + inst.operand_cycles
            counts[C_CONFLICT] += inst.operand_cycles - 1
        # The pipeline keeps its fraction of a cycle while instructions follow each other without a gap.
        free = sub_core.pipe_free_tenths
        start = free[inst.pipeline]
        if 10 * cycle - start >= 10:
            start = 10 * cycle
        free[inst.pipeline] = start + inst.interval_tenths
        if inst.consumes:
            self._consume(warp, inst, counts)
        kind = inst.kind
        again = True
        if kind in (MATH, SPECIAL):
            self._compute(warp, inst, cycle)
        elif kind in (LG, MIO):
            if mask:
                self._memory(warp, inst, mask, cycle)
        elif kind == COPY_COMMIT:
            warp.groups.append(warp.open_copies or AsyncGroup())
            warp.open_copies = None
        elif kind == BARRIER_UNIT:
            warp.state = BARRIER
            warp.parked = True
            again = False
        elif kind == FENCE:
            warp.state = MEMBAR
            warp.parked = True
            again = False
            self.fence_if_done(warp, cycle)
        self._advance(warp, inst, cycle)
        if warp.next is None:
            self._exit(warp, cycle)
            return False
        if kind == BARRIER_UNIT:
            sm.barriers.arrive(warp, inst.count, cycle)
        return again

    def _compute(self, warp: Warp, inst: Decoded, cycle: int) -> None:
        done = cycle + inst.latency + inst.operand_cycles - 1
        ready = warp.ready
        for register in inst.dst:
            ready[register] = done
            if inst.kind == SPECIAL:
                warp.short[register] = done
        if inst.produces:
            # Left in a register by its producer: an access to it costs the operand read and no more.
            latency = inst.operand_cycles * self.sm.period_fs
            for register in inst.dst:
                warp.origin[register] = [latency, 0]

    def _memory(self, warp: Warp, inst: Decoded, mask: int, cycle: int) -> None:
        cursor, sm = warp.cursor, self.sm
        base, offsets = cursor.access() if inst.bytes_per_lane else (0, ())
        self.order += 1
        request = Request(warp, inst, cycle, self.order, mask, base, offsets, inst.access_class)
        pending = LONG_PENDING if inst.kind == LG else SHORT_PENDING
        for register in inst.dst:
            warp.ready[register] = pending
        if inst.access_class in STORES:
            warp.unsent += 1
        else:
            warp.loads += 1
        if inst.access_class == ASYNC_COPY:
            if warp.open_copies is None:
                warp.open_copies = AsyncGroup()
            warp.open_copies.pending += 1
            request.group = warp.open_copies
        queues = sm.lsu.lg if inst.kind == LG else sm.lsu.mio
        sm.lsu.push(queues[warp.sub_core], request)

    def _advance(self, warp: Warp, inst: Decoded, cycle: int) -> None:
        cursor = warp.cursor
        cursor.advance()
        static = cursor.static
        if static < 0:
            warp.next = None
            return
        following = warp.program.decoded[static]
        warp.next = following
        if static != inst.static + 1:
            warp.branch_ready = cycle + self.branch_latency
        if following.fetch_line != warp.fetch_line:
            self.sm.fetch_line(warp, cycle)

    def _exit(self, warp: Warp, cycle: int) -> None:
        """The last lanes have exited: the warp drains, and barriers no longer wait for it."""
        warp.exited = True
        warp.parked = True
        warp.state = DRAIN
        warp.block.running -= 1
        self.sm.barriers.left(warp.block, cycle)
        self.sm.exited_at(cycle + 1, warp)

    def _consume(self, warp: Warp, inst: Decoded, counts: list[int]) -> None:
        """Count the first consumption of each operand that is a tensor's value."""
        for register, operator in inst.consumes:
            origin = warp.origin.get(register)
            if origin is not None and not origin[1] & operator:
                origin[1] |= operator
                counts[C_ACCESS] += 1
                counts[C_ACCESS_FS] += origin[0]

    def returned(self, request: Request, latency_fs: int, cycle: int) -> None:
        """A load, atomic or shuffle writes back (or an asynchronous copy lands, or a shared store is
        done).
        """
        warp, inst, sm = request.warp, request.decoded, self.sm
        for register in inst.dst:
            warp.ready[register] = cycle
            warp.origin[register] = [latency_fs, 0]
        if request.group is not None:
            request.group.pending -= 1
        access_class = request.access_class
        if access_class == SHARED_STORE:
            warp.unsent -= 1
            self.fence_if_done(warp, cycle)
        elif access_class in STORES:
            return  # handed over long ago; the warp may have ended
        else:
            warp.loads -= 1
        if warp.exited:
            sm.end_if_drained(warp, cycle)
        else:
            sm.sub_cores[warp.sub_core].list_candidate(warp)

    def fence_if_done(self, warp: Warp, cycle: int) -> None:
        """A store was handed over or acknowledged: a fence that waited only for it ends after its own
        latency.
        """
        if warp.state == MEMBAR and warp.unacknowledged == 0 and warp.unsent == 0:
            self.sm.release_at(cycle + self.fence_latency, warp)
