"""The first level of address translation of an SM: recently used pages, and what a page outside them costs.

A page is an entry of (page, LRU stamp); the place used last is tried first.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, load, quotient, store
from simulator.machine.compiled.layout_sm import sm_at


@compiled
def _find(m: Any, sm: int, page: int) -> int:
    """The place of a page in the SM's table, or −1."""
    own = sm_at(m.sm_states, sm)
    first = sm * m.page_entries
    if own.pages and load(m.pages, 2 * (first + own.page_last)) == page:
        return own.page_last
    for place in range(own.pages):
        if load(m.pages, 2 * (first + place)) == page:
            return place
    return -1


@compiled
def extra_cycles(m: Any, sm: int, line: int) -> int:
    """Cycles that the translation of this line adds."""
    if not m.page_entries:
        return 0
    own = sm_at(m.sm_states, sm)
    page = quotient(line, m.lines_per_page)
    first = sm * m.page_entries
    place = _find(m, sm, page)
    extra = 0
    if place < 0:
        extra = m.page_miss_cycles
        place = own.pages
        if place < m.page_entries:
            own.pages += 1
        else:
            place = 0
            for other in range(1, own.pages):
                if load(m.pages, 2 * (first + other) + 1) < load(m.pages, 2 * (first + place) + 1):
                    place = other
        store(m.pages, 2 * (first + place), page)
    own.page_stamp += 1
    own.page_last = place
    store(m.pages, 2 * (first + place) + 1, own.page_stamp)
    return extra
