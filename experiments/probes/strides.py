"""L1 loads at strides 1 to 33: cycles that a warp load takes of the SM with many warps, all data in L1.

A load takes the larger of its tag passes and its data passes; published tables are of an A100 and an A40.
"""

from experiments.probes.measure import marginal_cycles, one_sm
from experiments.probes.published import published_strides
from experiments.probes.row import Row
from hwmodels import Gpu
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import thread
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.schema import LANES, KernelTrace

STRIDES = range(1, 34)
WARPS = 8
UNROLL = 8
ELEMENT_BYTES = 4
OFFSET_BYTES = 16
"""Each load of a turn starts 16 bytes further, as published: lines are met at all offsets."""
PLACES = 2 * LANES
"""Even and odd warps read one after the other: their lines fall on the tag banks differently."""


def strides(gpu: Gpu) -> list[Row]:
    """One row a stride."""
    sm, known = one_sm(gpu), published_strides(gpu)
    rows = []
    for stride in STRIDES:
        turn_cycles = marginal_cycles(sm, lambda n, s=stride: [_loads(s, n)], 4)  # type: ignore[misc]
        ours = turn_cycles / (WARPS * UNROLL)
        how = f"{WARPS} warps on one SM, 4-byte elements"
        name = f"L1 load, stride {stride}"
        rows.append(Row(gpu.name, name, "SM cycles", ours, known.get(stride), how, "L1 strides", stride))
    return rows


def _loads(stride: int, turns: int) -> KernelTrace:
    buffer = GlobalMemory().tensor(
        "x", (PLACES * stride + 1) * ELEMENT_BYTES + UNROLL * OFFSET_BYTES, "input"
    )
    k = KernelBuilder("strides", 1, WARPS * LANES)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, turns):
        for part in range(UNROLL):
            place = (thread % PLACES) * (stride * ELEMENT_BYTES) + part * OFFSET_BYTES
            k.load(DATA + part, k.at(buffer, place), ELEMENT_BYTES, 4, tensor=buffer)
    return k.build()
