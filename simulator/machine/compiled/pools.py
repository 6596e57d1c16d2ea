"""Free records: each component keeps those that it has given back on a shelf of its own, and the rest stand
in a pool.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import SHELF_ROOM, pool, shelf


@inlined
def take(m: Any, which: int) -> int:
    """A free record of a pool; record 0, which nobody reads, and an error when there is none.

    The component that ticks looks first among those that it has given back itself: they are near at hand.
    """
    own = shelf(m.shelves, m.current + which)
    if own.count:
        own.count -= 1
        return own.entries[own.count]
    return from_pool(m, which)


@compiled
def from_pool(m: Any, which: int) -> int:
    """A free record from the pool itself."""
    place = pool(m.pools, which)
    if place.left == 0:
        m.error = 1 + which
        return 0
    place.left -= 1
    if place.count:
        place.count -= 1
        return load(place.given, place.count)
    place.fresh += 1
    return place.fresh - 1


@inlined
def give(m: Any, which: int, index: int) -> None:
    """Give a record back, to the shelf of the component that ticks if there is room, or else to its pool."""
    own = shelf(m.shelves, m.current + which)
    if own.count < SHELF_ROOM:
        own.entries[own.count] = index
        own.count += 1
    else:
        _to_pool(m, which, index)


@compiled
def _to_pool(m: Any, which: int, index: int) -> None:
    place = pool(m.pools, which)
    store(place.given, place.count, index)
    place.count += 1
    place.left += 1
