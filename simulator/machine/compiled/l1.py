"""L1 of an SM: takes warp instructions from the load/store unit, coalesces them, and follows them to their
end.

The machine of the reference engine's file of this name. The lines of the instruction in the load/store unit
stand in the SM's record, since only one is ever there; the last `left` of them are still to be looked up.
"""

from __future__ import annotations

from typing import Any

from hwmodels.coalescing import LINE_BYTES
from simulator.machine.compiled.counts import count, mark
from simulator.machine.compiled.footprint import find_lines, tag_passes
from simulator.machine.compiled.jit import bit_count, compiled
from simulator.machine.compiled.l1_finish import looked_up, part_done
from simulator.machine.compiled.l1_misses import allocate, fill, first_counter, is_load, load
from simulator.machine.compiled.l1_port import EVICTION, OTHER, TOKEN_BITS, ask
from simulator.machine.compiled.l1_tags import EMPTY, find, touch
from simulator.machine.compiled.layout import P_PACKETS, P_WAITERS, packet
from simulator.machine.compiled.layout_sm import (
    instruction,
    l1_line,
    request_at,
    sm_at,
    waiter_at,
    warp_at,
)
from simulator.machine.compiled.pools import give, take
from simulator.machine.local_memory import LOCAL_BASE, LOCAL_WINDOW
from simulator.machine.messages import ATOMIC, REDUCE, WRITE
from simulator.machine.state_l2 import SECTOR_BYTES
from simulator.statistics.phases import (
    CROSSBAR_REPLY,
    GLOBAL_ATOMIC,
    GLOBAL_STORE,
    LOCAL_LOAD,
    LOCAL_STORE,
)
from simulator.statistics.schema import INDEX

C_STORE = INDEX["l1_global_store_requests"]
C_LOCAL_STORE = INDEX["l1_local_store_requests"]
C_ATOMIC = INDEX["l1_global_atomic_requests"]
C_REDUCTION = INDEX["l1_global_reduction_requests"]
"""Requests; sectors follow each."""
C_PASSES = INDEX["l1_data_passes"]
C_STORE_BYTES = INDEX["l1_store_bytes"]
C_REPLIES = INDEX["reply_packets"]
C_REPLY_BYTES = INDEX["reply_bytes"]
C_ACKS = INDEX["acknowledgements"]


@compiled
def _requests_counter(access_class: int) -> int:
    if is_load(access_class):
        return first_counter(access_class)
    if access_class == GLOBAL_STORE:
        return C_STORE
    if access_class == LOCAL_STORE:
        return C_LOCAL_STORE
    return C_ATOMIC if access_class == GLOBAL_ATOMIC else C_REDUCTION


