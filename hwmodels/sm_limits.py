"""The resources of one SM that decide how many blocks it holds, by card or by compute capability.

`SmLimits` is all that occupancy needs to know of a GPU, so that the question can be asked of a bare compute
capability. The table is that of `facts/OCCUPANCY.md`; 10.7 is left out, since its limits are not all public.
Warp slots of 10.1 and 11.0, and 12.1 as a twin of 12.0, are from the programming guide's table of technical
specifications.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hwmodels.errors import unknown

if TYPE_CHECKING:
    from hwmodels.gpu import Gpu

KIB = 1024
REGISTERS_PER_KIB = 256  # a register is 4 bytes


@dataclass(frozen=True, slots=True)
class SmLimits:
    """What one SM offers to blocks. Sizes in bytes, registers as a count of 32-bit registers."""

    name: str
    warp_slots: int
    block_slots: int
    barrier_slots: int  # 0: barriers never limit
    carveouts_bytes: tuple[int, ...]  # ascending
    shared_max_bytes: int  # most that a block may opt in to
    shared_reserved_bytes: int
    shared_unit_bytes: int
    shared_default_bytes: int = 48 * KIB  # most without opting in
    register_file_registers: int = 65_536
    register_unit: int = 256
    registers_max_per_thread: int = 255
    sub_cores: int = 4
    max_threads_per_block: int = 1024

    @classmethod
    def of_gpu(cls, gpu: "Gpu") -> "SmLimits":
        """The limits of a described card, overrides and all."""
        return cls(
            name=gpu.name,
            warp_slots=gpu.sm.warp_slots,
            block_slots=gpu.sm.block_slots,
            barrier_slots=gpu.sm.barrier_slots,
            carveouts_bytes=_carveouts_of(gpu),
            shared_max_bytes=gpu.shared_memory.per_block_max_bytes,
            shared_reserved_bytes=gpu.shared_memory.reserved_per_block_bytes,
            shared_unit_bytes=gpu.shared_memory.allocation_unit_bytes,
            shared_default_bytes=gpu.shared_memory.default_limit_bytes,
            register_file_registers=gpu.register_file.size_kib * REGISTERS_PER_KIB,
            register_unit=gpu.register_file.allocation_unit,
            registers_max_per_thread=gpu.register_file.max_per_thread,
            sub_cores=gpu.sm.sub_cores,
            max_threads_per_block=gpu.sm.max_threads_per_block,
        )

    @classmethod
    def of_capability(cls, capability: str) -> "SmLimits":
        """The limits of a compute capability such as "9.0"; an InputError where the table lacks it."""
        if capability not in CAPABILITIES:
            raise unknown("cc", "compute capability", capability, CAPABILITIES)
        warps, blocks, barriers, unit, reserved, opt_in, carveouts = CAPABILITIES[capability]
        return cls(
            name=f"CC {capability}",
            warp_slots=warps,
            block_slots=blocks,
            barrier_slots=barriers,
            carveouts_bytes=tuple(size * KIB for size in carveouts),
            shared_max_bytes=opt_in,
            shared_reserved_bytes=reserved,
            shared_unit_bytes=unit,
        )


def _carveouts_of(gpu: "Gpu") -> tuple[int, ...]:
    """The card's carve-outs in bytes, ascending: none above the shared memory's size, which is always one."""
    largest_kib = gpu.shared_memory.size_kib
    smaller = {size for size in gpu.shared_memory.carveouts_kib if size < largest_kib}
    return tuple(size * KIB for size in sorted(smaller | {largest_kib}))


_VOLTA = (0, 8, 16, 32, 64, 96)
_GA100 = (0, 8, 16, 32, 64, 100, 132, 164)
_GA102 = (0, 8, 16, 32, 64, 100)
_GH100 = (*_GA100, 196, 228)

# warp slots, block slots, barrier slots, shared unit, reserved a block, most a block, carve-outs in KiB
CAPABILITIES: dict[str, tuple[int, int, int, int, int, int, tuple[int, ...]]] = {
    "7.0": (64, 32, 0, 256, 0, 98_304, _VOLTA),
    "7.5": (32, 16, 0, 256, 0, 65_536, (32, 64)),
    "8.0": (64, 32, 0, 128, 1024, 166_912, _GA100),
    "8.6": (48, 16, 0, 128, 1024, 101_376, _GA102),
    "8.7": (48, 16, 0, 128, 1024, 166_912, _GA100),
    "8.9": (48, 24, 0, 128, 1024, 101_376, _GA102),
    "9.0": (64, 32, 64, 128, 1024, 232_448, _GH100),
    "10.0": (64, 32, 64, 128, 1024, 232_448, _GH100),
    "10.1": (48, 24, 24, 128, 1024, 232_448, _GH100),
    "11.0": (48, 24, 24, 128, 1024, 232_448, _GH100),
    "12.0": (48, 24, 24, 128, 1024, 101_376, _GA102),
    "12.1": (48, 24, 24, 128, 1024, 101_376, _GA102),
}
