"""What an SM has booked for later cycles, and the accounts of its warps' states.

An event is an entry of the SM's heap: its cycle is the key, the order of booking decides among equal cycles.
One about a warp carries the warp's age, so that it is idle once the warp has gone.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
from simulator.machine.compiled.jit import compiled, inlined, load, lowest_bit, store
from simulator.machine.compiled.layout import P_NODES, STATE_BASE, node, queue
from simulator.machine.compiled.layout_sm import sm_at, sub_core, warp_at
from simulator.machine.compiled.order import append, dequeue, popped, pushed
from simulator.machine.compiled.pools import take
from simulator.machine.order import NEVER
from simulator.statistics.schema import INDEX

EVENT_CYCLES = 256
"""Cycles ahead that have a queue, a power of two."""
WORD_BITS = 32
EVENT_WORDS = EVENT_CYCLES // WORD_BITS
C_RESIDENT = INDEX["resident_warp_cycles"]
WAKE, RELEASE, COMPLETE, HANDED_OVER, START, EXITED, BLOCK_END = range(7)


@inlined
def _put(m: Any, sm: int, cycle: int, entry: int) -> None:
    """Append an event to the queue of its cycle, which is near."""
    place = cycle & (EVENT_CYCLES - 1)
    append(m, m.q_events + EVENT_CYCLES * sm + place, entry)
    word = EVENT_WORDS * sm + place // WORD_BITS
    store(m.event_bits, word, load(m.event_bits, word) | 1 << place % WORD_BITS)


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
def due(m: Any, sm: int, cycle: int) -> int:
    """The next event of this cycle, taken out, or −1."""
    place = cycle & (EVENT_CYCLES - 1)
    which = m.q_events + EVENT_CYCLES * sm + place
    if queue(m.queues, which).head < 0:
        word = EVENT_WORDS * sm + place // WORD_BITS
        store(m.event_bits, word, load(m.event_bits, word) & ~(1 << place % WORD_BITS))
        return -1
    return dequeue(m, which)


@compiled
def next_event(m: Any, sm: int, cycle: int) -> int:
    """The next later cycle that has events, or NEVER."""
    start = (cycle + 1) & (EVENT_CYCLES - 1)
    lower = (1 << start % WORD_BITS) - 1
    for step in range(EVENT_WORDS + 1):
        word = (start // WORD_BITS + step) % EVENT_WORDS
        bits = load(m.event_bits, EVENT_WORDS * sm + word)
        if step == 0:
            bits &= ~lower
        elif step == EVENT_WORDS:
            bits &= lower
        if bits:
            return cycle + 1 + ((word * WORD_BITS + lowest_bit(bits) - start) & (EVENT_CYCLES - 1))
    far = sm_at(m.sm_states, sm).events
    return node(m.nodes, far).key if far >= 0 else NEVER


@inlined
def book_warp(m: Any, cycle: int, kind: int, index: int) -> None:
    """Book an event about a warp."""
    book(m, index // m.warp_slots, cycle, kind, index, warp_at(m.warps, index).age)


@inlined
def list_candidate(m: Any, index: int) -> None:
    """Look at this warp in the coming issue phase."""
    warp = warp_at(m.warps, index)
    if not warp.listed and not warp.parked:
        warp.listed = 1
        own = sub_core(m.sub_core_states, warp.sub)
        store(m.candidates, warp.sub * m.sub_slots + own.candidates, index)
        own.candidates += 1
        sm_at(m.sm_states, own.sm).looked_at |= own.bit


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
