"""The end of a request at L1: its parts come back, the last one gives it its phases, and its write-back is
booked.

The counterpart of the last section of the reference engine's `l1.py`.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, quotient
from simulator.machine.compiled.latency import record
from simulator.machine.compiled.layout import AT_L2_MSHR, P_REQUESTS, PACKET_PHASES, PHASE_COUNT, packet
from simulator.machine.compiled.layout_sm import request_at, sm_at, waiter_at, warp_at
from simulator.machine.compiled.pools import give
from simulator.machine.compiled.sm_events import COMPLETE, HANDED_OVER, RELEASE, book, book_warp
from simulator.statistics.phases import (
    GLOBAL_ATOMIC,
    GLOBAL_REDUCTION,
    GLOBAL_STORE,
    L1,
    LOCAL_STORE,
    LSU_QUEUE,
    MEMBAR,
    MSHR,
    TLB,
    WRITEBACK,
)

MERGED = -1
"""In place of a packet: another request's miss has brought a part."""


@inlined
def fence_if_done(m: Any, index: int, cycle: int) -> None:
    """A store was handed over or acknowledged: a fence that waited only for it ends after its own latency."""
    warp = warp_at(m.warps, index)
    if warp.state == MEMBAR and warp.unacknowledged == 0 and warp.unsent == 0:
        sm_at(m.sm_states, index // m.warp_slots).fences -= 1
        book_warp(m, cycle + m.fence_latency, RELEASE, index)


@inlined
def is_posted(access_class: int) -> bool:
    """Whether nobody waits for a result of such a request."""
    return access_class in (GLOBAL_STORE, GLOBAL_REDUCTION)


@compiled
def _finish_as_hit(m: Any, index: int, access_class: int) -> None:
    """What L1 held, or took, decides: the port's passes after the last look-up."""
    request = request_at(m.requests, index)
    period = m.sm_period_fs
    for phase in range(PHASE_COUNT):
        request.phases[phase] = 0
    looked_up = request.hit_ready - m.hit_cycles - m.pass_interval * (request.passes - 1)
    request.phases[LSU_QUEUE] = (request.picked - request.issue) * period
    request.phases[MSHR] = (looked_up - request.picked) * period
    request.phases[L1] = (request.hit_ready - looked_up) * period
    end = request.hit_ready
    if access_class != LOCAL_STORE:
        request.phases[WRITEBACK] = m.writeback_latency * period
        end += m.writeback_latency
    book(m, request.sm, end, COMPLETE, index, 0)


@compiled
def _finish(m: Any, index: int, access_class: int) -> None:
    """The last part is there: data from the fill, or from the last hit where that is later."""
    request = request_at(m.requests, index)
    cycle = quotient(request.last_fs, m.sm_period_fs)
    if is_posted(access_class):
        if m.keep_requests:
            # The log has them in the order in which all that ends in a cycle was booked.
            book(m, request.sm, cycle, COMPLETE, index, 0)
        else:
            record(m, index, cycle)
            give(m, P_REQUESTS, index)
        return
    ready = cycle + m.refill_cycles
    if access_class != GLOBAL_ATOMIC and ready < request.hit_ready:
        _finish_as_hit(m, index, access_class)
        return
    request.phases[WRITEBACK] += (m.refill_cycles + m.writeback_latency) * m.sm_period_fs
    book(m, request.sm, ready + m.writeback_latency, COMPLETE, index, 0)


@compiled
def _asked_life(m: Any, request: Any, waiter: Any, index: int) -> None:
    """The life of a part that packet `index` has brought."""
    one = packet(m.packets, index)
    period = m.sm_period_fs
    before = waiter.looked_up - request.picked + m.out_cycles - m.tag_latency
    request.phases[LSU_QUEUE] = (request.picked - request.issue) * period
    request.phases[L1] = m.tag_latency * period
    request.phases[MSHR] = before * period + one.phases[0]
    request.phases[TLB] = waiter.extra * period
    for place in range(1, PACKET_PHASES):
        request.phases[AT_L2_MSHR + place] = one.phases[place]
    request.phases[WRITEBACK] = 0


@compiled
def _merged_life(m: Any, request: Any, waiter: Any, now_fs: int) -> None:
    """The life of a part that another request's miss has brought: it waited in the MSHR."""
    period = m.sm_period_fs
    for phase in range(PHASE_COUNT):
        request.phases[phase] = 0
    known = min((waiter.looked_up + m.tag_latency) * period, now_fs)
    request.phases[LSU_QUEUE] = (request.picked - request.issue) * period
    request.phases[L1] = known - waiter.looked_up * period
    request.phases[MSHR] = (waiter.looked_up - request.picked) * period + now_fs - known


@compiled
def part_done(m: Any, waiter: int, brought: int, access_class: int, now_fs: int) -> None:
    """One line of a request has all that it waited for, brought by a packet or MERGED; the last part to
    arrive gives the request its phases.
    """
    line = waiter_at(m.waiters, waiter).line
    index = waiter_at(m.waiters, waiter).request
    request = request_at(m.requests, index)
    request.parts -= 1
    if now_fs > request.last_fs or (now_fs == request.last_fs and line < request.last_line):
        request.last_fs = now_fs
        request.last_line = line
        if brought == MERGED:
            _merged_life(m, request, waiter_at(m.waiters, waiter), now_fs)
        else:
            _asked_life(m, request, waiter_at(m.waiters, waiter), brought)
    if is_posted(access_class) and warp_at(m.warps, request.warp).age == request.age:
        warp_at(m.warps, request.warp).unacknowledged -= 1
        fence_if_done(m, request.warp, now_fs // m.sm_period_fs)
    if not request.parts and not request.left:
        _finish(m, index, access_class)


@compiled
def looked_up(m: Any, index: int, access_class: int, cycle: int) -> None:
    """All lines are looked up: what is left to wait for?"""
    request = request_at(m.requests, index)
    request.hit_ready = cycle + m.hit_cycles + m.pass_interval * (request.passes - 1)
    if is_posted(access_class):
        book_warp(m, cycle + m.out_cycles, HANDED_OVER, request.warp)
    elif access_class == LOCAL_STORE:
        book_warp(m, request.hit_ready, HANDED_OVER, request.warp)
    if request.parts:
        return
    if request.last_fs >= 0:
        # Every part came back while a later line waited: the last look-up itself was a hit.
        _finish(m, index, access_class)
    else:
        _finish_as_hit(m, index, access_class)
