"""The load/store unit of an SM: the queues before it, the data port that shared memory and L1 use, and shared
memory itself.

The machine of the reference engine's file of this name; entries of the queues have requests as items.
"""

from __future__ import annotations

from typing import Any

from hwmodels.operations import Operation
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.footprint import shared_passes
from simulator.machine.compiled.jit import bit_count, compiled, inlined
from simulator.machine.compiled.l1 import accept, proceed
from simulator.machine.compiled.layout import P_NODES, PHASE_COUNT, node, queue
from simulator.machine.compiled.layout_sm import instruction, request_at, sm_at, warp_at
from simulator.machine.compiled.meter import enter, leave
from simulator.machine.compiled.order import dequeue, enqueue
from simulator.machine.compiled.pools import give
from simulator.machine.compiled.sm_events import COMPLETE, book, list_candidate
from simulator.machine.order import NEVER
from simulator.statistics.phases import L1, LSU_QUEUE, SHARED_ATOMIC, SHARED_LOAD, SHARED_STORE, WRITEBACK
from simulator.statistics.schema import INDEX

C_PASSES = INDEX["shared_passes"]
C_CONFLICTS = INDEX["shared_bank_conflicts"]
C_LOAD_BYTES = INDEX["shared_load_bytes"]
C_STORE_BYTES = INDEX["shared_store_bytes"]
C_LOADS = INDEX["shared_load_requests"]
C_STORES = INDEX["shared_store_requests"]
C_ATOMICS = INDEX["shared_atomic_requests"]
LG_QUEUE, MIO_QUEUE, LG_WAITERS, MIO_WAITERS = range(4)
"""The queues of a sub-core."""
SHUFFLE = int(Operation.SHUFFLE)


@inlined
def queue_of(sub: int, which: int) -> int:
    """Number of a queue of a sub-core."""
    return 4 * sub + which


@inlined
def push(m: Any, which: int, index: int) -> None:
    """An instruction has issued; it reaches the unit after operand read and the queue's own latency."""
    request = request_at(m.requests, index)
    request.ready = request.issue + m.hand_over
    enqueue(m, which, index, request.ready)
    node(m.nodes, queue(m.queues, which).tail).order = request.order
    sm_at(m.sm_states, request.sm).waiting += 1
    enter(m, 2 * request.sm, request.issue * m.sm_period_fs)


@inlined
def _occupy(m: Any, own: Any, passes: int, cycle: int) -> None:
    """Book `passes` data-port cycles, one every `pass_interval` cycles from now."""
    own.port_free[cycle % m.pass_interval] = cycle + m.pass_interval * passes


@compiled
def _wake(m: Any, which: int) -> None:
    """Look again at the warps that waited for a place in a queue."""
    while queue(m.queues, which).head >= 0:
        entry = dequeue(m, which)
        list_candidate(m, node(m.nodes, entry).what)
        give(m, P_NODES, entry)


@compiled
def _oldest(m: Any, sm: int, stalled: int, cycle: int) -> int:
    """The queue whose head is the oldest instruction whose turn has come, or −1."""
    best = -1
    order = 0
    for sub in range(sm * m.sub_cores, (sm + 1) * m.sub_cores):
        for kind in range(LG_QUEUE, MIO_QUEUE + 1):
            if kind == LG_QUEUE and stalled >= 0:
                continue
            head = queue(m.queues, queue_of(sub, kind)).head
            if head >= 0 and node(m.nodes, head).key <= cycle:
                own = node(m.nodes, head).order
                if best < 0 or own < order:
                    best = queue_of(sub, kind)
                    order = own
    return best


@compiled
def _shared(m: Any, own: Any, index: int, cycle: int) -> None:
    """Shared memory and shuffles: no stalls beyond the port, so the whole life is known now."""
    request = request_at(m.requests, index)
    inst = instruction(m.instructions, request.inst)
    if inst.operation == SHUFFLE:
        _occupy(m, own, 1, cycle)
        book(m, request.sm, max(cycle + 1, request.issue + inst.latency), COMPLETE, index, 0)
        return
    found = shared_passes(m, own, request, inst.bytes_per_lane)
    passes = found.passes
    _occupy(m, own, passes, cycle)
    served = cycle + m.smem_access + m.pass_interval * (passes - 1)
    kernel = request.kernel
    kind = inst.access_class
    count(m, kernel, C_LOADS if kind == SHARED_LOAD else C_STORES if kind == SHARED_STORE else C_ATOMICS, 1)
    count(m, kernel, C_PASSES, passes)
    count(m, kernel, C_CONFLICTS, passes - min(passes, inst.full_passes))
    volume = bit_count(request.mask) * inst.bytes_per_lane
    count(m, kernel, C_STORE_BYTES if kind == SHARED_STORE else C_LOAD_BYTES, volume)
    if kind == SHARED_ATOMIC:
        served += m.atomic_base + m.atomic_contention * found.most // 10
    for phase in range(PHASE_COUNT):
        request.phases[phase] = 0
    request.phases[LSU_QUEUE] = (cycle - request.issue) * m.sm_period_fs
    request.phases[L1] = (served - cycle) * m.sm_period_fs
    if kind != SHARED_STORE:
        request.phases[WRITEBACK] = m.writeback_latency * m.sm_period_fs
        served += m.writeback_latency
    book(m, request.sm, served, COMPLETE, index, 0)


@compiled
def step(m: Any, sm: int, cycle: int) -> None:
    """Go on with a stalled instruction, then take at most one more."""
    own = sm_at(m.sm_states, sm)
    if own.stalled >= 0 and proceed(m, own.stalled, cycle):
        own.stalled = -1
    if not own.waiting or own.port_free[cycle % m.pass_interval] > cycle:
        return
    which = _oldest(m, sm, own.stalled, cycle)
    if which < 0:
        return
    entry = dequeue(m, which)
    index = node(m.nodes, entry).what
    give(m, P_NODES, entry)
    own.waiting -= 1
    request = request_at(m.requests, index)
    request.picked = cycle
    leave(m, 2 * sm, cycle * m.sm_period_fs, request.issue * m.sm_period_fs)
    sub = warp_at(m.warps, request.warp).sub
    if which == queue_of(sub, LG_QUEUE):
        _wake(m, queue_of(sub, LG_WAITERS))
        _occupy(m, own, accept(m, index), cycle)
        if not proceed(m, index, cycle):
            own.stalled = index
    else:
        _wake(m, queue_of(sub, MIO_WAITERS))
        _shared(m, own, index, cycle)


@compiled
def next_cycle(m: Any, sm: int, cycle: int) -> int:
    """The first later cycle at which an instruction could be taken; NEVER if none waits."""
    own = sm_at(m.sm_states, sm)
    if not own.waiting:
        return NEVER
    first = NEVER
    for sub in range(sm * m.sub_cores, (sm + 1) * m.sub_cores):
        for kind in range(LG_QUEUE, MIO_QUEUE + 1):
            head = queue(m.queues, queue_of(sub, kind)).head
            if head >= 0 and (kind == MIO_QUEUE or own.stalled < 0):
                first = min(first, node(m.nodes, head).key)
    if first == NEVER:
        return NEVER
    first = max(first, cycle + 1)
    best = NEVER
    for phase in range(m.pass_interval):
        at = max(first, own.port_free[phase])
        best = min(best, at + (phase - at) % m.pass_interval)
    return best
