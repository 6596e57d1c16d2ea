"""Misses of an L2 slice: the MSHR of a line, who waits for which of its sectors, and what happens when a
sector arrives.

The machine of the reference engine's file of this name. The way of a line names its MSHR; those of lines that
are not kept are a chain. Who waits is a chain, oldest first.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.arrivals import done_ck
from simulator.machine.compiled.counts import count, mark
from simulator.machine.compiled.inbox import REST, send_packet
from simulator.machine.compiled.jit import ahead, compiled, inlined
from simulator.machine.compiled.l2_output import CROSSINGS, REQUESTS, acknowledge, leave, queue_of
from simulator.machine.compiled.l2_tags import pin, pinned_by, slot_of, unpin
from simulator.machine.compiled.layout import (
    AT_L2_MSHR,
    P_L2_WAITERS,
    P_MISSES,
    P_PACKETS,
    PACKET,
    PACKET_PHASES,
    packet,
    queue,
)
from simulator.machine.compiled.layout_memory import arrival_at, l2_line, l2_waiter, miss, slice_at
from simulator.machine.compiled.memory_front import fetch
from simulator.machine.compiled.meter import enter
from simulator.machine.compiled.meter import leave as leave_meter
from simulator.machine.compiled.pools import give, take
from simulator.machine.compiled.routing import owner, peer
from simulator.machine.messages import ATOMIC, LINK_REQUEST, READ, REDUCE
from simulator.machine.state_l2 import FREE
from simulator.statistics.phases import (
    DRAM_ACTIVATE,
    DRAM_BURST,
    DRAM_COLUMN,
    DRAM_CONTROLLER,
    DRAM_QUEUE,
    L2,
    PARTITION_LINK,
)
from simulator.statistics.schema import INDEX

C_FILL = INDEX["l2_fill_sectors"]
INPUT_METER, LINK_METER, MSHR_METER = range(3)
NO_ANSWER = -1


ask_packet = ahead(PACKET)


@inlined
def meter_of(m: Any, slice_id: int, which: int) -> int:
    """Number of a meter of a slice."""
    return m.meter_slice + 3 * slice_id + which


@inlined
def find(m: Any, slice_id: int, line: int, slot: int) -> int:
    """The MSHR of a line, or −1; `slot` is where the slice holds the line, or FREE."""
    index = pinned_by(m, slot) if slot != FREE else -1
    if index < 0:
        index = slice_at(m.slice_states, slice_id).unkept
        while index >= 0 and miss(m.misses, index).line != line:
            index = miss(m.misses, index).next
    return index


@inlined
def _keep(m: Any, slice_id: int, entry: int, slot: int) -> None:
    """Let the line of an MSHR be kept in a slot."""
    miss(m.misses, entry).slot = slot
    if slot != FREE:
        pin(m, slot, entry)
    else:
        state = slice_at(m.slice_states, slice_id)
        miss(m.misses, entry).next = state.unkept
        state.unkept = entry


@compiled
def _forget(m: Any, slice_id: int, entry: int) -> None:
    """Take an MSHR out of those whose lines are not kept."""
    state = slice_at(m.slice_states, slice_id)
    following = miss(m.misses, entry).next
    if state.unkept == entry:
        state.unkept = following
        return
    index = state.unkept
    while miss(m.misses, index).next != entry:
        index = miss(m.misses, index).next
    miss(m.misses, index).next = following


@compiled
def keep_now(m: Any, slice_id: int, entry: int, slot: int) -> None:
    """A slot has been found for the line of an MSHR that had none."""
    _forget(m, slice_id, entry)
    _keep(m, slice_id, entry, slot)


@compiled
def open_miss(m: Any, slice_id: int, line: int, slot: int, far: int, now_fs: int) -> int:
    """Take an MSHR for a line; `slot` is FREE when the line won't be kept."""
    index = take(m, P_MISSES)
    one = miss(m.misses, index)
    one.line = line
    one.far = far
    one.entered_fs = now_fs
    one.pending = 0
    one.stale = 0
    one.requests = 0
    one.first = -1
    one.last = -1
    _keep(m, slice_id, index, slot)
    slice_at(m.slice_states, slice_id).entries[far] += 1
    enter(m, meter_of(m, slice_id, MSHR_METER), now_fs)
    return index


