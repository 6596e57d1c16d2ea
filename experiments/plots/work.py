"""Floating-point operations of kernels, and how many a card could do: what a roofline is drawn from.

An addition or multiplication of a lane counts as one, a fused multiply-add as two, on both halves of a
packed pair; a tensor instruction counts twice its multiply-adds. All 32 lanes are counted, so an
instruction that is partly switched off counts whole. Comparisons, conversions, integers and special
functions are no floating-point operations here, as in the profiler's roofline.
"""

from __future__ import annotations

from hwmodels.operations import Operation, is_tensor, multiply_adds_of
from simulator.statistics.facts import CardFacts
from simulator.statistics.record import KernelRecord

FS_PER_SECOND = 10**15
LANES = 32
A_LANE = {
    Operation.FADD: 1,
    Operation.FMUL: 1,
    Operation.FFMA: 2,
    Operation.HADD2: 2,
    Operation.HMUL2: 2,
    Operation.HFMA2: 4,
    Operation.DADD: 1,
    Operation.DMUL: 1,
    Operation.DFMA: 2,
}
WHOLE_NUMBERS = ("IMMA", "BMMA")
ROOFS = {
    "tensor": tuple(one for one in Operation if is_tensor(one) and not one.name.startswith(WHOLE_NUMBERS)),
    "half": (Operation.HFMA2,),
    "single": (Operation.FFMA,),
    "double": (Operation.DFMA,),
}
"""Units by name, each with the operations that reach its peak."""
UNIT_OF = {
    **dict.fromkeys(ROOFS["tensor"], "tensor"),
    **dict.fromkeys((Operation.HADD2, Operation.HMUL2, Operation.HFMA2), "half"),
    **dict.fromkeys((Operation.FADD, Operation.FMUL, Operation.FFMA), "single"),
    **dict.fromkeys((Operation.DADD, Operation.DMUL, Operation.DFMA), "double"),
}


def operations_of(operation: Operation) -> int:
    """Floating-point operations of one warp instruction."""
    if operation in ROOFS["tensor"]:
        return 2 * multiply_adds_of(operation)
    return LANES * A_LANE.get(operation, 0)


def floating_point_operations(kernel: KernelRecord) -> dict[str, int]:
    """Of each unit the operations that a kernel did; units that it did not use are left out."""
    done: dict[str, int] = {}
    for place, issued in enumerate(kernel.operations):
        count = issued * operations_of(Operation(place))
        if count:
            unit = UNIT_OF[Operation(place)]
            done[unit] = done.get(unit, 0) + count
    return done


def peak_per_second(card: CardFacts, unit: str) -> float:
    """Operations a second of the whole card when every sub-core issues as fast as the unit takes them."""
    best = 0.0
    for operation in ROOFS[unit]:
        if operation < len(card.pipelines) and card.pipelines[operation]:
            interval = max(card.interval_tenths[operation], 10)
            best = max(best, operations_of(operation) * 10 / interval)
    return best * card.sub_cores * card.sm_count * FS_PER_SECOND / card.sm_period_fs
