"""What an SM has booked for later cycles, and the accounts of its warps' states.

An event is an entry of the SM's heap: its cycle is the key, the order of booking decides among equal cycles.
One about a warp carries the warp's age, so that it is idle once the warp has gone.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.counts import count
from simulator.machine.compiled.jit import inlined, load, store
from simulator.machine.compiled.layout import P_NODES, STATE_BASE, node
from simulator.machine.compiled.layout_sm import sm_at, sub_core, warp_at
from simulator.machine.compiled.order import pushed, take
from simulator.statistics.schema import INDEX

C_RESIDENT = INDEX["resident_warp_cycles"]
WAKE, RELEASE, COMPLETE, HANDED_OVER, START, EXITED, BLOCK_END = range(7)


@inlined
def book(m: Any, sm: int, cycle: int, kind: int, item: int, age: int) -> None:
    """Book an event of an SM."""
    own = sm_at(m.sm_states, sm)
    own.event_number += 1
    entry = take(m, P_NODES)
    one = node(m.nodes, entry)
    one.kind = kind
    one.what = item
    one.extra = age
    own.events = pushed(m, own.events, entry, cycle, own.event_number)


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
