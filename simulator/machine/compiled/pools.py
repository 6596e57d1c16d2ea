"""Free records of each kind. What was given back last is taken first, by whichever component it may be: that
record has just been read and is still in the processor's cache.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined, load, store
from simulator.machine.compiled.layout import pool


@inlined
def take(m: Any, which: int) -> int:
    """A free record of a pool; record 0, which nobody reads, and an error when there is none."""
    place = pool(m.pools, which)
    if place.count:
        place.count -= 1
        return load(place.given, place.count)
    return _unused(m, which)


@compiled
def _unused(m: Any, which: int) -> int:
    """One that has never been taken."""
    place = pool(m.pools, which)
    if place.fresh == place.end:
        m.error = 1 + which
        return 0
    place.fresh += 1
    return place.fresh - 1


@inlined
def give(m: Any, which: int, index: int) -> None:
    """Give a record back."""
    place = pool(m.pools, which)
    store(place.given, place.count, index)
    place.count += 1


@inlined
def left(place: Any) -> int:
    """How many records of a pool are free."""
    return place.count + place.end - place.fresh