@compiled
def wait(m: Any, entry: int, reply: int, sectors: int, own: int, ready: int, crossing: int) -> None:
    """Let a reply wait for sectors of an MSHR."""
    index = take(m, P_L2_WAITERS)
    one = l2_waiter(m.l2_waiters, index)
    one.reply = reply
    one.sectors = sectors
    one.own = own
    one.ready = ready
    one.crosses = crossing
    one.next = -1
    holder = miss(m.misses, entry)
    if holder.first < 0:
        holder.first = index
    else:
        l2_waiter(m.l2_waiters, holder.last).next = index
    holder.last = index


@compiled
def request(m: Any, slice_id: int, entry: int, asked: int, sectors: int, now_fs: int, crossing: int) -> None:
    """Ask DRAM or the home slice for sectors of a line, for the packet `asked`."""
    holder = miss(m.misses, entry)
    holder.pending |= sectors
    one = packet(m.packets, asked)
    wait_fs = 0 if crossing else m.before_cycles * m.l2_period_fs
    if not holder.far:
        fetch(m, slice_id, one.line, sectors, entry, one.kernel, now_fs + wait_fs)
        return
    index = take(m, P_PACKETS)
    question = packet(m.packets, index)
    question.operation = READ
    question.sm = one.sm
    question.line = one.line
    question.sectors = sectors
    question.full = 0
    question.payload = 0
    question.kernel = one.kernel
    question.token = entry
    question.lanes = 0
    question.last_fs = now_fs + wait_fs
    question.slice = peer(m, slice_id)
    question.near = slice_id
    for phase in range(PACKET_PHASES):
        question.phases[phase] = 0
    cycle = question.last_fs // m.l2_period_fs + m.crossing_in
    send_packet(m, owner(m, slice_id), REST, cycle, LINK_REQUEST, index)


@compiled
def wake(m: Any, slice_id: int, cycle: int) -> None:
    """A resource has been freed: look at the heads again."""
    state = slice_at(m.slice_states, slice_id)
    state.wake[REQUESTS] = 0
    state.wake[CROSSINGS] = 0
    waiting = queue(m.queues, queue_of(m, slice_id, REQUESTS)).count
    if waiting or queue(m.queues, queue_of(m, slice_id, CROSSINGS)).count:
        state.due = min(state.due, cycle)


@compiled
def _charge_dram(m: Any, reply: Any, one: Any) -> None:
    """Cut the time since the look-up where the sector's way through DRAM is cut."""
    done_fs = done_ck(m, one) * m.clock_fs
    mark(reply, L2, one.arrive_fs)
    mark(reply, DRAM_QUEUE, one.first_ck * m.clock_fs)
    mark(reply, DRAM_ACTIVATE, one.column_ck * m.clock_fs)
    mark(reply, DRAM_COLUMN, done_fs - m.burst_fs)
    mark(reply, DRAM_BURST, done_fs)
    mark(reply, DRAM_CONTROLLER, done_fs + m.controller_fs)


@compiled
def _charge_link(reply: Any, answer: Any, now_fs: int) -> None:
    """Take over the record of the answer from the home slice, which began when the question left."""
    total = 0
    for phase in range(PACKET_PHASES):
        total += answer.phases[phase]
    mark(reply, L2, now_fs - total)
    for phase in range(PACKET_PHASES):
        reply.phases[phase] += answer.phases[phase]
    reply.last_fs = now_fs


