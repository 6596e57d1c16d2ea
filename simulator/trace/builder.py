"""Writes the generated form by hand: a program of loops, guards and instructions with quasi-affine addresses.

The builder keeps track of nesting, of the operator at work and of tensors, counts registers and barriers,
and ends the program with EXIT where its author did not. It checks nothing beyond what it needs: `check`
judges the finished trace.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.assembly import Assembly
from simulator.trace.expression import MAX_LOOP_DEPTH, Expression, expression, loop
from simulator.trace.schema import RZ, Guard, Instruction, KernelTrace, Loop, Program, TensorInfo

FIRST_ADDRESS = 1 << 32
ALIGNMENT_BYTES = 512


class GlobalMemory:
    """Hands out places in global memory, one after the other, aligned as cudaMalloc aligns."""

    def __init__(self, first_address: int = FIRST_ADDRESS, alignment_bytes: int = ALIGNMENT_BYTES) -> None:
        self.next_address = first_address
        self.alignment_bytes = alignment_bytes

    def tensor(self, name: str, size_bytes: int, kind: str = "intermediate") -> TensorInfo:
        """A tensor at the next free place."""
        base = self.next_address
        self.next_address = base + -(-size_bytes // self.alignment_bytes) * self.alignment_bytes
        return TensorInfo(name, size_bytes, base, kind)


class KernelBuilder(Assembly):
    """Builds one kernel; `build()` gives the KernelTrace.

    >>> memory = GlobalMemory()
    >>> x, y = memory.tensor("x", 1 << 20, "input"), memory.tensor("y", 1 << 20, "output")
    >>> k = KernelBuilder("double", grid=1024, block=256)
    >>> index = block * 256 + thread
    >>> k.wide(4, 0)
    >>> k.load(2, k.at(x, 4 * index), via=4, tensor=x)
    >>> k.fadd(2, 2, 2)
    >>> k.store(2, k.at(y, 4 * index), via=4, tensor=y)
    >>> trace = k.build()
    """

    def __init__(
        self,
        name: str,
        grid: int | tuple[int, int, int],
        block: int | tuple[int, int, int],
        registers_per_thread: int = 0,
        **header: Any,
    ) -> None:
        grid = (grid, 1, 1) if isinstance(grid, int) else grid
        block = (block, 1, 1) if isinstance(block, int) else block
        self.header = KernelTrace(name, grid, block, registers_per_thread, **header)
        self.bodies: list[list[Instruction | Loop]] = [[]]
        self.guards: list[Guard] = []
        self.tensors: list[TensorInfo] = []
        self.operators: list[str] = []
        self.holds: dict[int, int] = {}
        self.operator_id = -1
        self.depth = 0
        self.highest = 0
        self.barriers = self.header.barriers

    def emit(self, operation: Operation, dst: Any = (), src: Any = (), **fields: Any) -> None:
        """Append one instruction. `dst`, `src`: a register or several; `tensor=` names what a memory access
        touches.

        Further fields are those of `Instruction`; guards of the open `guard` blocks, the operator, and the
        tensors that the source registers were loaded from are added.
        """
        dst = (dst,) if isinstance(dst, int) else tuple(dst)
        src = (src,) if isinstance(src, int) else tuple(src)
        tensor: TensorInfo | None = fields.pop("tensor", None)
        number = -1
        if tensor is not None:
            number = self.tensor(tensor)
            fields.setdefault("dst_tensor", number)
        if any(register in self.holds for register in src):
            fields.setdefault("src_tensors", tuple(self.holds.get(register, -1) for register in src))
        for register in dst:
            self.holds.pop(register, None)
            if tensor is not None:
                self.holds[register] = number
        for name in ("address", "shared_address"):
            if name in fields:
                fields[name] = expression(fields[name])
        fields.setdefault("operator", self.operator_id)
        fields["guards"] = (*self.guards, *fields.get("guards", ()))
        self.highest = max(self.highest, *(1 + r for r in (*dst, *src) if r < RZ), 0)
        if operation is Operation.BARRIER:
            self.barriers = max(self.barriers, fields.get("count", 0) + 1)
        self.bodies[-1].append(Instruction(operation, dst, src, **fields))

    @contextmanager
    def loop(
        self, trips: Expression | int, *, predicate: int | None = 0, branch: bool = True
    ) -> Iterator[Expression]:
        """Repeat the block `trips` times; gives the loop's counter.

        The back-branch is appended unless `branch=False`.
        """
        if self.depth >= MAX_LOOP_DEPTH:
            raise InputError(
                self.header.name,
                f"loops nest deeper than {MAX_LOOP_DEPTH}",
                "merge loops by // and % of one counter",
            )
        counter = loop(self.depth)
        self.depth += 1
        self.bodies.append([])
        yield counter
        if branch:
            self.branch(predicate)
        self.depth -= 1
        body = self.bodies.pop()
        self.bodies[-1].append(Loop(expression(trips), tuple(body)))

    @contextmanager
    def when(self, condition: Expression) -> Iterator[None]:
        """A warp-uniform "if": the block runs where `condition` (0 or 1, no LANE) is 1."""
        with self.loop(condition, branch=False):
            yield

    @contextmanager
    def guard(self, value: Expression, low: int, high: int) -> Iterator[None]:
        """Switch off the lanes where `value` is outside low <= value < high, within the block."""
        self.guards.append(Guard(value, low, high))
        yield
        self.guards.pop()

    @contextmanager
    def guard_unless(self, always: bool, value: Expression, low: int, high: int) -> Iterator[None]:
        """A guard that is left out where the value is known to be inside always."""
        if always:
            yield
        else:
            with self.guard(value, low, high):
                yield

    @contextmanager
    def operator(self, name: str) -> Iterator[int]:
        """Charge the instructions of the block to this operator; gives its id."""
        before = self.operator_id
        if name not in self.operators:
            self.operators.append(name)
        self.operator_id = self.operators.index(name)
        yield self.operator_id
        self.operator_id = before

    def tensor(self, tensor: TensorInfo) -> int:
        """The id of a tensor in this kernel; adds it when it is new."""
        if tensor not in self.tensors:
            self.tensors.append(tensor)
        return self.tensors.index(tensor)

    @staticmethod
    def at(tensor: TensorInfo, offset_bytes: Expression | int) -> Expression:
        """The address of a byte of a tensor."""
        return expression(offset_bytes) + tensor.base_address

    def build(self) -> KernelTrace:
        """The finished trace. Registers a thread: as given, or as many as are named."""
        body = self.bodies[0]
        ends = body and isinstance(body[-1], Instruction) and body[-1].operation is Operation.EXIT
        if not ends or (isinstance(body[-1], Instruction) and body[-1].guards):
            self.exit()
        return replace(
            self.header,
            registers_per_thread=self.header.registers_per_thread or max(1, self.highest),
            barriers=self.barriers,
            operators=tuple(self.operators),
            tensors=tuple(self.tensors),
            program=Program(tuple(body)),
        )
