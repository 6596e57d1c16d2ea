"""Who waits for whom, in the words of the reference engine: what is unfinished when a run ends or has
stopped.

Reads the tables; nothing moves here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from simulator.machine.compiled.l2_output import CROSSINGS, REPLIES, REQUESTS
from simulator.machine.state_dram import READ, WRITE
from simulator.machine.state_l2 import STALL_TEXTS
from simulator.statistics.phases import (
    LONG_SCOREBOARD,
    NO_INSTRUCTION,
    SHORT_SCOREBOARD,
    STATE_NAMES,
    WAIT,
)

if TYPE_CHECKING:
    from simulator.machine.compiled.engine import Machine

FORESEEN = (WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD)
"""States that an SM knows of a cycle before they begin."""


def waits_for(machine: Machine) -> list[str]:
    """One sentence for each piece of unfinished work, over all components."""
    lines = list(_launcher(machine))
    for sm in range(machine.gpu.sm_count):
        lines += _sm(machine, sm)
    lines += _crossbar(machine)
    share = machine.gpu.slices_per_memory_partition
    for part in range(machine.gpu.memory_partitions):
        for slice_id in range(part * share, (part + 1) * share):
            lines += _slice(machine, slice_id)
        lines += _front(machine, part)
    return lines


def _launcher(machine: Machine) -> Iterator[str]:
    kernels = machine.store.tables["kernel_states"]
    for index, (one, trace) in enumerate(zip(kernels, machine.traces, strict=True)):
        if one["done"] < one["blocks"]:
            left = one["blocks"] - one["next_block"]
            yield (
                f"grid launcher: kernel {index} of stream {trace.stream} has "
                f"{one['blocks'] - one['done']} of "
                f"{one['blocks']} blocks unfinished" + (f", {left} not placed" if left else "")
            )


def _sm(machine: Machine, sm: int) -> Iterator[str]:
    tables, slots = machine.store.tables, machine.gpu.sm.warp_slots
    own = tables["sm_states"][sm]
    warps = tables["warps"][sm * slots : (sm + 1) * slots]
    resident = sorted((warp for warp in warps if warp["used"]), key=lambda warp: warp["age"])
    for warp in resident:
        block = tables["blocks"][warp["block"]]
        # What it lacks is foreseen when it issues, and begins a cycle later.
        begun = warp["since"] * machine.gpu.sm_period_fs <= machine.now_fs
        state = warp["state"] if begun or warp["state"] not in FORESEEN else NO_INSTRUCTION
        yield (
            f"SM {sm}: block {block['index']} of kernel {warp['kernel']} warp {warp['index']} is in "
            f"{STATE_NAMES[state]}" + _holder(warp, resident)
        )
    if own["mshrs_used"] or own["others"] or own["evictions"]:
        yield (
            f"SM {sm}: {own['mshrs_used']} misses, {own['others']} stores and atomics, "
            f"{own['evictions']} write-backs wait for L2"
        )
    if own["stalled"] >= 0:
        line = int(own["lines"][own["count"] - tables["requests"][own["stalled"]]["left"]])
        yield (
            f"SM {sm}: a memory instruction waits at line {line:#x} with {own['credits']} crossbar credits, "
            f"{own['mshrs_used']} of {machine.gpu.l1.mshr_entries} MSHRs in use"
        )


def _holder(warp: Any, resident: list[Any]) -> str:
    if warp["barrier"] < 0:
        return ""
    absent = [
        int(other["index"])
        for other in resident
        if other["block"] == warp["block"] and other["barrier"] != warp["barrier"]
    ]
    return f" at barrier {warp['barrier']}, held by warps {absent} that have not arrived"


def _heap_size(machine: Machine, root: int) -> int:
    """Entries of a heap."""
    nodes = machine.store.tables["nodes"]
    size, left = 0, [root] if root >= 0 else []
    while left:
        size += 1
        child = int(nodes[left.pop()]["child"])
        while child >= 0:
            left.append(child)
            child = int(nodes[child]["next"])
    return size


def _crossbar(machine: Machine) -> Iterator[str]:
    tables, own = machine.store.tables, machine.store.machine
    requests = tables["ordered"]["count"][own.q_request :]
    for index, waiting in enumerate(requests[: machine.gpu.l2.slices].tolist()):
        if waiting:
            cause = "a turn" if tables["slice_credits"][index] else "a place in its input queue"
            yield f"crossbar: {waiting} requests for slice {index} wait for {cause}"
    for index in range(machine.gpu.l2.slices):
        fifo = tables["queues"][own.q_reply + index]
        if fifo["count"]:
            sm = tables["packets"][tables["nodes"][fifo["head"]]["what"]]["sm"]
            yield f"crossbar: {fifo['count']} replies of slice {index} wait for the port of SM {sm}"
    waiting = sum(_heap_size(machine, int(root)) for root in own.link_heaps)
    if waiting:
        yield f"crossbar: {waiting} packets wait for the partition link"


def _slice(machine: Machine, slice_id: int) -> Iterator[str]:
    tables = machine.store.tables
    own = tables["slice_states"][slice_id]
    queues = tables["queues"][machine.store.machine.q_slice + 4 * slice_id :]
    for which, source in ((REQUESTS, "SMs"), (CROSSINGS, "the other partition")):
        if queues[which]["count"]:
            cause = STALL_TEXTS[own["cause"][which]]
            yield f"slice {slice_id}: {queues[which]['count']} requests of {source} wait for {cause}"
    if queues[REPLIES]["count"]:
        one = tables["packets"][tables["nodes"][queues[REPLIES]["head"]]["what"]]
        side = one["slice"] // machine.gpu.slices_per_partition
        crosses = machine.gpu.l2.partitions > 1 and tables["partition_of_sm"][one["sm"]] != side
        if not own["credits"][int(crosses)]:
            yield f"slice {slice_id}: {queues[REPLIES]['count']} replies wait for credits of the crossbar"
    for far, holder in ((0, "DRAM"), (1, "the home slice")):
        if own["entries"][far]:
            yield f"slice {slice_id}: {own['entries'][far]} MSHRs wait for {holder}"


def _front(machine: Machine, part: int) -> Iterator[str]:
    own = machine.store.machine
    queues = machine.store.tables["queues"]
    for where in range(own.part_pseudos):
        first = own.q_front + 2 * (part * own.part_pseudos + where)
        for which, kind in ((READ, "reads"), (WRITE, "writes")):
            count = queues[first + which]["count"]
            if count:
                yield (
                    f"memory partition {part}: {count} {kind} wait for the queue of pseudo-channel {where}"
                )
