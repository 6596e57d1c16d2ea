"""A chain of element-wise operators, one kernel each or all in one: what fusion saves in its plainest form.

Unfused, n stages read and write n times the array; fused, once. Stages go round Add, Mul, Relu, and
Scale-and-shift. Each is one FP32 instruction an element; with `instructions=N` it is N, each using the result
of the one before, as in an activation by a polynomial.
"""

from typing import Annotated

from hwmodels.operations import Operation
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.kernels.common import MIB, size_bytes
from simulator.trace.kernels.elementwise import Elementwise
from simulator.trace.kernels.registry import Megabytes, Switch, Threads, Width, kernel
from simulator.trace.schema import RZ, KernelTrace

STAGES = (
    ("Add", Operation.FADD),
    ("Mul", Operation.FMUL),
    ("Relu", Operation.ALU),
    ("ScaleShift", Operation.FFMA),
)


@kernel
def chain(
    stages: Annotated[int, (1, 64)] = 4,
    megabytes: Megabytes = 32,
    fused: Switch = 0,
    threads: Threads = 256,
    bytes_per_lane: Width = 16,
    instructions: Annotated[int, (1, 64)] = 1,
) -> list[KernelTrace]:
    """A chain of element-wise operators over so many MiB: one kernel a stage, or with fused=1 one in all."""
    memory = GlobalMemory()
    size = size_bytes("chain", megabytes, MIB, bytes_per_lane)
    kinds = ["input", *["intermediate"] * (stages - 1), "output"]
    ends = (0, stages) if fused else range(stages + 1)
    tensors = {stage: memory.tensor(f"t{stage}", size, kinds[stage]) for stage in ends}
    kernels = []
    for first, last in [(0, stages)] if fused else [(stage, stage + 1) for stage in range(stages)]:
        name = "chain_fused" if fused else f"chain_{first}_{STAGES[first % len(STAGES)][0]}"
        shape = Elementwise(name, ("in",), ("out",), megabytes, threads, bytes_per_lane)
        shape.tensors = {"in": tensors[first], "out": tensors[last]}
        kernels.append(shape.build(Stages(first, last, instructions).work))
    return kernels


class Stages:
    """The work of the stages from `first` up to, not including, `last`, of so many instructions each."""

    def __init__(self, first: int, last: int, instructions: int) -> None:
        self.first, self.last, self.instructions = first, last, instructions

    def work(self, k: KernelBuilder, loaded: list[int], count: int) -> int:
        """Apply the stages to the loaded vector, in place."""
        for stage in range(self.first, self.last):
            name, operation = STAGES[stage % len(STAGES)]
            with k.operator(f"{name}_{stage}"):
                for _ in range(self.instructions):
                    for register in range(loaded[0], loaded[0] + count):
                        k.emit(operation, register, (register, RZ))
        return loaded[0]
