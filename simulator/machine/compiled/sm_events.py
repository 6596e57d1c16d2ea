"""What an SM has booked for later cycles, and the accounts of its warps' states.

An event is an entry of the SM's heap: its cycle is the key, the order of booking decides among equal cycles.
One about a warp carries the warp's age, so that it is idle once the warp has gone.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
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
from simulator.machine.compiled.layout import P_NODES, STATE_BASE, node
from simulator.machine.compiled.layout_sm import events_at, sm_at, sub_core, warp_at
from simulator.machine.compiled.order import popped, pushed
from simulator.machine.compiled.pools import take
from simulator.machine.order import NEVER
from simulator.statistics.schema import INDEX

EVENT_CYCLES = 64
"""Cycles ahead that have a queue, a power of two."""
WAKE_CYCLES = 32
"""Cycles ahead for which the warps to be looked at then are bits, a power of two."""
MARKS = 32
"""Cycles ahead that have their marks in one integer."""
EVENT_WORDS = EVENT_CYCLES // MARKS
C_RESIDENT = INDEX["resident_warp_cycles"]
WAKE, RELEASE, COMPLETE, HANDED_OVER, START, EXITED, BLOCK_END = range(7)


@inlined
def add_bits(table: int, place: int, bits: int) -> None:
    """Put bits into an integer of a table of sets."""
    store_bits(table, place, load_bits(table, place) | bits)


@inlined
def _mark(m: Any, sm: int, place: int) -> None:
    """Note that there is something to do in a cycle that is near."""
    word = EVENT_WORDS * sm + place // MARKS
    store(m.event_bits, word, load(m.event_bits, word) | 1 << place % MARKS)


@inlined
def _put(m: Any, sm: int, cycle: int, entry: int) -> None:
    """Append an event to the queue of its cycle, which is near."""
    place = cycle & (EVENT_CYCLES - 1)
    events = events_at(m.events, EVENT_CYCLES * sm + place)
    node(m.nodes, entry).next = -1
    if events.head < 0:
        events.head = entry
    else:
        node(m.nodes, events.tail).next = entry
    events.tail = entry
    _mark(m, sm, place)


@compiled
def book(m: Any, sm: int, cycle: int, kind: int, item: int, age: int) -> None:
    """Book an event of an SM."""
    own = sm_at(m.sm_states, sm)
    entry = take(m, P_NODES)
    one = node(m.nodes, entry)
    one.kind = kind
    one.what = item
    one.extra = age
    if cycle - own.cycle < EVENT_CYCLES:
        _put(m, sm, cycle, entry)
    else:
        own.event_number += 1
        own.events = pushed(m, own.events, entry, cycle, own.event_number)


@inlined
def come_to(m: Any, sm: int, cycle: int) -> None:
    """A tick begins: events that have come near join the queues of their cycles, before any is booked
    there.
    """
    own = sm_at(m.sm_states, sm)
    own.cycle = cycle
    while own.events >= 0 and node(m.nodes, own.events).key - cycle < EVENT_CYCLES:
        entry = own.events
        own.events = popped(m, entry)
        _put(m, sm, node(m.nodes, entry).key, entry)


@inlined
def anything_due(m: Any, sm: int, cycle: int) -> bool:
    """Whether something is booked for this cycle, of which note is taken: warps that wait for it are listed,
    other events are to be taken out.
    """
    place = cycle & (EVENT_CYCLES - 1)
    word = EVENT_WORDS * sm + place // MARKS
    bits = load(m.event_bits, word)
    bit = 1 << place % MARKS
    if not bits & bit:
        return False
    store(m.event_bits, word, bits & ~bit)
    for word in range(m.slot_words * sm, m.slot_words * (sm + 1)):
        place = word * WAKE_CYCLES + (cycle & (WAKE_CYCLES - 1))
        add_bits(m.looked, word, load_bits(m.wakes, place))
        store_bits(m.wakes, place, 0)
    return True


@inlined
def due(m: Any, sm: int, cycle: int) -> int:
    """The next event of this cycle, taken out, or −1."""
    events = events_at(m.events, EVENT_CYCLES * sm + (cycle & (EVENT_CYCLES - 1)))
    entry = events.head
    if entry >= 0:
        events.head = node(m.nodes, entry).next
    return entry


@compiled
def next_event(m: Any, sm: int, cycle: int) -> int:
    """The next later cycle that has events, or NEVER."""
    start = (cycle + 1) & (EVENT_CYCLES - 1)
    lower = (1 << start % MARKS) - 1
    for step in range(EVENT_WORDS + 1):
        word = (start // MARKS + step) % EVENT_WORDS
        bits = load(m.event_bits, EVENT_WORDS * sm + word)
        if step == 0:
            bits &= ~lower
        elif step == EVENT_WORDS:
            bits &= lower
        if bits:
            return cycle + 1 + ((word * MARKS + lowest_bit(bits) - start) & (EVENT_CYCLES - 1))
    far = sm_at(m.sm_states, sm).events
    return node(m.nodes, far).key if far >= 0 else NEVER


@inlined
def book_warp(m: Any, cycle: int, kind: int, index: int) -> None:
    """Book an event about a warp."""
    book(m, quotient(index, m.warp_slots), cycle, kind, index, warp_at(m.warps, index).age)


@inlined
def wake_later(m: Any, own: Any, index: int, now: int, cycle: int) -> None:
    """Look at a warp of sub-core `own` again in a later cycle, before which it surely does not issue."""
    if cycle - now >= WAKE_CYCLES:
        book(m, own.sm, cycle, WAKE, index, warp_at(m.warps, index).age)
        return
    place = own.word * WAKE_CYCLES + (cycle & (WAKE_CYCLES - 1))
    add_bits(m.wakes, place, as_bits(1 << warp_at(m.warps, index).bit))
    _mark(m, own.sm, cycle & (EVENT_CYCLES - 1))


@inlined
def warp_of(m: Any, own: Any, bit: int) -> int:
    """The warp of a sub-core that has this bit."""
    return own.first_warp + m.sub_cores * bit


@inlined
def list_candidate(m: Any, index: int) -> None:
    """Look at this warp in the coming issue phase."""
    warp = warp_at(m.warps, index)
    add_bits(m.looked, sub_core(m.sub_core_states, warp.sub).word, as_bits(1 << warp.bit))


@inlined
def change_state(m: Any, warp: Any, state: int, cycle: int) -> None:
    """Account the warp's state up to `cycle` and give it another."""
    count(m, warp.kernel, STATE_BASE + warp.state, cycle - warp.since)
    warp.state = state
    warp.since = cycle


@inlined
def count_residents(m: Any, sm: int, kernel: int, cycle: int) -> None:
    """Add up resident warps; apart from the states, so that one can be held against the other."""
    place = 2 * (sm * m.kernels + kernel)
    count(m, kernel, C_RESIDENT, load(m.residents, place) * (cycle - load(m.residents, place + 1)))
    store(m.residents, place + 1, cycle)
