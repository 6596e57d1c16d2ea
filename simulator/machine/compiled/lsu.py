"""The load/store unit of an SM: the queues before it, the data port that shared memory and L1 use, and shared
memory itself.

The machine of the reference engine's file of this name; its queues are chains of requests.
"""

from __future__ import annotations

from typing import Any

from hwmodels.operations import Operation
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.footprint import shared_passes
from simulator.machine.compiled.jit import as_bits, bit_count, compiled, inlined, load_bits, store_bits
from simulator.machine.compiled.l1 import accept, proceed
from simulator.machine.compiled.layout import PHASE_COUNT, queue
from simulator.machine.compiled.layout_sm import instruction, request_at, sm_at, sub_core, warp_at
from simulator.machine.compiled.meter import enter, leave
from simulator.machine.compiled.sm_events import COMPLETE, add_bits, book
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
QUEUES = 2
LG_QUEUE, MIO_QUEUE = range(QUEUES)
"""The queues of a sub-core: global and local memory; shared memory and shuffles."""
SHUFFLE = int(Operation.SHUFFLE)


@inlined
def _queue_of(m: Any, sm: int, which: int) -> int:
    """Number of an SM's queue. All instructions take as long to the unit, so those of one kind in all
    sub-cores are taken in the order of their issue: one chain of requests.
    """
    return m.q_lsu + QUEUES * sm + which


@inlined
def push(m: Any, sub: int, which: int, index: int) -> None:
    """An instruction has issued; it reaches the unit after operand read and the queue's own latency."""
    request = request_at(m.requests, index)
    request.ready = request.issue + m.hand_over
    request.next = -1
    line = queue(m.queues, _queue_of(m, request.sm, which))
    if line.head < 0:
        line.head = index
    else:
        request_at(m.requests, line.tail).next = index
    line.tail = index
    sub_core(m.sub_core_states, sub).queued[which] += 1
    sm_at(m.sm_states, request.sm).waiting += 1
    enter(m, 2 * request.sm, request.issue * m.sm_period_fs)


@inlined
def _occupy(m: Any, own: Any, passes: int, cycle: int) -> None:
    """Book `passes` data-port cycles, one every `pass_interval` cycles from now."""
    own.port_free[cycle % m.pass_interval] = cycle + m.pass_interval * passes


@inlined
def _wake(m: Any, own: Any, which: int) -> None:
    """Look again at the warps that waited for a place in a queue of a sub-core."""
    place = QUEUES * own.word + which
    throttled = load_bits(m.throttled, place)
    listed = throttled & as_bits(own.mask)
    if listed:
        store_bits(m.throttled, place, throttled & ~listed)
        add_bits(m.looked, own.word, listed)


@inlined
def _head(m: Any, sm: int, which: int) -> int:
    return queue(m.queues, _queue_of(m, sm, which)).head


@inlined
def _oldest(m: Any, sm: int, stalled: int, cycle: int) -> int:
    """The queue whose head is the oldest instruction whose turn has come, or −1."""
    first = _head(m, sm, LG_QUEUE) if stalled < 0 else -1
    other = _head(m, sm, MIO_QUEUE)
    which = LG_QUEUE
    if first < 0 or (
        other >= 0 and request_at(m.requests, other).order < request_at(m.requests, first).order
    ):
        first = other
        which = MIO_QUEUE
    return which if first >= 0 and request_at(m.requests, first).ready <= cycle else -1


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
    line = queue(m.queues, _queue_of(m, sm, which))
    index = line.head
    line.head = request_at(m.requests, index).next
    own.waiting -= 1
    request = request_at(m.requests, index)
    request.picked = cycle
    leave(m, 2 * sm, cycle * m.sm_period_fs, request.issue * m.sm_period_fs)
    source = sub_core(m.sub_core_states, warp_at(m.warps, request.warp).sub)
    source.queued[which] -= 1
    _wake(m, source, which)
    if which == LG_QUEUE:
        _occupy(m, own, accept(m, index), cycle)
        if not proceed(m, index, cycle):
            own.stalled = index
    else:
        _shared(m, own, index, cycle)


@compiled
def next_cycle(m: Any, sm: int, cycle: int) -> int:
    """The first later cycle at which an instruction could be taken; NEVER if none waits."""
    own = sm_at(m.sm_states, sm)
    if not own.waiting:
        return NEVER
    first = NEVER
    for which in range(LG_QUEUE, MIO_QUEUE + 1):
        head = _head(m, sm, which)
        if head >= 0 and (which == MIO_QUEUE or own.stalled < 0):
            first = min(first, request_at(m.requests, head).ready)
    if first == NEVER:
        return NEVER
    first = max(first, cycle + 1)
    best = NEVER
    for phase in range(m.pass_interval):
        at = max(first, own.port_free[phase])
        best = min(best, at + (phase - at) % m.pass_interval)
    return best
