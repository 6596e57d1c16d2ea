"""What a running kernel holds: the shared memory of its blocks, and the registers, predicates, local memory
and copies in flight of each warp, for all blocks side by side.

Registers are the physical ones. Everything starts as garbage, so that the use of what nobody wrote shows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hwmodels.errors import ResultError
from hwmodels.operations import Operation
from simulator.trace.expression import VARIABLES, Variable
from simulator.trace.schema import FIRST_PREDICATE, PREDICATES
from simulator.workload.allocate import Allocation
from simulator.workload.interpret.memory import Addresses, GlobalMemory, Mask, Words
from simulator.workload.ir import Kernel, Op, Part

Blocks = npt.NDArray[np.int64]
MAX_REGISTERS = 256
GARBAGE = 0xFFFFFFFF


class BlockState:
    """What the warps of a block share, for some blocks of the grid at once."""

    def __init__(self, allocation: Allocation, memory: GlobalMemory, blocks: Blocks) -> None:
        kernel = allocation.kernel
        self.blocks = len(blocks)
        self.memory = memory
        self.shared = np.full((self.blocks, kernel.shared_bytes), 0xFF, np.uint8)
        self.places = allocation.places
        self.local_bytes = allocation.spill_bytes_per_thread
        self.index = block_indices(kernel, blocks[:, None])
        self.executed: dict[Operation, int] = {}


def block_indices(kernel: Kernel, blocks: Blocks) -> dict[Variable, Blocks]:
    """The block variables of blocks by their numbers in the grid."""
    x, y, _ = kernel.grid
    return {
        Variable.BLOCK: blocks,
        Variable.BLOCK_X: blocks % x,
        Variable.BLOCK_Y: blocks // x % y,
        Variable.BLOCK_Z: blocks // (x * y),
    }


class WarpState:
    """One warp of every block: registers, predicates, local memory, copies in flight."""

    def __init__(self, block: BlockState, number: int) -> None:
        self.block = block
        self.number = number
        shape = (block.blocks, 32)
        self.everywhere: Mask = np.ones(shape, np.bool_)
        self.registers = np.full((MAX_REGISTERS, *shape), GARBAGE, np.uint32)
        self.predicates = np.zeros((PREDICATES, *shape), np.bool_)
        self.local = np.full((*shape, block.local_bytes), 0xFF, np.uint8)
        self.open_group: list[tuple[Addresses, int, Words]] = []
        self.groups: list[list[tuple[Addresses, int, Words]]] = []
        self.values: list[Any] = [0] * VARIABLES
        for name, value in block.index.items():
            self.values[name] = value
        lane = np.arange(32)[None, :]
        self.values[Variable.WARP] = number
        self.values[Variable.LANE] = lane
        self.values[Variable.THREAD] = 32 * number + lane

    def read(self, part: Part) -> list[Words]:
        """The words of an operand."""
        place = self.block.places[part.virtual.number] + part.first
        return [self.registers[place + word].copy() for word in range(part.words)]

    def flag(self, part: Part) -> Mask:
        """A predicate."""
        held: Mask = self.predicates[self.block.places[part.virtual.number] - FIRST_PREDICATE]
        return held

    def write(self, part: Part, words: Sequence[Words], mask: Mask) -> None:
        """Set the words of a register in active lanes."""
        place = self.block.places[part.virtual.number] + part.first
        for index in range(part.words):
            if mask is self.everywhere:
                self.registers[place + index] = words[index]
                continue
            np.copyto(self.registers[place + index], words[index], where=mask)

    def active(self, op: Op) -> Mask:
        """The lanes that take part; the predicate register must equal the guards."""
        everywhere = self.everywhere
        if op.when is None:
            return everywhere
        flag = self.flag(op.when)
        closed = everywhere
        for guard in op.guards:
            value = guard.expression.evaluate(self.values)
            closed = closed & (value >= guard.low) & (value < guard.high)
        if op.guards and not (closed == flag).all():
            raise ResultError("interpreter", f"{op.operation.name}: predicate and guards differ")
        return flag