@compiled
def _local_lines(m: Any, own: Any, request: Any, width: int) -> int:
    """Local memory interleaves threads: a word of all 32 lanes is one line."""
    window = request.sm * m.warp_slots + request.slot
    first = (LOCAL_BASE + window * LOCAL_WINDOW) // LINE_BYTES + request.first_byte // 4
    sectors = 0
    for sector in range(4):
        if request.mask >> (8 * sector) & 0xFF:
            sectors |= 1 << sector
    own.count = max(1, width // 4)
    for word in range(own.count):
        own.lines[word] = first + word
        own.sectors[word] = sectors
        own.full[word] = sectors
        own.lanes[word] = bit_count(request.mask)
    return own.count


@compiled
def accept(m: Any, index: int) -> int:
    """Coalesce an instruction that the load/store unit has taken; returns its data-port cycles."""
    request = request_at(m.requests, index)
    inst = instruction(m.instructions, request.inst)
    own = sm_at(m.sm_states, request.sm)
    if inst.access_class in (LOCAL_LOAD, LOCAL_STORE):
        data = _local_lines(m, own, request, inst.bytes_per_lane)
    else:
        data = find_lines(m, own, request, inst.bytes_per_lane)
    passes = max(data, tag_passes(m, own), 1)
    request.left = own.count
    request.passes = passes
    first = _requests_counter(inst.access_class)
    sectors = 0
    for place in range(own.count):
        sectors += bit_count(own.sectors[place])
    count(m, request.kernel, first, 1)
    count(m, request.kernel, first + 1, sectors)
    count(m, request.kernel, C_PASSES, passes)
    if inst.access_class == GLOBAL_STORE:
        count(m, request.kernel, C_STORE_BYTES, bit_count(request.mask) * inst.bytes_per_lane)
    return passes


@compiled
def _store_locally(m: Any, request: Any, line: int, sectors: int, cycle: int) -> int:
    """A spill: it stays in L1, valid and dirty, without a fetch."""
    slot = find(m, request.sm, line)
    if slot == EMPTY:
        slot = allocate(m, request.sm, line, request.kernel, cycle)
    if slot == EMPTY:
        return 0
    touch(m, request.sm, slot)
    one = l1_line(m.l1_lines, slot)
    one.kernel = request.kernel
    one.valid |= sectors
    one.dirty |= sectors
    return 1


@compiled
def _send_through(m: Any, index: int, inst: Any, place: int, cycle: int) -> int:
    """Global stores, atomics and reductions: one packet a line, past L1; needs a credit."""
    request = request_at(m.requests, index)
    own = sm_at(m.sm_states, request.sm)
    if own.credits < 1:
        return 0
    line = own.lines[place]
    sectors = own.sectors[place]
    lanes = own.lanes[place]
    if inst.access_class == GLOBAL_STORE:
        operation = WRITE
        volume = bit_count(sectors) * SECTOR_BYTES
    else:
        operation = ATOMIC if inst.access_class == GLOBAL_ATOMIC else REDUCE
        volume = lanes * inst.bytes_per_lane
        slot = find(m, request.sm, line)
        if slot != EMPTY:
            l1_line(m.l1_lines, slot).valid &= ~sectors
    token = take(m, P_WAITERS)
    waiter = waiter_at(m.waiters, token)
    waiter.request = index
    waiter.warp = request.warp
    waiter.line = line
    own.others += 1
    request.parts += 1
    if operation != ATOMIC:
        warp_at(m.warps, request.warp).unacknowledged += 1
    name = token << TOKEN_BITS | OTHER
    ask(m, index, operation, line, sectors, own.full[place], volume, name, token, cycle)
    return 1


@compiled
def proceed(m: Any, index: int, cycle: int) -> int:
    """Look up the lines that are left; 0 if the next one has to wait."""
    request = request_at(m.requests, index)
    inst = instruction(m.instructions, request.inst)
    own = sm_at(m.sm_states, request.sm)
    access_class = inst.access_class
    while request.left:
        place = own.count - request.left
        if is_load(access_class):
            done = load(m, index, access_class, own.lines[place], own.sectors[place], cycle)
        elif access_class == LOCAL_STORE:
            done = _store_locally(m, request, own.lines[place], own.sectors[place], cycle)
        else:
            done = _send_through(m, index, inst, place, cycle)
        if not done:
            return 0
        request.left -= 1
    looked_up(m, index, access_class, cycle)
    return 1


@compiled
def _other_done(m: Any, sm: int, index: int, now_fs: int) -> None:
    """The answer to a store, reduction or atomic."""
    one = packet(m.packets, index)
    waiter = one.token >> TOKEN_BITS
    sm_at(m.sm_states, sm).others -= 1
    inst = request_at(m.requests, waiter_at(m.waiters, waiter).request).inst
    part_done(m, waiter, index, instruction(m.instructions, inst).access_class, now_fs)
    give(m, P_WAITERS, waiter)


@compiled
def reply(m: Any, sm: int, index: int, now_fs: int) -> None:
    """Data from the crossbar: of an atomic, or of a miss."""
    one = packet(m.packets, index)
    mark(one, CROSSBAR_REPLY, now_fs)
    count(m, one.kernel, C_REPLIES, 1)
    count(m, one.kernel, C_REPLY_BYTES, one.payload)
    if one.token & ((1 << TOKEN_BITS) - 1) == OTHER:
        _other_done(m, sm, index, now_fs)
    else:
        fill(m, sm, index, now_fs)
    give(m, P_PACKETS, index)


@compiled
def acknowledged(m: Any, sm: int, index: int, now_fs: int) -> None:
    """A store, reduction or write-back has reached its place in L2."""
    one = packet(m.packets, index)
    count(m, one.kernel, C_ACKS, 1)
    if one.token == EVICTION:
        sm_at(m.sm_states, sm).evictions -= 1
    else:
        mark(one, CROSSBAR_REPLY, now_fs)
        _other_done(m, sm, index, now_fs)
    give(m, P_PACKETS, index)
