"""How many bytes of which tensor a kernel takes through L1, and the fewest that must pass DRAM: the first
rung of the cost ladder.

Sectors of an access are counted for one warp in the middle of the grid and taken for all; counts of
instructions are exact. The byte bound takes every tensor once, at peak bandwidth; what is in L2 before, and
written bytes that L2 can hold, cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hwmodels import Gpu
from hwmodels.operations import Space, is_load, space_of
from simulator.trace.expression import VARIABLES, Variable
from simulator.trace.schema import LANES, Instruction, KernelTrace
from simulator.trace.tally import tally

SECTOR_BYTES = 32


@dataclass(frozen=True, slots=True)
class Footprint:
    """Counts of static instructions; sectors of one access of each; sectors a tensor is loaded and stored by
    (by its number in the trace).
    """

    counts: tuple[int, ...]
    sectors: tuple[int, ...]
    loaded: dict[int, int]
    stored: dict[int, int]


def footprint_of(trace: KernelTrace) -> Footprint:
    """The bytes of a generated kernel."""
    counts = tally(trace)
    middle = values_of(trace, trace.blocks // 2)
    sectors: list[int] = []
    loaded: dict[int, int] = {}
    stored: dict[int, int] = {}
    for instruction, count in zip(trace.flat().instructions, counts, strict=True):
        each = sectors_of(instruction, middle)
        sectors.append(each)
        if space_of(instruction.operation) is Space.GLOBAL:
            tensor = tensor_of(instruction, trace)
            kept = loaded if is_load(instruction.operation) else stored
            kept[tensor] = kept.get(tensor, 0) + each * count
    return Footprint(tuple(counts), tuple(sectors), loaded, stored)


def values_of(trace: KernelTrace, block: int, warp: int = 0) -> list[Any]:
    """Variables of an expression for a warp of a block, every loop at its first turn."""
    values: list[Any] = [0] * VARIABLES
    lanes = np.arange(LANES)
    x, y, z = trace.block_index(block)
    for variable, value in (
        (Variable.BLOCK, block),
        (Variable.BLOCK_X, x),
        (Variable.BLOCK_Y, y),
        (Variable.BLOCK_Z, z),
        (Variable.WARP, warp),
        (Variable.LANE, lanes),
        (Variable.THREAD, LANES * warp + lanes),
    ):
        values[variable] = value
    return values


def sectors_of(instruction: Instruction, values: list[Any]) -> int:
    """Sectors that an access of a warp touches, all lanes active."""
    if instruction.address is None or space_of(instruction.operation) is Space.SHARED:
        return 0
    if space_of(instruction.operation) is Space.LOCAL:
        return LANES * instruction.bytes_per_lane // SECTOR_BYTES
    first = np.broadcast_to(np.asarray(instruction.address.evaluate(values)), (LANES,))
    reach = [first + step for step in range(0, max(1, instruction.bytes_per_lane), SECTOR_BYTES)]
    reach.append(first + max(1, instruction.bytes_per_lane) - 1)
    return int(np.unique(np.concatenate(reach) // SECTOR_BYTES).size)


def tensor_of(instruction: Instruction, trace: KernelTrace) -> int:
    """The tensor that an access touches, by name or by address; -1 where it is none of the kernel's."""
    if instruction.dst_tensor >= 0:
        return instruction.dst_tensor
    base = 0 if instruction.address is None else instruction.address.constant
    for number, info in enumerate(trace.tensors):
        if info.base_address <= base < info.base_address + max(1, info.bytes):
            return number
    return -1


def least_dram_bytes(trace: KernelTrace, found: Footprint, gpu: Gpu, resident: frozenset[str]) -> int:
    """Bytes that must pass between L2 and DRAM while the kernel runs, each tensor counted once."""
    room = gpu.l2.size_kib * 1024
    read = written = held = 0
    for number, info in enumerate(trace.tensors):
        size = min(info.bytes, SECTOR_BYTES * found.loaded.get(number, 0))
        if info.name in resident:
            held += size
        elif number not in found.stored:
            read += size
        written += min(info.bytes, SECTOR_BYTES * found.stored.get(number, 0))
    # What is resident must fit, and all that is written may wait in L2 until the kernel is over.
    return read + max(0, held - room) + max(0, written - room)


def byte_bound_fs(dram_bytes: int, gpu: Gpu) -> int:
    """The least time for so many bytes."""
    return int(dram_bytes * FS_PER_S / (gpu.dram.bandwidth_gb_s * 10**9))


FS_PER_S = 10**15
