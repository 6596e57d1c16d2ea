"""A streaming multiprocessor: resident blocks and warps, issue, and the units that they share.

One tick runs these phases in this order: messages, events that are due, load/store unit and L1, issue in the
sub-cores, next tick. The machine of the reference engine's file of this name.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled import l1
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.cursor import start
from simulator.machine.compiled.inbox import arrived, arrived_notice, send_to_launcher, settle_next
from simulator.machine.compiled.issue import fetch_line, forget_groups, returned
from simulator.machine.compiled.jit import (
    as_bits,
    compiled,
    inlined,
    load,
    load_bits,
    lowest_bit,
    quotient,
    store,
    store_bits,
)
from simulator.machine.compiled.l1_finish import fence_if_done
from simulator.machine.compiled.l1_tags import drop_all, prepare
from simulator.machine.compiled.latency import record
from simulator.machine.compiled.layout import P_NODES, P_REQUESTS, component, message, node
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.compiled.layout_sm import (
    WORD_BITS,
    block_at,
    kernel_at,
    request_at,
    sm_at,
    warp_at,
)
from simulator.machine.compiled.layout_sm import sub_core as sub_core_at
from simulator.machine.compiled.lsu import next_cycle
from simulator.machine.compiled.lsu import step as lsu_step
from simulator.machine.compiled.pools import give
from simulator.machine.compiled.sm_events import (
    BLOCK_END,
    COMPLETE,
    EXITED,
    HANDED_OVER,
    RELEASE,
    START,
    WAKE,
    add_bits,
    anything_due,
    book,
    book_warp,
    change_state,
    come_to,
    count_residents,
    due,
    list_candidate,
    next_event,
    warp_of,
)
from simulator.machine.compiled.sub_core import step as sub_core_step
from simulator.machine.messages import LAUNCH, REPLY, SM_CREDIT
from simulator.machine.order import NEVER
from simulator.statistics.phases import DRAIN, NO_INSTRUCTION
from simulator.statistics.schema import INDEX

C_BLOCKS = INDEX["blocks"]


# --- blocks and warps ---------------------------------------------------------------------------------------


@inlined
def _take_slot(m: Any, sub: int) -> int:
    """The warp of the lowest free slot of a sub-core; the launcher has seen that there is one."""
    own = sub_core_at(m.sub_core_states, sub)
    free = load_bits(m.free_slots, own.word)
    bit = lowest_bit(free & as_bits(own.mask))
    store_bits(m.free_slots, own.word, free & ~(1 << bit))
    return warp_of(m, own, bit)


@inlined
def _give_slot(m: Any, warp: Any) -> None:
    add_bits(m.free_slots, sub_core_at(m.sub_core_states, warp.sub).word, as_bits(1 << warp.bit))


@compiled
def _clear(m: Any, index: int) -> None:
    """A slot as a new warp finds it."""
    warp = warp_at(m.warps, index)
    warp.fetch_ready = 0
    warp.fetch_line = -1
    warp.branch_ready = 0
    warp.loads = 0
    warp.unsent = 0
    warp.unacknowledged = 0
    warp.copies = -1
    warp.group_first = -1
    warp.groups = 0
    warp.exited = 0
    warp.barrier = -1
    warp.clear = 0
    warp.state = NO_INSTRUCTION
    for register in range(m.registers):
        store(m.ready, index * m.registers + register, 0)
    if warp.has_short:
        warp.has_short = 0
        for register in range(m.registers):
            store(m.short, index * m.registers + register, -1)
    if kernel_at(m.kernel_states, warp.kernel).consumes:
        size = m.registers * m.operator_words
        for word in range(index * size, (index + 1) * size):
            store(m.fresh, word, 0)


@compiled
def _begin(m: Any, index: int, cycle: int) -> None:
    """A warp is set up: fetch its first line."""
    fetch_line(m, index, cycle)
    list_candidate(m, index)


@compiled
def _accept(m: Any, sm: int, number: int, cycle: int) -> None:
    """Take a block in: its warps are resident from now, and are set up one after another."""
    own = sm_at(m.sm_states, sm)
    block = block_at(m.blocks, number)
    kernel = block.kernel
    block.start_fs = cycle * m.sm_period_fs
    prepare(m, sm, kernel, block.carveout)
    if not own.resident:
        own.active_since = cycle
    count_residents(m, sm, kernel, cycle)
    place = 2 * (sm * m.kernels + kernel)
    store(m.residents, place, load(m.residents, place) + block.warps)
    own.resident += block.warps
    for index in range(block.warps):
        which = _take_slot(m, sm * m.sub_cores + block.sub_core[index])
        warp = warp_at(m.warps, which)
        warp.kernel = kernel
        _clear(m, which)
        own.ages += 1
        warp.used = 1
        warp.age = own.ages
        warp.block = number
        warp.index = index
        warp.since = cycle
        block.warp[index] = which
        block.age[index] = own.ages
        start(m, warp, block.index, index)
        begin = max(own.setup_tenths, 10 * cycle)
        own.setup_tenths = begin + m.warp_setup_tenths
        ready = -(-begin // 10)
        if ready > cycle:
            book_warp(m, ready, START, which)
        else:
            _begin(m, which, cycle)


@compiled
def _end_if_drained(m: Any, index: int, cycle: int) -> None:
    """End the residence of a warp that has exited, once its loads are back and its stores handed over."""
    warp = warp_at(m.warps, index)
    if not warp.exited or warp.unsent or warp.loads or not warp.used:
        return
    sm = index // m.warp_slots
    own = sm_at(m.sm_states, sm)
    warp.used = 0
    _give_slot(m, warp)
    change_state(m, warp, DRAIN, cycle)
    forget_groups(m, warp)
    count_residents(m, sm, warp.kernel, cycle)
    place = 2 * (sm * m.kernels + warp.kernel)
    store(m.residents, place, load(m.residents, place) - 1)
    own.resident -= 1
    if not own.resident:
        own.active_cycles += cycle - own.active_since
    block = block_at(m.blocks, warp.block)
    block.live -= 1
    if block.live == 0:
        book(m, sm, cycle + m.exit_latency, BLOCK_END, warp.block, 0)


@compiled
def _end_block(m: Any, sm: int, number: int, cycle: int) -> None:
    block = block_at(m.blocks, number)
    count(m, block.kernel, C_BLOCKS, 1)
    block.end_fs = cycle * m.sm_period_fs
    send_to_launcher(m, 1 + sm, block.end_fs, number)


# --- requests -----------------------------------------------------------------------------------------------


@compiled
def _complete(m: Any, asked: int, cycle: int) -> None:
    """Write-back: registers become ready, the latency is recorded, waiting warps are looked at."""
    request = request_at(m.requests, asked)
    latency = record(m, asked, cycle)
    if returned(m, asked, latency, cycle):
        _end_if_drained(m, request.warp, cycle)
    give(m, P_REQUESTS, asked)


# --- time ---------------------------------------------------------------------------------------------------


@inlined
def _is_there(m: Any, index: int, age: int) -> bool:
    return warp_at(m.warps, index).age == age and warp_at(m.warps, index).used


@compiled
def _happen(m: Any, sm: int, kind: int, item: int, age: int, cycle: int) -> None:
    if kind == COMPLETE:
        _complete(m, item, cycle)
    elif kind == BLOCK_END:
        _end_block(m, sm, item, cycle)
    elif not _is_there(m, item, age):
        return
    elif kind in (WAKE, RELEASE):
        list_candidate(m, item)
    elif kind == HANDED_OVER:
        warp_at(m.warps, item).unsent -= 1
        fence_if_done(m, item, cycle)
        _end_if_drained(m, item, cycle)
    elif kind == START:
        _begin(m, item, cycle)
    elif kind == EXITED:
        _end_if_drained(m, item, cycle)


@compiled
def _take_messages(m: Any, sm: int, cycle: int, now_fs: int) -> None:
    while True:
        at = arrived(m, 1 + sm, now_fs)
        if at < 0:
            return
        kind = message(m.messages, at).kind
        item = message(m.messages, at).what
        if kind == REPLY:
            l1.reply(m, sm, item, now_fs)
        elif kind == LAUNCH:
            _accept(m, sm, item, cycle)


@compiled
def _take_notices(m: Any, sm: int, before_fs: int) -> None:
    while True:
        at = arrived_notice(m, 1 + sm, before_fs)
        if at < 0:
            return
        one = message(m.messages, at)
        if one.kind == SM_CREDIT:
            sm_at(m.sm_states, sm).credits += one.what
        else:
            l1.acknowledged(m, sm, one.what, one.key)


@compiled
def tick(m: Any, ident: int, now_fs: int) -> None:
    """All phases of one cycle."""
    sm = ident - 1
    own = sm_at(m.sm_states, sm)
    cycle = quotient(now_fs, m.sm_period_fs)
    come_to(m, sm, cycle)
    here = component(m.components, ident)
    if here.notice_fs <= now_fs:
        _take_notices(m, sm, now_fs + 1)
    if here.arrival_fs <= now_fs:
        _take_messages(m, sm, cycle, now_fs)
    entry = due(m, sm, cycle) if anything_due(m, sm, cycle) else -1
    while entry >= 0:
        kind = node(m.nodes, entry).kind
        item = node(m.nodes, entry).what
        age = node(m.nodes, entry).extra
        give(m, P_NODES, entry)
        _happen(m, sm, kind, item, age, cycle)
        entry = due(m, sm, cycle)
    if own.waiting or own.stalled >= 0:
        lsu_step(m, sm, cycle)
    listed = 0
    for word in range(m.slot_words):
        at = m.slot_words * sm + word
        looked = load_bits(m.looked, at)
        left = looked
        while left:
            place = load(m.places, WORD_BITS * word + lowest_bit(left))
            above = sub_core_step(m, m.sub_cores * sm + place, cycle)
            looked = load_bits(m.looked, at)
            left = looked & above
        listed |= looked
    following = cycle + 1
    if not listed:
        following = min(next_cycle(m, sm, cycle), next_event(m, sm, cycle))
    following_fs = following * m.sm_period_fs if following < NEVER else NEVER
    waits = (own.stalled >= 0 and own.credits < 1) or own.fences or m.keep_requests
    settle_next(m, ident, following_fs, 1 if waits else 0)


def turn(here: int, ident: int, end_fs: int) -> int:
    """All ticks of a component up to the end of its turn."""
    m = machine_at(here, 0)
    own = component(m.components, ident)
    while own.next_fs < end_fs:
        own.ticked_fs = own.next_fs
        tick(m, ident, own.next_fs)
    _take_notices(m, ident - 1, end_fs)
    return 0


@compiled
def settle(m: Any, sm: int, cycle: int) -> None:
    """Account everything that lasts, up to `cycle`."""
    for index in range(sm * m.warp_slots, (sm + 1) * m.warp_slots):
        warp = warp_at(m.warps, index)
        # A state that begins at or after the edge has nothing before it.
        if warp.used and warp.since < cycle:
            change_state(m, warp, warp.state, cycle)
    for kernel in range(m.kernels):
        if load(m.residents, 2 * (sm * m.kernels + kernel) + 1) < cycle:
            count_residents(m, sm, kernel, cycle)


@compiled
def close(m: Any, sm: int, cycle: int) -> None:
    """The run is over: account what lasts, and what stays dirty in L1."""
    own = sm_at(m.sm_states, sm)
    if own.resident:
        own.active_cycles += cycle - own.active_since
    drop_all(m, sm)
