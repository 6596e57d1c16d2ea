"""Runs an allocated kernel on real values: all blocks side by side, the warps of a block one after another
from barrier to barrier, in an order that the caller chooses, so that a missing barrier shows.

Registers are the physical ones. An asynchronous copy lands as late as its wait allows. At every memory access
the address in the register is compared with the closed form of the trace, and the predicate with the guards.
Time is not modelled.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from hwmodels.errors import ResultError
from hwmodels.operations import Operation
from simulator.trace.expression import VARIABLES, Variable
from simulator.trace.schema import FIRST_PREDICATE, PREDICATES
from simulator.workload.allocate import Allocation
from simulator.workload.interpret import matrix
from simulator.workload.interpret.effects import ARITHMETIC
from simulator.workload.interpret.memory import Addresses, GlobalMemory, Mask, Words, gather, scatter
from simulator.workload.ir import Access, Body, Effect, Op, Part, Repeat, Special

MAX_REGISTERS = 256
GARBAGE = 0xFFFFFFFF


class BlockState:
    """What the warps of a block share, for all blocks at once."""

    def __init__(self, allocation: Allocation, memory: GlobalMemory) -> None:
        kernel = allocation.kernel
        self.blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
        self.memory = memory
        self.shared = np.full((self.blocks, kernel.shared_bytes), 0xFF, np.uint8)
        self.places = allocation.places
        self.local_bytes = allocation.spill_bytes_per_thread
        linear = np.arange(self.blocks)[:, None]
        x, y, _ = kernel.grid
        self.index = {
            Variable.BLOCK: linear,
            Variable.BLOCK_X: linear % x,
            Variable.BLOCK_Y: linear // x % y,
            Variable.BLOCK_Z: linear // (x * y),
        }
        self.executed: dict[Operation, int] = {}


class Warp:
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
        self.values: list[object] = [0] * VARIABLES
        for name, value in block.index.items():
            self.values[name] = value
        lane = np.arange(32)[None, :]
        self.values[Variable.WARP] = number
        self.values[Variable.LANE] = lane
        self.values[Variable.THREAD] = 32 * number + lane

    # -- registers

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

    # -- the program

    def run(self, body: Body, depth: int = 0) -> Iterator[None]:
        """Execute; pauses at each barrier."""
        for item in body:
            if isinstance(item, Repeat):
                for turn in range(item.trips):
                    self.values[Variable.LOOP0 + depth] = turn
                    yield from self.run(item.body, depth + 1)
                    branch = item.body[-1]
                    again = turn < item.trips - 1
                    if not isinstance(branch, Op) or not (self.flag(branch.src[0]) == again).all():
                        raise ResultError(
                            "interpreter", f"loop of {item.trips} turns disagrees with its branch"
                        )
            else:
                self.block.executed[item.operation] = self.block.executed.get(item.operation, 0) + 1
                if item.effect is Effect.BARRIER:
                    yield
                else:
                    self.execute(item)

    def execute(self, op: Op) -> None:
        """One operation."""
        mask = self.active(op)
        if op.effect in ARITHMETIC:
            source = [word for part in op.src for word in self.read(part)]
            results = ARITHMETIC[op.effect](source, op.numbers)
            at = 0
            for part in op.dst:
                self.write(part, results[at : at + part.words], mask)
                at += part.words
        elif op.effect in PREDICATE_EFFECTS:
            place = self.block.places[op.dst[0].virtual.number] - FIRST_PREDICATE
            value = self.read(op.src[0])[0]
            result = (
                value < int(op.numbers[0]) if op.effect is Effect.IN_RANGE else value == int(op.numbers[0])
            )
            if len(op.src) > 1:
                result = result & self.flag(op.src[1])
            np.copyto(self.predicates[place], result, where=mask)
        elif op.access is not None:
            self.access(op, op.access, mask)
        else:
            self.other(op, mask)

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

    def other(self, op: Op, mask: Mask) -> None:
        """Everything that is neither word arithmetic nor memory."""
        shape = (self.block.blocks, 32)
        if op.effect is Effect.SPECIAL:
            variable = {
                Special.THREAD: Variable.THREAD,
                Special.BLOCK_X: Variable.BLOCK_X,
                Special.BLOCK_Y: Variable.BLOCK_Y,
            }[Special(int(op.numbers[0]))]
            self.write(op.dst[0], [np.broadcast_to(self.values[variable], shape).astype(np.uint32)], mask)  # type: ignore[call-overload]
        elif op.effect is Effect.CONSTANT:
            word = np.full(shape, int(op.numbers[0]) & GARBAGE, np.uint32)
            self.write(op.dst[0], [word] * op.dst[0].words, mask)
        elif op.effect is Effect.SELECT:
            yes, no = (
                (self.read(op.src[1])[0], self.read(op.src[2])[0])
                if len(op.src) > 1
                else (np.uint32(int(n) & GARBAGE) for n in op.numbers)
            )
            self.write(op.dst[0], [np.where(self.flag(op.src[0]), yes, no).astype(np.uint32)], mask)
        elif op.effect is Effect.MATRIX_16816:
            self.write(op.dst[0], matrix.product_16816(*(self.read(part) for part in op.src)), mask)
        elif op.effect is Effect.MATRIX_884:
            sources = (self.read(part) for part in op.src)
            self.write(op.dst[0], matrix.product_884(int(op.numbers[0]), *sources), mask)
        elif op.effect is Effect.SHUFFLE_XOR:
            lanes = np.arange(32) ^ int(op.numbers[0])
            self.write(op.dst[0], [self.read(op.src[0])[0][:, lanes]], mask)
        elif op.effect is Effect.COMMIT:
            self.groups.append(self.open_group)
            self.open_group = []
        elif op.effect is Effect.WAIT:
            while len(self.groups) > op.count:
                for offsets, width, words in self.groups.pop(0):
                    scatter(self.block.shared, offsets, np.ones(offsets.shape, np.bool_), width, words)
        elif op.effect is Effect.OPAQUE:
            raise ResultError("interpreter", "an opaque operator has no values")

    # -- memory

    def access(self, op: Op, access: Access, mask: Mask) -> None:
        """A load, store, matrix load, asynchronous copy or atomic addition."""
        width = access.bytes_per_lane
        if op.operation in {Operation.LDL, Operation.STL}:
            self.local_access(op, access, mask)
            return
        pointer = op.src[1] if op.effect is Effect.COPY_ASYNC else op.src[0]
        addresses = self.checked(op, pointer, access, mask)
        if op.effect is Effect.COPY_ASYNC and op.shared is not None:
            place = self.checked(op, op.src[0], op.shared, self.everywhere)
            self.open_group.append((place, width, self.block.memory.read(addresses, mask, width)))
        elif op.effect is Effect.ATOMIC_ADD:
            self.atomic(op, addresses, mask)
        elif op.effect is Effect.STORE:
            words = np.stack(self.read(op.src[1]), axis=-1)
            if op.operation is Operation.STG:
                self.block.memory.write(addresses, mask, width, words)
            else:
                scatter(self.block.shared, addresses, mask, width, words)
        else:
            if op.operation is Operation.LDG:
                taken = self.block.memory.read(addresses, mask, width)
            else:
                taken = gather(self.block.shared, np.where(mask, addresses, 0), width)
            words_out = (
                matrix.load_matrix(taken)
                if op.effect is Effect.LOAD_MATRIX
                else [taken[..., word] for word in range(op.dst[0].words)]
            )
            self.write(op.dst[0], words_out, mask)

    def atomic(self, op: Op, addresses: Addresses, mask: Mask) -> None:
        """Add a float to each active lane's address."""
        value = self.read(op.src[1])[0]
        if op.operation is Operation.REDG:
            self.block.memory.add(addresses, mask, value)
            return
        rows, lanes = np.nonzero(mask)
        cells = self.block.shared.view(np.float32)
        np.add.at(cells, (rows, addresses[rows, lanes] // 4), value[rows, lanes].view(np.float32))

    def local_access(self, op: Op, access: Access, mask: Mask) -> None:
        """One word of the thread's own memory."""
        cell = self.local[..., access.offset : access.offset + 4]
        if op.effect is Effect.LOAD:
            self.write(op.dst[0], [np.ascontiguousarray(cell).view(np.uint32)[..., 0]], mask)
        else:
            word = np.ascontiguousarray(self.read(op.src[0])[0])
            cell[mask] = word[..., None].view(np.uint8)[mask]

    def checked(self, op: Op, pointer: Part, access: Access, mask: Mask) -> Addresses:
        """The addresses from the register, equal to the closed form in every active lane."""
        words = self.read(pointer)
        addresses: Addresses = words[0].astype(np.int64) + access.offset
        if len(words) > 1:
            addresses = addresses + (words[1].view(np.int32).astype(np.int64) << 32)
        closed = np.broadcast_to(access.address.evaluate(self.values), addresses.shape)
        if not (closed == addresses)[mask].all():
            raise ResultError(
                "interpreter", f"{op.operation.name}: register and closed form of an address differ"
            )
        if len(words) == 1 and mask.any():
            low, high = int(addresses[mask].min()), int(addresses[mask].max()) + access.bytes_per_lane
            if (
                low < 0
                or high > self.block.shared.shape[1]
                or (addresses[mask] % access.bytes_per_lane).any()
            ):
                raise ResultError(
                    "interpreter", f"{op.operation.name}: shared bytes {low} … {high} out of bounds"
                )
        return addresses


PREDICATE_EFFECTS = frozenset({Effect.IN_RANGE, Effect.EQUALS})


def interpret(allocation: Allocation, memory: GlobalMemory, *, reverse: bool = False) -> dict[Operation, int]:
    """Run the whole grid on `memory`; the dynamic operations of all warps of one block, by class.

    `reverse` lets the highest warp run first between barriers.
    """
    block = BlockState(allocation, memory)
    warps = [Warp(block, number) for number in range(allocation.kernel.threads // 32)]
    if reverse:
        warps.reverse()
    runs = [warp.run(allocation.kernel.body) for warp in warps]
    with np.errstate(all="ignore"):
        while True:
            arrived = [next(run, run) for run in runs]
            if all(state is None for state in arrived):
                continue
            if any(state is None for state in arrived):
                raise ResultError("interpreter", "warps of a block disagree on a barrier")
            return block.executed
