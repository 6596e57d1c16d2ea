"""Loads at L1: hits, misses with their MSHRs, merges behind a miss that is on its way, and fills.

The machine of the reference engine's file of this name. Who waits for a miss is a chain of entries; the
misses that fill one line are a chain that begins in the line.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
from simulator.machine.compiled.jit import bit_count, compiled, inlined
from simulator.machine.compiled.l1_finish import MERGED, part_done
from simulator.machine.compiled.l1_port import MISS, TOKEN_BITS, ask, write_back
from simulator.machine.compiled.l1_tags import EMPTY, find, pin, put, touch, unpin, victim
from simulator.machine.compiled.layout import P_NODES, P_WAITERS, node, packet
from simulator.machine.compiled.layout_sm import instruction, l1_line, mshr, request_at, sm_at, waiter_at
from simulator.machine.compiled.meter import enter, leave
from simulator.machine.compiled.pools import give, take
from simulator.machine.messages import READ
from simulator.statistics.phases import ASYNC_COPY, GLOBAL_LOAD, LOCAL_LOAD
from simulator.statistics.schema import INDEX

C_GLOBAL = INDEX["l1_global_load_requests"]
C_LOCAL = INDEX["l1_local_load_requests"]
C_COPY = INDEX["l1_async_copy_requests"]
"""Requests; sectors, hits, misses and merges follow each."""
C_FILLS = INDEX["l1_fill_sectors"]


@inlined
def is_load(access_class: int) -> bool:
    """Whether such a request is looked up in L1."""
    return access_class in (GLOBAL_LOAD, LOCAL_LOAD, ASYNC_COPY)


@inlined
def first_counter(access_class: int) -> int:
    """The first of the five counters of a class of loads."""
    if access_class == GLOBAL_LOAD:
        return C_GLOBAL
    return C_LOCAL if access_class == LOCAL_LOAD else C_COPY


@compiled
def allocate(m: Any, sm: int, line: int, kernel: int, cycle: int) -> int:
    """A place for a line, evicting the least recently used one; EMPTY if none can go now."""
    slot = victim(m, sm, line)
    if slot == EMPTY:
        return EMPTY
    if l1_line(m.l1_lines, slot).dirty and not write_back(m, sm, slot, cycle):
        return EMPTY
    put(m, slot, line, kernel)
    return slot


@compiled
def _wait(m: Any, which: int, waiter: int) -> None:
    """Put a waiter into the chain of a miss."""
    entry = take(m, P_NODES)
    node(m.nodes, entry).what = waiter
    node(m.nodes, entry).next = -1
    holder = mshr(m.mshrs, which)
    if holder.first < 0:
        holder.first = entry
    else:
        node(m.nodes, holder.last).next = entry
    holder.last = entry
    holder.waiters += 1
    waiter_at(m.waiters, waiter).references += 1


@compiled
def _miss(m: Any, asked: int, line: int, sectors: int, slot: int, waiter: int, cycle: int) -> int:
    """Open a miss and send its packet; its MSHR."""
    sm = request_at(m.requests, asked).sm
    own = sm_at(m.sm_states, sm)
    which = own.mshr_free
    holder = mshr(m.mshrs, which)
    own.mshr_free = holder.next
    own.mshrs_used += 1
    now_fs = cycle * m.sm_period_fs
    holder.sectors = sectors
    holder.slot = slot
    holder.since_fs = now_fs
    holder.first = -1
    holder.last = -1
    holder.waiters = 0
    enter(m, 2 * sm + 1, now_fs)
    if slot != EMPTY:
        one = l1_line(m.l1_lines, slot)
        one.pending |= sectors
        pin(m, slot)
        holder.same = one.bringing
        one.bringing = which
    ask(m, asked, READ, line, sectors, 0, 0, which << TOKEN_BITS | MISS, waiter, cycle)
    return which


@inlined
def _has_places(m: Any, slot: int, merges: int) -> int:
    """Whether each miss that brings some of these sectors has a place for one who waits."""
    which = l1_line(m.l1_lines, slot).bringing
    while which >= 0:
        holder = mshr(m.mshrs, which)
        if holder.sectors & merges and holder.waiters >= m.l1_merges:
            return 0
        which = holder.same
    return 1


@compiled
def load(m: Any, asked: int, access_class: int, line: int, sectors: int, cycle: int) -> int:
    """Look up one line of a load; 0 if it has to wait."""
    request = request_at(m.requests, asked)
    sm = request.sm
    own = sm_at(m.sm_states, sm)
    bypass = instruction(m.instructions, request.inst).bypass
    slot = EMPTY if bypass else find(m, sm, line)
    hits = 0
    merges = 0
    if slot != EMPTY:
        hits = sectors & l1_line(m.l1_lines, slot).valid
        merges = sectors & l1_line(m.l1_lines, slot).pending & ~hits
    misses = sectors & ~(hits | merges)
    if merges and not _has_places(m, slot, merges):
        return 0
    if misses:
        if own.mshrs_used >= m.l1_mshrs:
            return 0
        if slot == EMPTY and not bypass:
            slot = allocate(m, sm, line, request.kernel, cycle)
            if slot == EMPTY:
                return 0
        if own.credits < 1:
            return 0
    first = first_counter(access_class)
    count(m, request.kernel, first + 2, bit_count(hits))
    count(m, request.kernel, first + 3, bit_count(misses))
    count(m, request.kernel, first + 4, bit_count(merges))
    if slot != EMPTY:
        touch(m, sm, slot)
    if merges or misses:
        index = take(m, P_WAITERS)
        waiter = waiter_at(m.waiters, index)
        waiter.request = asked
        waiter.warp = request.warp
        waiter.line = line
        waiter.sectors = merges | misses
        waiter.own = -1
        waiter.looked_up = cycle
        waiter.references = 0
        request.parts += 1
        if merges:
            which = l1_line(m.l1_lines, slot).bringing
            while which >= 0:
                if mshr(m.mshrs, which).sectors & merges:
                    _wait(m, which, index)
                which = mshr(m.mshrs, which).same
        if misses:
            waiter.own = _miss(m, asked, line, misses, slot, index, cycle)
            _wait(m, waiter.own, index)
    return 1


@compiled
def _close(m: Any, sm: int, which: int, slot: int, now_fs: int) -> None:
    """The last sector of a miss has arrived: free its MSHR and its chains."""
    own = sm_at(m.sm_states, sm)
    holder = mshr(m.mshrs, which)
    entry = holder.first
    while entry >= 0:
        following = node(m.nodes, entry).next
        index = node(m.nodes, entry).what
        waiter = waiter_at(m.waiters, index)
        waiter.references -= 1
        if not waiter.references:
            give(m, P_WAITERS, index)
        give(m, P_NODES, entry)
        entry = following
    if slot != EMPTY:
        one = l1_line(m.l1_lines, slot)
        if one.bringing == which:
            one.bringing = holder.same
        else:
            before = one.bringing
            while mshr(m.mshrs, before).same != which:
                before = mshr(m.mshrs, before).same
            mshr(m.mshrs, before).same = holder.same
    own.mshrs_used -= 1
    holder.next = own.mshr_free
    own.mshr_free = which
    leave(m, 2 * sm + 1, now_fs, holder.since_fs)


@compiled
def fill(m: Any, sm: int, index: int, now_fs: int) -> None:
    """Sectors arrive: fill the line, finish the parts that have all of theirs, free the MSHR after its
    last.
    """
    one = packet(m.packets, index)
    which = one.token >> TOKEN_BITS
    holder = mshr(m.mshrs, which)
    here = one.sectors
    count(m, one.kernel, C_FILLS, bit_count(here))
    holder.sectors &= ~here
    slot = holder.slot
    if slot != EMPTY:
        l1_line(m.l1_lines, slot).valid |= here
        l1_line(m.l1_lines, slot).pending &= ~here
        if not l1_line(m.l1_lines, slot).pending:
            unpin(m, slot)
    entry = holder.first
    while entry >= 0:
        who = node(m.nodes, entry).what
        entry = node(m.nodes, entry).next
        waiter = waiter_at(m.waiters, who)
        if waiter.sectors & here:
            waiter.sectors &= ~here
            if not waiter.sectors:
                inst = request_at(m.requests, waiter.request).inst
                access_class = instruction(m.instructions, inst).access_class
                part_done(m, who, index if waiter.own == which else MERGED, access_class, now_fs)
    if not holder.sectors:
        _close(m, sm, which, slot, now_fs)
