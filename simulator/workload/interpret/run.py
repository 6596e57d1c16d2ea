"""Runs an allocated kernel on real values: all blocks that go the same way side by side, the warps of a block
one after another from barrier to barrier, in an order that the caller chooses, so that a missing barrier
shows.

Addresses and predicates of the program are compared with the closed forms of the trace on the way. Time is
not modelled.
"""

from collections.abc import Iterator

import numpy as np

from hwmodels.errors import ResultError
from hwmodels.operations import Operation
from simulator.trace.expression import Variable
from simulator.trace.schema import FIRST_PREDICATE
from simulator.workload.allocate import Allocation
from simulator.workload.interpret import matrix
from simulator.workload.interpret.access import WarpMemory
from simulator.workload.interpret.arms import kinds_of_blocks, takes_arm
from simulator.workload.interpret.effects import ARITHMETIC
from simulator.workload.interpret.functions import FLOAT_TESTS, FUNCTIONS
from simulator.workload.interpret.memory import GlobalMemory, Mask, scatter
from simulator.workload.interpret.state import GARBAGE, BlockState
from simulator.workload.ir import Body, Effect, Op, Repeat, Special

SPECIAL_VARIABLES = {
    Special.THREAD: Variable.THREAD,
    Special.BLOCK_X: Variable.BLOCK_X,
    Special.BLOCK_Y: Variable.BLOCK_Y,
    Special.BLOCK_Z: Variable.BLOCK_Z,
}


class Warp(WarpMemory):
    """A warp that runs a program."""

    ended = False

    def run(self, body: Body, depth: int = 0) -> Iterator[int]:
        """Execute; pauses at each barrier and gives its number."""
        for place, item in enumerate(body):
            if self.ended:
                return
            if isinstance(item, Repeat) and item.only:
                if self.takes(item, body[place - 1]):
                    yield from self.run(item.body, depth + 1)
            elif isinstance(item, Repeat):
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
                    yield item.count
                elif item.effect is Effect.EXIT and item.when is None:
                    self.ended = True
                else:
                    self.execute(item)

    def takes(self, arm: Repeat, branch: Op | Repeat) -> bool:
        """Whether the warp goes through an arm; the predicate of the branch before it must say the same."""
        taken = takes_arm(arm, self.values)
        if not isinstance(branch, Op) or not (self.flag(branch.src[0]) == taken).all():
            raise ResultError("interpreter", "an arm disagrees with the branch over it")
        return bool(np.all(taken))

    def execute(self, op: Op) -> None:
        """One operation."""
        mask = self.active(op)
        compute = ARITHMETIC.get(op.effect) or FUNCTIONS.get(op.effect)
        if compute is not None:
            source = [word for part in op.src for word in self.read(part)]
            results = compute(source, op.numbers)
            at = 0
            for part in op.dst:
                self.write(part, results[at : at + part.words], mask)
                at += part.words
        elif op.effect in FLOAT_TESTS:
            place = self.block.places[op.dst[0].virtual.number] - FIRST_PREDICATE
            outcome = FLOAT_TESTS[op.effect]([self.read(part)[0] for part in op.src], op.numbers)
            np.copyto(self.predicates[place], outcome, where=mask)
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

    def other(self, op: Op, mask: Mask) -> None:
        """Everything that is neither word arithmetic nor memory."""
        shape = (self.block.blocks, 32)
        if op.effect is Effect.SPECIAL:
            variable = SPECIAL_VARIABLES[Special(int(op.numbers[0]))]
            self.write(op.dst[0], [np.broadcast_to(self.values[variable], shape).astype(np.uint32)], mask)
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
            self.write(op.dst[0], matrix.product_884(op.numbers, *sources), mask)
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


PREDICATE_EFFECTS = frozenset({Effect.IN_RANGE, Effect.EQUALS})


def interpret(allocation: Allocation, memory: GlobalMemory, *, reverse: bool = False) -> dict[Operation, int]:
    """Run the whole grid on `memory`; the dynamic operations of all warps of a block of each kind, by class.

    `reverse` lets the highest warp run first between barriers.
    """
    executed: dict[Operation, int] = {}
    kernel = allocation.kernel
    for blocks in kinds_of_blocks(kernel):
        state = BlockState(allocation, memory, blocks)
        warps = [Warp(state, number) for number in range(kernel.threads // 32)]
        if reverse:
            warps.reverse()
        with np.errstate(all="ignore"):
            run_together([warp.run(kernel.body) for warp in warps], kernel.barrier_warps)
        for operation, count in state.executed.items():
            executed[operation] = executed.get(operation, 0) + count
    return executed


def run_together(runs: list[Iterator[int]], barrier_warps: tuple[int, ...]) -> None:
    """The warps of a block from barrier to barrier until all have ended."""
    ready, waiting = list(range(len(runs))), dict[int, list[int]]()
    while ready:
        for number in ready:
            barrier = next(runs[number], None)
            if barrier is not None:
                waiting.setdefault(barrier, []).append(number)
        ready = []
        for barrier, arrived in waiting.items():
            named = barrier_warps[barrier] if barrier < len(barrier_warps) else 0
            if len(arrived) == (named or len(runs)):
                ready += arrived
                arrived.clear()
        ready.sort()
    if any(waiting.values()):
        raise ResultError("interpreter", "warps of a block disagree on a barrier")
