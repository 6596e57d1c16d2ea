"""Walks warps and judges every address as it comes: exact, but only as far as its budget of instructions
reaches.

Blocks are taken from both ends first and then spread evenly over the grid, so that a short budget still
meets the extremes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hwmodels.operations import Space, space_of
from simulator.trace.check_instruction import place_of, refuse
from simulator.trace.check_program import space_limit
from simulator.trace.compiled_expression import Offsets
from simulator.trace.cursor import WarpCursor
from simulator.trace.schema import LANES, KernelTrace


@dataclass(frozen=True, slots=True)
class Walked:
    """How far a check looked: dynamic warp instructions walked, and whether that was all of them."""

    warp_instructions: int
    complete: bool


def spread(count: int) -> Iterator[int]:
    """0 to count - 1, each once: the last, then by halves (bit reversal of the position)."""
    if count < 1:
        return
    yield count - 1
    bits = max(1, (count - 1).bit_length())
    for position in range(1 << bits):
        number = int(format(position, f"0{bits}b")[::-1], 2)
        if number < count - 1:
            yield number


def check_walk(trace: KernelTrace, budget: int) -> Walked:
    """Walk up to `budget` warp instructions and refuse the first address out of range or out of line."""
    walked = 0
    flat = trace.flat()
    for block in spread(trace.blocks):
        for warp in range(trace.warps_per_block):
            cursor = trace.cursor(block, warp)
            while (static := cursor.peek()) >= 0:
                if walked == budget:
                    return Walked(walked, complete=False)
                walked += 1
                if flat.accesses[static]:
                    check_access(trace, cursor, block, warp)
                cursor.advance()
    return Walked(walked, complete=True)


def check_access(trace: KernelTrace, cursor: WarpCursor, block: int, warp: int) -> None:
    """Judge the addresses of the cursor's next instruction."""
    instruction = cursor.instruction
    place = f"{place_of(trace, cursor.peek(), instruction)}, block {block}, warp {warp}"
    found = [(*cursor.access(), space_of(instruction.operation))]
    if cursor.flat.accesses[cursor.peek()] > 1:
        found.append((*cursor.shared_access(), Space.SHARED))
    for base, offsets, space in found:
        check_lanes(trace, place, base, offsets, cursor.mask(), space, max(1, instruction.bytes_per_lane))


def check_lanes(
    trace: KernelTrace, place: str, base: int, offsets: Offsets, mask: int, space: Space, width: int
) -> None:
    """Judge the active lanes of one access."""
    limit, name = space_limit(trace, space)
    for lane in range(LANES):
        if mask >> lane & 1:
            address = base + offsets[lane]
            if not 0 <= address <= limit - width:
                refuse(
                    f"{place}, lane {lane}",
                    f"address {address} is outside the {name} ({limit} bytes)",
                    "correct the address or size",
                )
            if address % width:
                refuse(
                    f"{place}, lane {lane}",
                    f"address {address} is not a multiple of the {width} bytes accessed",
                    f"align it to {width} bytes",
                )
