"""The kernel program under construction: operations in order, loops, operators, tensors, registers.

Kernel parameters (tensor addresses) are constants of the launch and need no register.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from hwmodels.operations import Operation
from simulator.trace.expression import Variable
from simulator.trace.schema import TensorInfo
from simulator.workload.affine import variable
from simulator.workload.emit.operands import Flag, Scalar
from simulator.workload.ir import Effect, Kernel, Op, Part, Repeat, Virtual


class Writer:
    """A kernel program, written from its first operation to its EXIT."""

    def __init__(self, name: str, grid: tuple[int, int, int], threads: int) -> None:
        self.name = name
        self.grid = grid
        self.threads = threads
        self.bodies: list[list[Op | Repeat]] = [[]]
        self.virtuals = 0
        self.operators: list[str] = []
        self.tensors: list[TensorInfo] = []
        self.tensor_ids: dict[str, int] = {}
        self.operator = -1
        self.trips: list[int] = []

    def finish(self, shared_bytes: int = 0, notes: tuple[tuple[str, str], ...] = ()) -> Kernel:
        """The whole kernel; appends the EXIT."""
        self.op(Operation.EXIT, Effect.EXIT)
        return Kernel(
            self.name,
            self.grid,
            self.threads,
            tuple(self.bodies[0]),
            shared_bytes,
            tuple(self.operators),
            tuple(self.tensors),
            notes,
        )

    def tensor(self, info: TensorInfo) -> int:
        """The id of a tensor, listed at first mention."""
        if info.name not in self.tensor_ids:
            self.tensor_ids[info.name] = len(self.tensors)
            self.tensors.append(info)
        return self.tensor_ids[info.name]

    @contextmanager
    def working_for(self, operator: str) -> Iterator[None]:
        """Operations inside belong to this operator of the graph."""
        before = self.operator
        if operator not in self.operators:
            self.operators.append(operator)
        self.operator = self.operators.index(operator)
        yield
        self.operator = before

    @contextmanager
    def repeat(self, trips: int) -> Iterator[Scalar]:
        """A loop with its counter, increment, test and back-branch; yields the counter."""
        counter = self.constant(0, "turn")
        turn = Scalar(counter, variable(Variable(Variable.LOOP0 + len(self.trips)), trips))
        self.trips.append(trips)
        self.bodies.append([])
        yield turn
        self.op(Operation.ALU, Effect.ADD, (counter,), (counter,), (1,))
        again = self.fresh(1, "again", predicate=True)
        self.op(Operation.PREDICATE, Effect.IN_RANGE, (again,), (counter,), (trips,))
        self.op(Operation.BRANCH, Effect.BRANCH, (), (again,))
        self.trips.pop()
        body = tuple(self.bodies.pop())
        self.bodies[-1].append(Repeat(trips, body))

    def fresh(self, words: int = 1, name: str = "", *, predicate: bool = False) -> Part:
        """A new virtual register."""
        self.virtuals += 1
        return Part(Virtual(self.virtuals - 1, words, name, predicate), 0, words)

    def op(
        self,
        operation: Operation,
        effect: Effect,
        dst: tuple[Part, ...] = (),
        src: tuple[Part, ...] = (),
        numbers: tuple[int | float, ...] = (),
        flag: Flag | None = None,
        **rest: object,
    ) -> None:
        """Append one operation."""
        made = Op(operation, effect, dst, src, numbers, operator=self.operator)
        if flag is not None:
            made = replace(made, when=flag.part, guards=flag.guards)
        self.bodies[-1].append(replace(made, **rest) if rest else made)  # type: ignore[arg-type]

    def constant(self, value: int, name: str = "", words: int = 1) -> Part:
        """A register group filled with one word; pairs at a time, as the hardware clears them."""
        part = self.fresh(words, name)
        self.refill(part, value)
        return part

    def refill(self, part: Part, value: int) -> None:
        """Set every word of an existing group."""
        step = min(2, part.words)
        for first in range(0, part.words, step):
            self.op(Operation.MOVE, Effect.CONSTANT, (part.cut(first, step),), (), (value,))
