"""The end of a request at L1: its parts come back, the last one gives it its phases, and its write-back is
booked.

The counterpart of the last section of the reference engine's `l1.py`.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, quotient
from simulator.machine.compiled.latency import add_up, record
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


@inlined
def _asked_life(m: Any, request: Any, waiter: Any, index: int, life: Any) -> None:
    """The life of a part that packet `index` has brought."""
    one = packet(m.packets, index)
    period = m.sm_period_fs
    before = waiter.looked_up - request.picked + m.out_cycles - m.tag_latency
    life[LSU_QUEUE] = (request.picked - request.issue) * period
    life[L1] = m.tag_latency * period
    life[MSHR] = before * period + one.phases[0]
    life[TLB] = waiter.extra * period
    for place in range(1, PACKET_PHASES):
        life[AT_L2_MSHR + place] = one.phases[place]
    life[WRITEBACK] = 0


@inlined
def _merged_life(m: Any, request: Any, waiter: Any, now_fs: int, life: Any) -> None:
    """The life of a part that another request's miss has brought: it waited in the MSHR."""
    period = m.sm_period_fs
    for phase in range(PHASE_COUNT):
        life[phase] = 0
    known = min((waiter.looked_up + m.tag_latency) * period, now_fs)
    life[LSU_QUEUE] = (request.picked - request.issue) * period
    life[L1] = known - waiter.looked_up * period
    life[MSHR] = (waiter.looked_up - request.picked) * period + now_fs - known


@compiled
def _live(m: Any, request: Any, waiter: Any, brought: int, now_fs: int, life: Any) -> None:
    """The life of a part of a request, put into `life`."""
    if brought == MERGED:
        _merged_life(m, request, waiter, now_fs, life)
    else:
        _asked_life(m, request, waiter, brought, life)


@inlined
def _known_end(m: Any, request: Any, access_class: int, now_fs: int) -> int:
    """The cycle in which a request ends whose only part has come, where it surely will before the run stops;
    else −1. Its life is then over, and need not be kept until then.
    """
    if m.keep_requests or request.parts or request.left or request.last_fs >= 0:
        return -1
    cycle = quotient(now_fs, m.sm_period_fs)
    if is_posted(access_class):
        return cycle
    ready = cycle + m.refill_cycles
    end = ready + m.writeback_latency
    if end * m.sm_period_fs >= m.until_fs or (access_class != GLOBAL_ATOMIC and ready < request.hit_ready):
        return -1
    return end


@compiled
def _finish_at_once(m: Any, index: int, access_class: int, end: int) -> None:
    """The same as `_finish` with a known end, and the life of the only part in the machine's record."""
    request = request_at(m.requests, index)
    period = m.sm_period_fs
    if not is_posted(access_class):
        m.life[WRITEBACK] += (m.refill_cycles + m.writeback_latency) * period
    add_up(m, request, access_class, (end - request.issue) * period, m.life)
    if is_posted(access_class):
        give(m, P_REQUESTS, index)
    else:
        request.counted = 1
        book(m, request.sm, end, COMPLETE, index, 0)


@compiled
def part_done(m: Any, waiter: int, brought: int, access_class: int, now_fs: int) -> None:
    """One line of a request has all that it waited for, brought by a packet or MERGED; the last part to
    arrive gives the request its phases.
    """
    part = waiter_at(m.waiters, waiter)
    index = part.request
    request = request_at(m.requests, index)
    request.parts -= 1
    end = _known_end(m, request, access_class, now_fs)
    if end >= 0:
        _live(m, request, part, brought, now_fs, m.life)
    elif now_fs > request.last_fs or (now_fs == request.last_fs and part.line < request.last_line):
        request.last_fs = now_fs
        request.last_line = part.line
        _live(m, request, part, brought, now_fs, request.phases)
    if is_posted(access_class) and warp_at(m.warps, request.warp).age == request.age:
        warp_at(m.warps, request.warp).unacknowledged -= 1
        fence_if_done(m, request.warp, now_fs // m.sm_period_fs)
    if end >= 0:
        _finish_at_once(m, index, access_class, end)
    elif not request.parts and not request.left:
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
