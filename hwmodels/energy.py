"""Energy of one event on each level of a card: a byte moved, an instruction, a multiply-add.

Levels are transactions as measured on whole GPUs: `dram` is a byte between DRAM and L2 with controller and
wires, `l2` a byte between L2 and an SM, `l1` and `shared` a byte between those and registers; an instruction
includes fetch, issue and its registers. Static and idle power, clock trees and the link between L2 partitions
have no number of their own. Published figures come from other processes than the cards': compare kernels with
them, not power meters. Least certain are plain instructions: the cards have them as recalled from GPUJoule's
paper, since what its authors published beside it has no numbers. Whole femtojoules, so that sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels.field import number
from hwmodels.operations import Operation, Pipeline, multiply_adds_of

LANES = 32


@dataclass(frozen=True, slots=True)
class EnergySpec:
    """Femtojoules an event; card files say where each comes from."""

    dram_fj_per_byte: int = number(
        unit="fJ a byte", low=0, high=10**9, doc="Between DRAM and L2, either way, the device within."
    )
    l2_fj_per_byte: int = number(unit="fJ a byte", low=0, high=10**9, doc="Between L2 and an SM, either way.")
    l1_fj_per_byte: int = number(unit="fJ a byte", low=0, high=10**9, doc="Between L1 and registers.")
    shared_fj_per_byte: int = number(
        unit="fJ a byte", low=0, high=10**9, doc="Between shared memory and registers."
    )
    integer_fj: int = number(
        unit="fJ a lane", low=0, high=10**9, doc="Integer, move, control and issue of memory instructions."
    )
    fp32_fj: int = number(unit="fJ a lane", low=0, high=10**9, doc="FP32 instruction.")
    fp16_fj: int = number(unit="fJ a lane", low=0, high=10**9, doc="Instruction on two FP16 values.")
    fp64_fj: int = number(unit="fJ a lane", low=0, high=10**9, doc="FP64 instruction.")
    special_fj: int = number(unit="fJ a lane", low=0, high=10**9, doc="Special function.")
    matrix_fj_per_multiply_add: int = number(
        unit="fJ a multiply-add", low=0, high=10**9, doc="Tensor core, its share of the instruction within."
    )


def warp_energy_fj(spec: EnergySpec, operation: Operation, pipeline: Pipeline) -> int:
    """Femtojoules of one warp instruction with all lanes active, without the bytes that it moves."""
    if pipeline is Pipeline.TENSOR:
        return spec.matrix_fj_per_multiply_add * multiply_adds_of(operation)
    a_lane = {
        Pipeline.FMA: spec.fp32_fj,
        Pipeline.HALF: spec.fp16_fj,
        Pipeline.FP64: spec.fp64_fj,
        Pipeline.SFU: spec.special_fj,
    }.get(pipeline, spec.integer_fj)
    return LANES * a_lane
