"""The load/store unit of an SM: the queues before it, the data port that shared memory and L1 use, and shared
memory itself.

Each sub-core has a queue for local and global instructions and one for the rest of memory I/O. The unit takes
one instruction a cycle, the oldest whose turn has come. The data port serves two instructions in alternate
cycles: passes of one instruction are two cycles apart, so an n-way conflict adds 2 (n − 1) cycles of latency
but only n cycles of port time.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from hwmodels.operations import Operation
from simulator.machine.order import NEVER
from simulator.machine.reference.meter import QueueMeter
from simulator.machine.state import Request, new_phases
from simulator.statistics.phases import L1, LSU_QUEUE, SHARED_ATOMIC, SHARED_LOAD, SHARED_STORE, WRITEBACK
from simulator.statistics.schema import INDEX

if TYPE_CHECKING:
    from simulator.machine.reference.sm import Sm

C_PASSES = INDEX["shared_passes"]
C_CONFLICTS = INDEX["shared_bank_conflicts"]
C_LOAD_BYTES = INDEX["shared_load_bytes"]
C_STORE_BYTES = INDEX["shared_store_bytes"]
C_REQUESTS = {
    SHARED_LOAD: INDEX["shared_load_requests"],
    SHARED_STORE: INDEX["shared_store_requests"],
    SHARED_ATOMIC: INDEX["shared_atomic_requests"],
}


class LoadStoreUnit:
    """Queues of the four sub-cores, the pick, and the shared-memory pipeline."""

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        spec, shared = sm.gpu.sm, sm.gpu.shared_memory
        self.lg: list[deque[Request]] = [deque() for _ in range(spec.sub_cores)]
        self.mio: list[deque[Request]] = [deque() for _ in range(spec.sub_cores)]
        self.hand_over = spec.operand_latency_cycles + spec.mio_latency_cycles
        self.access = shared.access_latency_cycles
        self.interval = shared.pass_interval_cycles
        self.writeback = spec.writeback_latency_cycles
        self.atomic_base = shared.atomic_base_latency_cycles
        self.atomic_tenths = shared.atomic_contention_tenths
        self.port_free = [0] * self.interval
        """Cycle from which each phase of the data port is free; a cycle belongs to the phase cycle %
        interval.
        """
        self.stalled: Request | None = None
        """A global or local instruction whose remaining lines lack an MSHR, a way or a credit."""
        self.waiting = 0
        self.meter = QueueMeter()

    def push(self, queue: deque[Request], request: Request) -> None:
        """An instruction has issued; it reaches the unit after operand read and the queue's own latency."""
        request.ready = request.issue + self.hand_over
        queue.append(request)
        self.waiting += 1
        self.meter.enter(request.issue * self.sm.period_fs)

    def step(self, cycle: int) -> None:
        """Go on with a stalled instruction, then take at most one more."""
        if self.stalled is not None and self.sm.l1.proceed(self.stalled, cycle):
            self.stalled = None
        if not self.waiting or self.port_free[cycle % self.interval] > cycle:
            return
        best: Request | None = None
        source: deque[Request] | None = None
        for queue in self.mio if self.stalled is not None else self.mio + self.lg:
            if queue and queue[0].ready <= cycle and (best is None or queue[0].order < best.order):
                best, source = queue[0], queue
        if best is None or source is None:
            return
        source.popleft()
        self.waiting -= 1
        best.picked = cycle
        self.meter.leave(cycle * self.sm.period_fs, best.issue * self.sm.period_fs)
        sub_core = self.sm.sub_cores[best.warp.sub_core]
        if source is self.lg[best.warp.sub_core]:
            self._wake(sub_core.lg_waiters)
            self.occupy(self.sm.l1.accept(best), cycle)
            if not self.sm.l1.proceed(best, cycle):
                self.stalled = best
        else:
            self._wake(sub_core.mio_waiters)
            self._shared(best, cycle)

    def _wake(self, waiters: list) -> None:  # type: ignore[type-arg]
        for warp in waiters:
            self.sm.sub_cores[warp.sub_core].list_candidate(warp)
        waiters.clear()

    def occupy(self, passes: int, cycle: int) -> None:
        """Book `passes` data-port cycles, one every `interval` cycles from now."""
        self.port_free[cycle % self.interval] = cycle + self.interval * passes

    def next_cycle(self, cycle: int) -> int:
        """The first later cycle at which an instruction could be taken; NEVER if none waits."""
        if not self.waiting:
            return NEVER
        first = NEVER
        for queue in self.mio if self.stalled is not None else self.mio + self.lg:
            if queue and queue[0].ready < first:
                first = queue[0].ready
        if first == NEVER:
            return NEVER
        first = max(first, cycle + 1)
        best = NEVER
        for phase, free in enumerate(self.port_free):
            at = max(first, free)
            best = min(best, at + (phase - at) % self.interval)
        return best

    def _shared(self, request: Request, cycle: int) -> None:
        """Shared memory and shuffles: no stalls beyond the port, so the whole life is known now."""
        sm, inst = self.sm, request.decoded
        if inst.operation == Operation.SHUFFLE:
            self.occupy(1, cycle)
            sm.complete_at(max(cycle + 1, request.issue + inst.latency), request)
            return
        passes = sm.footprints.shared_passes(request.base, request.offsets, request.mask, inst.bytes_per_lane)
        self.occupy(passes, cycle)
        served = cycle + self.access + self.interval * (passes - 1)
        counts = sm.counts[request.warp.kernel]
        counts[C_REQUESTS[inst.access_class]] += 1
        counts[C_PASSES] += passes
        counts[C_CONFLICTS] += passes - min(passes, inst.full_passes)
        volume = request.mask.bit_count() * inst.bytes_per_lane
        if inst.access_class == SHARED_STORE:
            counts[C_STORE_BYTES] += volume
        else:
            counts[C_LOAD_BYTES] += volume
        if inst.access_class == SHARED_ATOMIC:
            contenders = sm.footprints.most_contended(request.offsets, request.mask)
            served += self.atomic_base + self.atomic_tenths * contenders // 10
        phases = request.phases = new_phases()
        phases[LSU_QUEUE] = (cycle - request.issue) * sm.period_fs
        phases[L1] = (served - cycle) * sm.period_fs
        if inst.access_class == SHARED_STORE:
            sm.complete_at(served, request)
        else:
            phases[WRITEBACK] = self.writeback * sm.period_fs
            sm.complete_at(served + self.writeback, request)
