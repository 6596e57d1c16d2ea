"""What the launcher must know of a kernel before it starts: its needs, how many blocks an SM holds, its
carve-out.

The carve-out is the smallest that does not cost a block beside the other limits, as drivers choose it when
nobody asks. A kernel that no SM can hold is refused here, with the limit and by how much.
"""

from __future__ import annotations

from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.occupancy import Occupancy, occupancy
from simulator.machine.state import KernelProgress
from simulator.statistics.record import LIMITERS
from simulator.trace.schema import KernelTrace

LANES = 32


def occupancy_of(trace: KernelTrace, gpu: Gpu) -> Occupancy:
    """The theoretical occupancy of a kernel on a card; an InputError if it can't launch at all."""
    result = occupancy(
        gpu, trace.threads_per_block, trace.registers_per_thread, trace.shared_bytes_per_block, trace.barriers
    )
    if result.blocks_per_sm < 1:
        raise InputError(
            f"kernel {trace.name}",
            f"can't launch on {gpu.name}: {result.cannot_launch}",
            "reduce what it asks for",
        )
    return result


def progress_of(trace: KernelTrace, index: int, gpu: Gpu, fits: Occupancy) -> KernelProgress:
    """The launcher's record of a kernel."""
    unit = gpu.register_file.allocation_unit
    per_warp = -(-trace.registers_per_thread * LANES // unit) * unit
    granule = gpu.shared_memory.allocation_unit_bytes
    asked = trace.shared_bytes_per_block + gpu.shared_memory.reserved_per_block_bytes
    shared = -(-asked // granule) * granule
    return KernelProgress(
        index=index,
        stream=trace.stream,
        blocks=trace.blocks,
        warps=trace.warps_per_block,
        registers_per_warp=per_warp,
        shared_bytes=shared,
        barriers=max(trace.barriers, 1) if gpu.sm.barrier_slots else 0,
        carveout_bytes=_carveout(shared, fits, gpu),
    )


def limits_of(fits: Occupancy) -> list[int]:
    """Blocks by each limiter alone, in the order of LIMITERS; 0 where it does not limit."""
    return [fits.limits[name] or 0 for name in LIMITERS]


def _carveout(shared_per_block: int, fits: Occupancy, gpu: Gpu) -> int:
    wanted = shared_per_block * fits.blocks_per_sm
    if not wanted:
        return 0
    sizes = [size * 1024 for size in gpu.shared_memory.carveouts_kib] + [gpu.shared_memory.size_kib * 1024]
    return min((size for size in sizes if wanted <= size), default=max(sizes))
