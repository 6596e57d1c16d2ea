"""The link between the two L2 partitions: for each direction a server of finite bandwidth.

The machine of the reference engine's file of this name; what to do with a packet that starts is the
crossbar's.
"""

from __future__ import annotations

from typing import Any

from simulator.machine.compiled.jit import compiled, inlined
from simulator.machine.compiled.layout import node
from simulator.machine.compiled.order import popped, pushed
from simulator.machine.order import NEVER


@compiled
def add(m: Any, leaves: int, cycle: int, entry: int) -> None:
    """A packet that may start at `cycle`, by the entry that brought it."""
    m.link_number += 1
    m.link_heaps[leaves] = pushed(m, m.link_heaps[leaves], entry, cycle, m.link_number)


@inlined
def is_busy(m: Any) -> int:
    """Whether a packet waits."""
    return 1 if m.link_heaps[0] >= 0 or m.link_heaps[1] >= 0 else 0


@compiled
def depart(m: Any, cycle: int) -> int:
    """The entry of a packet that starts in this cycle, or −1; to be asked until there is none."""
    for leaves in range(2):
        entry = m.link_heaps[leaves]
        if (
            entry >= 0
            and node(m.nodes, entry).key <= cycle
            and m.link_free[leaves] < (cycle + 1) * m.link_bytes
        ):
            m.link_heaps[leaves] = popped(m, entry)
            payload = node(m.nodes, entry).payload
            m.link_free[leaves] = max(m.link_free[leaves], cycle * m.link_bytes) + payload
            return entry
    return -1


@compiled
def next_cycle(m: Any, cycle: int) -> int:
    """The next cycle in which a packet can start."""
    following = NEVER
    for leaves in range(2):
        entry = m.link_heaps[leaves]
        if entry >= 0:
            start = max(node(m.nodes, entry).key, m.link_free[leaves] // m.link_bytes, cycle + 1)
            following = min(following, start)
    return following
