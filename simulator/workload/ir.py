"""The kernel program before registers are chosen: operations over virtual registers, with loops, predicates,
shared memory, barriers, shuffles, atomics and asynchronous copies.

Each operation has a timing class (what the machine sees) and an effect (what it computes, for the
interpreter). A virtual register is a mutable group of 1, 2 or 4 aligned words, or a predicate; it is not
single-assignment. Addresses stand twice, as the register that program arithmetic fills and as the closed form
that the trace carries; the interpreter proves them equal. Divergent control flow within a warp is not
modelled: lanes are predicated. Warps may go different ways (`Repeat.only`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, auto, unique

from hwmodels.operations import Operation
from simulator.trace.expression import Expression
from simulator.trace.schema import Guard, TensorInfo


@unique
class Effect(IntEnum):
    """What an operation computes. `n` are its numbers, words are 32 bits, `p` a predicate."""

    SPECIAL = auto()  # the special register numbers[0]: one of Special
    CONSTANT = auto()  # every word of dst = n0
    COPY = auto()  # dst = src
    ADD = auto()  # sum of src words + n0
    MULTIPLY_ADD = auto()  # src0 * n0 + n1 (+ src1)
    MULTIPLY = auto()  # src0 * src1 (+ src2)
    WIDE = auto()  # 64 bits: signed src0 * n0 + n1 (+ the pair src1)
    MULTIPLY_HIGH = auto()  # upper word of unsigned src0 * n0
    SHIFT_RIGHT = auto()  # unsigned src0 >> n0
    AND = auto()  # src0 & n0
    IN_RANGE = auto()  # p = unsigned src0 < n0 (and p1)
    EQUALS = auto()  # p = src0 == n0
    SELECT = auto()  # src0 (a predicate) ? a : b, where a and b are src1, src2 or, without them, n0, n1
    UNPACK = auto()  # float of half n0 (0 low, 1 high) of src0
    PACK = auto()  # two halves from floats src0 (low), src1 (high)
    FLOAT_ADD = auto()
    FLOAT_MULTIPLY = auto()
    FLOAT_FUSED = auto()  # src0 * src1 + src2
    FLOAT_MAXIMUM = auto()  # greater of src0 and n0 (or src1)
    FLOAT_MINIMUM = auto()  # lesser of src0 and n0 (or src1)
    FLOAT_OFFSET = auto()  # src0 + n0
    FLOAT_SCALE = auto()  # src0 * n0 (+ src1)
    FLOAT_FUSED_CONSTANT = auto()  # src0 * src1 + n0
    FLOAT_FUSED_NEGATED = auto()  # src2 - src0 * src1
    FLOAT_SUBTRACT = auto()  # src0 - src1
    FLOAT_ABSOLUTE = auto()  # src0 without its sign
    FLOAT_COPY_SIGN = auto()  # src0 with the sign of src1
    FLOAT_ROUND = auto()  # src0 rounded: one of Rounding in n0
    FLOAT_BELOW = auto()  # p = src0 < n0 (or src1)
    FLOAT_EQUALS = auto()  # p = src0 == n0 (or src1)
    FLOAT_ORDINARY = auto()  # p = src1 (or 1) / src0 is far from overflow and underflow
    FUNCTION = auto()  # special function n0 of src0: one of Function; subnormal numbers count as zero
    TO_FLOAT = auto()  # integer to float: byte n0 of src0 (-1: the word), signed where n1
    FROM_FLOAT = auto()  # float to integer: rounding n0, clamped to n1 … n2
    INSERT = auto()  # src0 with the low byte of src1 at bit n0
    XOR = auto()  # src words ^ n0
    WIDE_UNSIGNED = auto()  # 64 bits: unsigned src0 * n0
    MATRIX_16816 = auto()  # dst quad = A (src0, quad) * B (src1, pair) + C (src2, quad)
    MATRIX_884 = auto()  # step n0 of four quad-pair products: dst pair = A (pair) * B (pair) + C (pair);
    # lanes hold a depth of A where n1 is 1, of B where n2 is 1, else a row and a column
    LOAD = auto()
    STORE = auto()
    LOAD_MATRIX = auto()  # four 8 × 8 matrices of halves, row addresses by lane; transposed where n0 is 1
    COPY_ASYNC = auto()  # global to shared, zeros where the predicate is false
    COMMIT = auto()
    WAIT = auto()
    BARRIER = auto()
    SHUFFLE_XOR = auto()  # src0 of lane ^ n0
    ATOMIC_ADD = auto()  # addition of src1 to memory, without a result; integers where n0 is 1, else floats
    BRANCH = auto()
    EXIT = auto()
    OPAQUE = auto()  # an unknown operator's work: takes time, computes nothing that can be checked


@unique
class Special(IntEnum):
    """Special registers."""

    THREAD = 0
    BLOCK_X = 1
    BLOCK_Y = 2
    BLOCK_Z = 3


@unique
class Function(IntEnum):
    """What the special function unit computes."""

    RECIPROCAL = 0
    RECIPROCAL_ROOT = 1
    ROOT = 2
    EXPONENTIAL = 3  # of base 2
    LOGARITHM = 4  # to base 2


@unique
class Rounding(IntEnum):
    """Directions of rounding to a whole number."""

    NEAREST = 0  # halves to even
    DOWN = 1
    UP = 2
    ZERO = 3


@dataclass(frozen=True, slots=True)
class Virtual:
    """A virtual register: `words` consecutive aligned words, or one predicate."""

    number: int
    words: int
    name: str
    predicate: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Words first … first + words - 1 of a virtual register: what an operand names."""

    virtual: Virtual
    first: int
    words: int

    def __getitem__(self, index: int) -> "Part":
        """One word."""
        return self.cut(index, 1)

    def cut(self, first: int, words: int) -> "Part":
        """Some of the words, aligned to their number."""
        return Part(self.virtual, self.first + first, words)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory access: byte address in closed form, the immediate that it contains beyond its address
    register, and the width.
    """

    address: Expression
    offset: int
    bytes_per_lane: int


@dataclass(frozen=True, slots=True)
class Op:
    """One operation.

    Memory operations name their address register first (LDGSTS: shared, then global; none for local memory).
    `when` is the predicate that switches lanes, `guards` its closed form. Tensor ids are -1 where none;
    `src_tensors` runs parallel to `src` or is empty.
    """

    operation: Operation
    effect: Effect
    dst: tuple[Part, ...] = ()
    src: tuple[Part, ...] = ()
    numbers: tuple[int | float, ...] = ()
    when: Part | None = None
    guards: tuple[Guard, ...] = ()
    access: Access | None = None
    shared: Access | None = None
    cache: str = "ca"
    operator: int = -1
    dst_tensor: int = -1
    src_tensors: tuple[int, ...] = ()
    latency: int = 0
    count: int = 0

    @property
    def reads(self) -> tuple[Part, ...]:
        """Every register part that is read, the predicate included."""
        return self.src if self.when is None else (*self.src, self.when)

    @property
    def writes_all_lanes(self) -> bool:
        """Whether no lane keeps an old value of dst."""
        return self.when is None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop: `trips` turns of the body, at least one; its back-branch is the body's last operation.

    With `only` it is no loop but an arm: one turn for the warps for which all these conditions hold, which
    may not depend on the lane. The branch that the others take over it is the operation before it.
    """

    trips: int
    body: tuple["Op | Repeat", ...]
    only: tuple[Guard, ...] = ()


Body = tuple[Op | Repeat, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel over virtual registers."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    body: Body
    shared_bytes: int
    operators: tuple[str, ...]
    tensors: tuple[TensorInfo, ...]
    notes: tuple[tuple[str, str], ...] = ()
    barrier_warps: tuple[int, ...] = ()
    """Warps that meet at each barrier; 0, or nothing: all of the block."""


def walk(body: Body) -> Iterator[tuple[int, Op]]:
    """Every operation in program order, with the number of loops around it."""
    for item in body:
        if isinstance(item, Op):
            yield 0, item
        else:
            yield from ((depth + (not item.only), op) for depth, op in walk(item.body))