@compiled
def _finish(m: Any, slice_id: int, index: int, slot: int, cycle: int, now_fs: int) -> None:
    """A waiter has all its sectors."""
    waiter = l2_waiter(m.l2_waiters, index)
    reply = packet(m.packets, waiter.reply)
    if waiter.crosses:
        mark(reply, L2, now_fs)
        leave(m, slice_id, waiter.reply, cycle, 1)
        return
    ready = max(cycle + m.after_cycles, waiter.ready)
    if reply.operation in (ATOMIC, REDUCE):
        one = l2_line(m.l2_lines, slot)
        one.dirty |= reply.sectors
        one.owner = reply.kernel
        if reply.operation == REDUCE:
            acknowledge(m, slice_id, waiter.reply, ready)
            return
    leave(m, slice_id, waiter.reply, ready, 0)


@compiled
def _serve_waiters(
    m: Any, slice_id: int, entry: int, bit: int, slot: int, one: int, answer: int, cycle: int, now_fs: int
) -> None:
    """Give an arrived sector to those who wait for it."""
    holder = miss(m.misses, entry)
    before = -1
    index = holder.first
    while index >= 0:
        waiter = l2_waiter(m.l2_waiters, index)
        following = waiter.next
        if waiter.sectors & bit:
            waiter.sectors ^= bit
        if waiter.sectors:
            before = index
            ask_packet(m.packets, waiter.reply)
        else:
            reply = packet(m.packets, waiter.reply)
            if not waiter.own & bit:
                mark(reply, AT_L2_MSHR, now_fs)
            elif answer < 0:
                _charge_dram(m, reply, arrival_at(m.arrivals, one))
            else:
                _charge_link(reply, packet(m.packets, answer), now_fs)
            _finish(m, slice_id, index, slot, cycle, now_fs)
            if before < 0:
                holder.first = following
            else:
                l2_waiter(m.l2_waiters, before).next = following
            if following < 0:
                holder.last = before
            give(m, P_L2_WAITERS, index)
        index = following


@compiled
def _close(m: Any, slice_id: int, entry: int, cycle: int, now_fs: int) -> None:
    """The last sector of an MSHR has arrived."""
    holder = miss(m.misses, entry)
    slice_at(m.slice_states, slice_id).entries[holder.far] -= 1
    leave_meter(m, meter_of(m, slice_id, MSHR_METER), now_fs, holder.entered_fs)
    if holder.slot != FREE:
        unpin(m, holder.slot)
    else:
        _forget(m, slice_id, entry)
    give(m, P_MISSES, entry)
    wake(m, slice_id, cycle)


@compiled
def arrive(
    m: Any, slice_id: int, entry: int, bit: int, kernel: int, one: int, answer: int, cycle: int, now_fs: int
) -> None:
    """A sector of an MSHR's line has come: by the transfer `one` from DRAM, or with the packet `answer` of
    the home slice.
    """
    holder = miss(m.misses, entry)
    holder.pending &= ~bit
    count(m, kernel, C_FILL, 1)
    # The way of a line on its way is kept; only a line without one may have got one since.
    slot = holder.slot
    if slot == FREE:
        slot = slot_of(m, slice_id, holder.line)
    if slot != FREE and not holder.stale & bit:
        l2_line(m.l2_lines, slot).valid |= bit
    _serve_waiters(m, slice_id, entry, bit, slot, one, answer, cycle, now_fs)
    if not holder.pending:
        _close(m, slice_id, entry, cycle, now_fs)


@compiled
def answered(m: Any, index: int, cycle: int, now_fs: int) -> None:
    """Sectors from the home slice."""
    answer = packet(m.packets, index)
    mark(answer, PARTITION_LINK, now_fs)
    entry = answer.token
    for sector in range(3, -1, -1):
        if answer.sectors >> sector & 1:
            arrive(m, answer.near, entry, 1 << sector, answer.kernel, NO_ANSWER, index, cycle, now_fs)
    give(m, P_PACKETS, index)
