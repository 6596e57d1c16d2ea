"""A memory partition: some L2 slices and some DRAM channels in one component, with two clocks.

It ticks at edges of the L2 clock and of the memory clock; where both coincide, L2 goes first.
"""

from __future__ import annotations

from typing import Any

from hwmodels.slice_hash import home_of
from simulator.machine.compiled import l2_tags
from simulator.machine.compiled.arrivals import first_arrival_key, pull_arrival
from simulator.machine.compiled.counts import count
from simulator.machine.compiled.dram import advance
from simulator.machine.compiled.inbox import arrived, arrived_notice, settle_next
from simulator.machine.compiled.jit import bit_count, compiled, inlined, quotient
from simulator.machine.compiled.l2 import arrive, arrive_crossing, credit, invalidate, step
from simulator.machine.compiled.l2_misses import NO_ANSWER, answered, wake
from simulator.machine.compiled.l2_misses import arrive as arrive_sector
from simulator.machine.compiled.layout import P_ARRIVALS, component, message
from simulator.machine.compiled.layout_machine import machine_at
from simulator.machine.compiled.layout_memory import arrival_at, l2_line, partition, slice_at
from simulator.machine.compiled.memory_front import tick as memory_tick
from simulator.machine.compiled.pools import give
from simulator.machine.messages import LINK_INVALIDATE, LINK_REPLY, LINK_REQUEST, REQUEST
from simulator.machine.order import NEVER
from simulator.statistics.schema import INDEX

C_DIRTY_LEFT = INDEX["l2_dirty_left"]
ALL_SECTORS = 15


@compiled
def _consume(m: Any, ident: int, cycle: int, now_fs: int) -> None:
    """Messages that have arrived."""
    while True:
        at = arrived(m, ident, now_fs)
        if at < 0:
            return
        one = message(m.messages, at)
        kind = one.kind
        if kind == REQUEST:
            arrive(m, one.what, cycle, now_fs)
        elif kind == LINK_REQUEST:
            arrive_crossing(m, one.what, cycle, now_fs)
        elif kind == LINK_REPLY:
            answered(m, one.what, cycle, now_fs)
        elif kind == LINK_INVALIDATE:
            invalidate(m, one.what)


@inlined
def _take_notices(m: Any, ident: int, before_fs: int, cycle: int) -> None:
    while True:
        at = arrived_notice(m, ident, before_fs)
        if at < 0:
            return
        one = message(m.messages, at)
        credit(m, one.what, one.extra, cycle)


@compiled
def _tick_l2(m: Any, part: int, cycle: int, now_fs: int) -> None:
    _take_notices(m, m.first_partition + part, now_fs + 1, cycle)
    _consume(m, m.first_partition + part, cycle, now_fs)
    own = partition(m.partitions, part)
    while own.returned <= cycle:
        index = pull_arrival(m, m.arrivals, m.q_returned + part)
        own.returned = first_arrival_key(m, m.arrivals, m.q_returned + part)
        one = arrival_at(m.arrivals, index)
        arrive_sector(m, one.slice, one.entry, one.sector, one.kernel, index, NO_ANSWER, cycle, now_fs)
        give(m, P_ARRIVALS, index)
    for slice_id in range(part * m.part_slices, (part + 1) * m.part_slices):
        if slice_at(m.slice_states, slice_id).due <= cycle:
            step(m, slice_id, cycle, now_fs)


@compiled
def tick(m: Any, ident: int, now_fs: int) -> None:
    """All that is due at one edge of either clock."""
    part = ident - m.first_partition
    own = partition(m.partitions, part)
    period = m.l2_period_fs
    edge = quotient(now_fs, period)
    if edge * period == now_fs:
        _tick_l2(m, part, edge, now_fs)
    first = part * m.part_slices
    if own.due_fs <= now_fs and memory_tick(m, part, quotient(now_fs, m.clock_fs)):
        for slice_id in range(first, first + m.part_slices):
            wake(m, slice_id, edge + 1)
    cycle = own.returned
    blocked = 0
    for slice_id in range(first, first + m.part_slices):
        cycle = min(cycle, slice_at(m.slice_states, slice_id).due)
        blocked |= slice_at(m.slice_states, slice_id).blocked
    following = own.due_fs
    if cycle < NEVER:
        following = min(following, cycle * period)
    settle_next(m, ident, following, blocked)


def turn(here: int, ident: int, end_fs: int) -> int:
    """All ticks of a component up to the end of its turn."""
    m = machine_at(here, 0)
    own = component(m.components, ident)
    while own.next_fs < end_fs:
        own.ticked_fs = own.next_fs
        tick(m, ident, own.next_fs)
    _take_notices(m, ident, end_fs, NEVER)
    return 0


@compiled
def close(m: Any, ident: int, now_fs: int) -> None:
    """The end of the run: count what is left dirty, let idle channels catch up with refreshes."""
    part = ident - m.first_partition
    slots = m.part_slices * m.l2_sets * m.l2_ways
    for slot in range(part * slots, (part + 1) * slots):
        one = l2_line(m.l2_lines, slot)
        if one.dirty:
            count(m, one.owner, C_DIRTY_LEFT, bit_count(one.dirty))
    for ch in range(part * m.part_channels, (part + 1) * m.part_channels):
        advance(m, ch, now_fs // m.clock_fs)


@compiled
def preload(m: Any, first_line: int, last_line: int) -> None:
    """Put whole lines into L2 at their homes; of too many the last stay."""
    for line in range(first_line, last_line + 1):
        l2_tags.preload(m, home_of(line, m.slices, m.l2_partitions), line, ALL_SECTORS)
