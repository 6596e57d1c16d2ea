"""Where a packet goes: the home slice of its line, the slice that an SM asks first, and the distance on the
die.

The tables are made once from the reference engine's `Routing`, which holds the rules.
"""

from __future__ import annotations

from typing import Any

from hwmodels.slice_hash import home_of
from simulator.machine.compiled.jit import compiled, inlined, load
from simulator.machine.compiled.layout_memory import slice_at
from simulator.machine.messages import READ


@inlined
def side_of(m: Any, slice_id: int) -> int:
    """The L2 partition of a slice: there are one or two."""
    return 1 if slice_id >= m.side_slices else 0


@inlined
def _place_on_side(m: Any, slice_id: int) -> int:
    """Number of a slice in its L2 partition."""
    return slice_id - m.side_slices if slice_id >= m.side_slices else slice_id


@inlined
def crosses(m: Any, sm: int, slice_id: int) -> int:
    """Whether an SM and a slice lie in different L2 partitions."""
    if m.l2_partitions == 1:
        return 0
    return 1 if load(m.partition_of_sm, sm) != side_of(m, slice_id) else 0


@compiled
def route(m: Any, one: Any) -> None:
    """Set the slice of a request, and the slice of its SM's partition that has the same index."""
    home = home_of(one.line, m.slices, m.l2_partitions)
    one.slice = home
    one.near = home
    if m.l2_partitions > 1:
        one.near = load(m.partition_of_sm, one.sm) * m.side_slices + _place_on_side(m, home)
        if one.operation == READ:
            one.slice = one.near


@inlined
def distance(m: Any, sm: int, slice_id: int) -> int:
    """Cycles beyond the nearest pair; a slice across the link counts as its peer on this side."""
    return load(m.distances, sm * m.side_slices + _place_on_side(m, slice_id))


@inlined
def peer(m: Any, slice_id: int) -> int:
    """The slice of the other partition that has the same index."""
    return slice_id + m.side_slices if slice_id < m.side_slices else slice_id - m.side_slices


@inlined
def owner(m: Any, slice_id: int) -> int:
    """The component that holds a slice."""
    return slice_at(m.slice_states, slice_id).owner
