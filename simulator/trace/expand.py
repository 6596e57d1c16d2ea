"""A trace instruction by instruction, in constant memory, and the same as a recording.

The order is block by block, warp by warp: the order of a file, not of a run.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from simulator.trace.recording_builder import RecordingBuilder
from simulator.trace.schema import KernelTrace

SHARED_HEADER = (
    "shared_bytes_per_block",
    "local_bytes_per_thread",
    "barriers",
    "barrier_warps",
    "stream",
    "operators",
    "tensors",
    "meta",
)


class Dynamic(NamedTuple):
    """One issued warp instruction; address lists hold 0 for inactive lanes, None without memory access."""

    block: int
    warp: int
    static: int
    mask: int
    addresses: tuple[int, ...] | None
    shared_addresses: tuple[int, ...] | None


def lanes_of(base: int, offsets: tuple[int, ...], mask: int) -> tuple[int, ...]:
    """The address of each lane, 0 where the lane is inactive."""
    return tuple(base + offset if mask >> lane & 1 else 0 for lane, offset in enumerate(offsets))


def expand(trace: KernelTrace) -> Iterator[Dynamic]:
    """Every warp instruction of either form, lazily."""
    accesses = trace.flat().accesses
    for block in range(trace.blocks):
        for warp in range(trace.warps_per_block):
            cursor = trace.cursor(block, warp)
            while (static := cursor.peek()) >= 0:
                mask = cursor.mask()
                first = lanes_of(*cursor.access(), mask) if accesses[static] else None
                second = lanes_of(*cursor.shared_access(), mask) if accesses[static] > 1 else None
                yield Dynamic(block, warp, static, mask, first, second)
                cursor.advance()


def recorded(trace: KernelTrace) -> KernelTrace:
    """The recorded form of a generated trace: the same instructions, masks and addresses one by one."""
    header = {name: getattr(trace, name) for name in SHARED_HEADER}
    builder = RecordingBuilder(trace.name, trace.grid, trace.block, trace.registers_per_thread, **header)
    flat = trace.flat()
    statics = [
        builder.instruction(
            replace(instruction, guards=()), flat.fetch_addresses[index], flat.accesses[index]
        )
        for index, instruction in enumerate(flat.instructions)
    ]
    place = (-1, -1)
    for item in expand(trace):
        if (item.block, item.warp) != place:
            place = (item.block, item.warp)
            builder.warp(*place)
        builder.issue(statics[item.static], item.mask, item.addresses, item.shared_addresses)
    return builder.build()
