"""Writes down and puts back the state of the compiled engine: all its tables, between two turns.

Addresses are the only thing in a table that another process can't use. They stand in the machine's record and
in the pools' records alone, and are set anew. Of a pool only the records are kept that were ever taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.machine.compiled.jit import address_of
from simulator.machine.compiled.layout_machine import MOVING
from simulator.machine.compiled.store import POOL_TABLES, stack_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulator.machine.compiled.store import Store

POOL_NUMBERS = {name: number for number, (name, _, _) in enumerate(POOL_TABLES)}
GROWING = ("finished_room", "edge_room", "link_heaps", "link_free")
"""Numbers of the machine's record that move besides those that its layout lists as moving."""


def freeze(store: Store) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """({number: value}, {table: its integers})."""
    numbers = {name: store.record[name][0].tolist() for name in (*MOVING.split(), *GROWING)}
    pools = store.tables["pools"]
    tables = {}
    for name, table in store.tables.items():
        used = len(table)
        if name in POOL_NUMBERS:
            number = POOL_NUMBERS[name]
            used = int(pools[number]["fresh"]) * POOL_TABLES[number][2]
        tables[name] = np.ascontiguousarray(table[:used]).reshape(-1).view(np.int64)
    sizes = {name: len(table) for name, table in store.tables.items()}
    return {"numbers": numbers, "sizes": sizes}, tables


def thaw(store: Store, state: Mapping[str, Any], tables: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Put a state into the store of a machine that was built from the same card, traces and options."""
    for name, mine in list(store.tables.items()):
        size = state["sizes"][name]
        table = mine if len(mine) == size else store.memory.table(size, mine.dtype)
        kept = tables[name]
        table.reshape(-1).view(np.int64)[: len(kept)] = kept
        if name in store.record.dtype.names:
            store.keep(name, table)
        else:
            store.tables[name] = table
    pools = store.tables["pools"]
    for number in range(len(POOL_TABLES)):
        pools[number]["given"] = address_of(store.tables[stack_name(number)])
    store.set(**state["numbers"])
