"""What a group finds in L2 when it is priced by a replay: operands from outside lie there clean, and those
that the graph has written itself lie there as their writer leaves them, dirty.

Whoever needs their room later pays for writing them back, as in the whole plan. To make them so, a kernel
that does nothing but store runs before the group, one for each operand; its own time is not the group's.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.machine.options import Preload
from simulator.trace.kernels.common import MIB
from simulator.trace.kernels.elementwise import Elementwise
from simulator.trace.schema import KernelTrace, TensorInfo

OUTSIDE = frozenset({"input", "weight"})
THREADS, BYTES_PER_LANE = 256, 16


def resident_tensors(traces: Sequence[KernelTrace], resident: frozenset[str]) -> list[TensorInfo]:
    """The operands that are in L2, each once, in the order in which kernels name them."""
    found = {
        info.base_address: info
        for trace in traces
        for info in trace.tensors
        if info.name in resident and info.bytes
    }
    return list(found.values())


def put_in(tensors: Sequence[TensorInfo]) -> tuple[Preload, ...]:
    """What is in L2 from the start."""
    return tuple(Preload(one.base_address, one.bytes) for one in tensors if one.kind in OUTSIDE)


def writers(tensors: Sequence[TensorInfo]) -> list[KernelTrace]:
    """Kernels that store what the graph has written."""
    return [writer(one) for one in tensors if one.kind not in OUTSIDE]


def writer(tensor: TensorInfo) -> KernelTrace:
    """A kernel that stores one tensor from end to end."""
    shape = Elementwise(
        f"write:{tensor.name}",
        (),
        (tensor.name,),
        tensor.bytes / MIB,
        THREADS,
        min(BYTES_PER_LANE, 1 << (tensor.bytes & -tensor.bytes).bit_length() - 1),
        tensors={tensor.name: tensor},
    )
    return shape.build(lambda k, _, count: shape.constant(k, count))
