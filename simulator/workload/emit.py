"""Writes kernel programs: each method appends one operation (or the few that a compiler would need) and
returns the register, with its closed form where it is an index.

Index arithmetic is spelled out as the hardware has it: multiply-add, shifts, and division by a constant
through the upper half of a product. Nothing is folded away behind the reader's back, so instruction counts
are honest. Kernel parameters (tensor addresses) are constants of the launch and need no register.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.expression import Variable
from simulator.trace.schema import Guard, TensorInfo
from simulator.workload.affine import Index, variable
from simulator.workload.ir import Access, Body, Effect, Kernel, Op, Part, Repeat, Special, Virtual

INDEX_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class Scalar:
    """A 32-bit integer register and the index that it holds."""

    part: Part
    index: Index


@dataclass(frozen=True, slots=True)
class Pointer:
    """A 64-bit global address in a register pair, in bytes."""

    part: Part
    index: Index


@dataclass(frozen=True, slots=True)
class Flag:
    """A predicate register and the conditions that it stands for."""

    part: Part
    guards: tuple[Guard, ...]


class Emitter:
    """A kernel program under construction."""

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

    # -- what belongs to the kernel as a whole

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

    # -- indices

    def special(self, which: Special) -> Scalar:
        """Read a special register."""
        x, y, _ = self.grid
        index = {
            Special.THREAD: variable(Variable.WARP, -(-self.threads // 32)) * 32
            + variable(Variable.LANE, 32),
            Special.BLOCK_X: variable(Variable.BLOCK_X, x),
            Special.BLOCK_Y: variable(Variable.BLOCK_Y, y),
        }[which]
        part = self.fresh(1, which.name.lower())
        self.op(Operation.S2R, Effect.SPECIAL, (part,), (), (int(which),))
        return Scalar(part, index)

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

    def add(self, left: Scalar, right: Scalar | int, name: str = "") -> Scalar:
        """Left + right, one instruction."""
        part = self.fresh(1, name)
        if isinstance(right, int):
            self.op(Operation.ALU, Effect.ADD, (part,), (left.part,), (right,))
            return Scalar(part, left.index + right)
        self.op(Operation.ALU, Effect.ADD, (part,), (left.part, right.part), (0,))
        return Scalar(part, left.index + right.index)

    def multiply_add(self, left: Scalar, factor: int, addend: Scalar | int = 0, name: str = "") -> Scalar:
        """Left * factor + addend, one instruction."""
        part = self.fresh(1, name)
        if isinstance(addend, int):
            self.op(Operation.IMAD, Effect.MULTIPLY_ADD, (part,), (left.part,), (factor, addend))
            return Scalar(part, left.index * factor + addend)
        self.op(Operation.IMAD, Effect.MULTIPLY_ADD, (part,), (left.part, addend.part), (factor, 0))
        return Scalar(part, left.index * factor + addend.index)

    def divide(self, value: Scalar, divisor: int, name: str = "") -> Scalar:
        """The quotient of a value below 2^31: a shift, or the upper half of a product and a shift."""
        low, high = value.index.bounds()
        if low < 0 or high >= INDEX_LIMIT:
            raise InputError("kernel", f"index range {low} … {high} does not divide", "use a smaller batch")
        if divisor == 1:
            return value
        part = self.fresh(1, name)
        shift = (divisor - 1).bit_length()
        if divisor == 1 << shift:
            self.op(Operation.ALU, Effect.SHIFT_RIGHT, (part,), (value.part,), (shift,))
        else:
            magic = -(-(1 << (31 + shift)) // divisor)
            upper = self.fresh(1, "upper") if shift > 1 else part
            self.op(Operation.IMAD, Effect.MULTIPLY_HIGH, (upper,), (value.part,), (magic,))
            if shift > 1:
                self.op(Operation.ALU, Effect.SHIFT_RIGHT, (part,), (upper,), (shift - 1,))
        return Scalar(part, value.index // divisor)

    def remainder(
        self, value: Scalar, divisor: int, quotient: Scalar | None = None, name: str = ""
    ) -> Scalar:
        """Value % divisor; from the quotient where that is at hand."""
        if divisor & (divisor - 1) == 0:
            part = self.fresh(1, name)
            self.op(Operation.ALU, Effect.AND, (part,), (value.part,), (divisor - 1,))
            return Scalar(part, value.index % divisor)
        whole = quotient if quotient is not None else self.divide(value, divisor)
        return Scalar(self.multiply_add(whole, -divisor, value, name).part, value.index % divisor)

    def known(self, value: Scalar | Pointer, index: Index) -> Scalar:
        """The same register, said to hold `index` here (a register that a loop steps along). The interpreter
        checks it wherever it becomes an address or a guard.
        """
        return Scalar(value.part, index)

    def increase(self, value: Part, by: Part | int) -> None:
        """In place: value += by."""
        if isinstance(by, int):
            self.op(Operation.ALU, Effect.ADD, (value,), (value,), (by,))
        else:
            self.op(Operation.ALU, Effect.ADD, (value,), (value, by), (0,))

    def select(self, flag: Part, yes: int, no: int, name: str = "") -> Part:
        """One of two constants by a predicate."""
        part = self.fresh(1, name)
        self.op(Operation.ALU, Effect.SELECT, (part,), (flag,), (yes, no))
        return part

    def pointer(self, base: int, value: Scalar, scale: int, name: str = "") -> Pointer:
        """Base + scale * value as a 64-bit address, one wide multiply-add."""
        part = self.fresh(2, name)
        self.op(Operation.IMAD, Effect.WIDE, (part,), (value.part,), (scale, base))
        return Pointer(part, value.index * scale + base)

    def within(self, value: Scalar, limit: int, also: Flag | None = None) -> Flag:
        """0 <= value < limit (and `also`): one unsigned comparison."""
        part = self.fresh(1, "flag", predicate=True)
        src = (value.part,) if also is None else (value.part, also.part)
        self.op(Operation.PREDICATE, Effect.IN_RANGE, (part,), src, (limit,))
        before = () if also is None else also.guards
        return Flag(part, (*before, Guard(value.index.expression(), 0, limit)))

    # -- memory

    def load(
        self,
        pointer: Pointer | Scalar,
        words: int,
        offset: int = 0,
        flag: Flag | None = None,
        tensor: int = -1,
        into: Part | None = None,
        width: int = 0,
        name: str = "",
    ) -> Part:
        """Load 4, 8 or 16 bytes a lane (or `width` of fewer) from global memory, or from shared through a
        32-bit address. Where a flag is false the old value stays.
        """
        part = into if into is not None else self.fresh(words, name or "loaded")
        access = Access((pointer.index + offset).expression(), offset, width or 4 * words)
        operation = Operation.LDG if isinstance(pointer, Pointer) else Operation.LDS
        self.op(operation, Effect.LOAD, (part,), (pointer.part,), (), flag, access=access, dst_tensor=tensor)
        return part

    def store(
        self,
        pointer: Pointer | Scalar,
        value: Part,
        offset: int = 0,
        flag: Flag | None = None,
        tensor: int = -1,
        width: int = 0,
    ) -> None:
        """Store a register group to global memory, or to shared through a 32-bit address."""
        access = Access((pointer.index + offset).expression(), offset, width or 4 * value.words)
        operation = Operation.STG if isinstance(pointer, Pointer) else Operation.STS
        self.op(
            operation, Effect.STORE, (), (pointer.part, value), (), flag, access=access, dst_tensor=tensor
        )

    def copy_async(
        self,
        place: Scalar,
        place_offset: int,
        pointer: Pointer,
        width: int,
        flag: Flag | None = None,
        tensor: int = -1,
        offset: int = 0,
    ) -> None:
        """Global to shared without a stop in registers; zeros where the flag is false."""
        shared = Access((place.index + place_offset).expression(), place_offset, width)
        access = Access((pointer.index + offset).expression(), offset, width)
        cache = "cg" if width == 16 else "ca"
        self.op(
            Operation.LDGSTS,
            Effect.COPY_ASYNC,
            (),
            (place.part, pointer.part),
            (),
            flag,
            access=access,
            shared=shared,
            cache=cache,
            dst_tensor=tensor,
        )

    def load_matrix(self, place: Scalar, offset: int, tensor: int = -1, name: str = "") -> Part:
        """Four 8 × 8 matrices of halves from shared memory; lane l gives the address of row l % 8 of matrix l
        // 8.
        """
        part = self.fresh(4, name)
        access = Access((place.index + offset).expression(), offset, 16)
        self.op(
            Operation.LDSM,
            Effect.LOAD_MATRIX,
            (part,),
            (place.part,),
            access=access,
            dst_tensor=tensor,
        )
        return part

    def commit(self) -> None:
        """Close the group of asynchronous copies."""
        self.op(Operation.ASYNC_COMMIT, Effect.COMMIT)

    def wait(self, open_groups: int) -> None:
        """Wait until at most that many groups are open."""
        self.op(Operation.ASYNC_WAIT, Effect.WAIT, count=open_groups)

    def barrier(self) -> None:
        """All warps of the block meet."""
        self.op(Operation.BARRIER, Effect.BARRIER)

    def shuffle_xor(self, value: Part, distance: int, name: str = "") -> Part:
        """The value of lane ^ distance."""
        part = self.fresh(1, name)
        self.op(Operation.SHUFFLE, Effect.SHUFFLE_XOR, (part,), (value,), (distance,))
        return part

    def atomic_add(self, pointer: Pointer | Scalar, value: Part, offset: int = 0, tensor: int = -1) -> None:
        """Add a float to global (no result) or shared memory."""
        access = Access((pointer.index + offset).expression(), offset, 4)
        operation = Operation.REDG if isinstance(pointer, Pointer) else Operation.ATOMS
        self.op(
            operation,
            Effect.ATOMIC_ADD,
            (),
            (pointer.part, value),
            access=access,
            dst_tensor=tensor,
        )


def total(body: Body) -> int:
    """Dynamic operations of one warp."""
    return sum(item.trips * total(item.body) if isinstance(item, Repeat) else 1 for item in body)
