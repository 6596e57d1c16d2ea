"""How many blocks of a kernel one SM can hold, resource by resource: pure rules on bare integers.

The formulas are those of the public occupancy calculator as stated in `facts/OCCUPANCY.md` (rules 1–4), with
the size of the register file left free. Each answers in blocks an SM; `NO_LIMIT` where the kernel does not
use the resource, 0 where not even one block can start. Not modelled: the virtual-resource limit of compute
capability 10 and later, and registers that move between warp groups at run time.
"""

from collections.abc import Sequence

from hwmodels.rule import rule

WARP_LANES = 32
NO_LIMIT = 2**31 - 1


@rule
def round_up(value: int, unit: int) -> int:
    """The least multiple of `unit` that is not below `value`."""
    return (value + unit - 1) // unit * unit


@rule
def warps_of_block(threads: int) -> int:
    """Warps of a block of `threads`; the last one may be partly empty."""
    return (threads + WARP_LANES - 1) // WARP_LANES


@rule
def warp_limit(warps: int, warp_slots: int) -> int:
    """Blocks that the SM's warp slots hold, for blocks of `warps`."""
    return warp_slots // warps


@rule
def barrier_limit(barriers: int, barrier_slots: int) -> int:
    """Blocks that the barrier slots hold; a card with 0 slots has no such limit."""
    if barriers == 0 or barrier_slots == 0:
        return NO_LIMIT
    return barrier_slots // barriers


@rule
def registers_of_warp(registers: int, unit: int) -> int:
    """Registers that a warp takes from its sub-core at `registers` a thread, in whole allocation units."""
    return round_up(registers * WARP_LANES, unit)


@rule
def register_limit(
    warps: int, registers: int, file_registers: int, sub_cores: int, unit: int, max_per_thread: int
) -> int:
    """Blocks that the register file holds.

    Each sub-core owns an equal part of the file and a warp lives wholly in one of them, so the left-over of
    each part is lost. A block that does not fit when its warps are rounded up to whole rounds over the
    sub-cores cannot launch.
    """
    if registers == 0:
        return NO_LIMIT
    warp_registers = registers_of_warp(registers, unit)
    if registers > max_per_thread or warp_registers * round_up(warps, sub_cores) > file_registers:
        return 0
    return file_registers // sub_cores // warp_registers * sub_cores // warps


@rule
def shared_allocation(shared_bytes: int, reserved_bytes: int, unit: int) -> int:
    """Bytes of shared memory that a block takes, with what the system keeps for itself in each block."""
    return round_up(shared_bytes + reserved_bytes, unit)


@rule
def chosen_carveout(block_bytes: int, preferred_bytes: int, carveouts: Sequence[int]) -> int:
    """The carve-out (bytes) that the driver sets up, from `carveouts` in ascending order.

    A preference is raised to the next size there is, and raised further while not even one block fits; a
    negative preference means the largest.
    """
    largest = carveouts[len(carveouts) - 1]
    if preferred_bytes < 0:
        return largest
    for size in carveouts:
        if size >= preferred_bytes and size >= block_bytes:
            return size
    return largest


@rule
def shared_limit(shared_bytes: int, block_bytes: int, max_shared_bytes: int, carveout_bytes: int) -> int:
    """Blocks that the carve-out holds, each taking `block_bytes`; 0 above the limit a block may ask for."""
    if shared_bytes > max_shared_bytes:
        return 0
    if block_bytes == 0:
        return NO_LIMIT
    return carveout_bytes // block_bytes
