"""The "est. achieved occupancy" of a PyTorch profiler trace, quirks and all, to set ours beside it.

Differs from `occupancy` in that only the blocks which the grid can spread over the SMs count, shared memory
is held to the default 48 KiB (a kernel with more reports 0), barriers never limit, and registers may reach
256. The value is held in single precision up to the last step (`facts/OCCUPANCY.md`, rule 8), which decides
the rounding of some rows.
"""

import struct
from dataclasses import replace

from hwmodels.block_limits import BlockNeeds, block_limits
from hwmodels.occupancy_rules import WARP_LANES
from hwmodels.sm_limits import SmLimits

UNKNOWN_DEVICE_PCT = -1


def _single(value: float) -> float:
    """`value` rounded to the nearest single-precision number."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)


def kineto_occupancy_pct(
    sm: SmLimits, sm_count: int, threads: int, registers: int, shared_bytes: int, grid_blocks: int
) -> int:
    """The whole percentage that the profiler would report; -1 where the device has no SMs."""
    if sm_count <= 0:
        return UNKNOWN_DEVICE_PCT
    lenient = replace(sm, barrier_slots=0, registers_max_per_thread=256)
    limits = block_limits(lenient, BlockNeeds(threads, registers, shared_bytes, opt_in=False))
    grid_share = _single(grid_blocks / sm_count)
    blocks = min(float(min(limits.values())), grid_share)
    share = _single(_single(blocks * threads) / (sm.warp_slots * WARP_LANES))
    return int(100.0 * share + 0.5)
