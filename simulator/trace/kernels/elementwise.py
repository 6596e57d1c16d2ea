"""The shape of element-wise kernels: index, bounds, addresses, loads, work, stores; several vectors a
thread if asked.

All loads of a thread are issued before the first use, as compilers do, so that `unroll` is memory
parallelism. The work on a vector is given by a function of registers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.trace.assembly import vector
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import Expression
from simulator.trace.kernels.common import (
    DATA,
    INDEX,
    MIB,
    begin,
    check_bounds,
    pointers,
    power_of_two,
    size_bytes,
)
from simulator.trace.schema import RZ, KernelTrace, TensorInfo

LAST_REGISTER = 254
Work = Callable[[KernelBuilder, list[int], int], int]


@dataclass(slots=True)
class Elementwise:
    """Sizes of an element-wise kernel; `build(work)` makes it.

    `work(k, loaded, count)` gets the first register of the vector of each source and returns the first of
    the result. Arrays have `megabytes` MiB each; one that is read and written is updated in place.
    `tensors` overrides where the arrays are.
    """

    name: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    megabytes: float
    threads: int
    bytes_per_lane: int
    unroll: int = 1
    stride: int = 1
    shared_bytes: int = 0
    index_instructions: int = 0
    tensors: dict[str, TensorInfo] | None = None

    def build(self, work: Work, operators: tuple[str, ...] = ()) -> KernelTrace:
        """The finished kernel."""
        power_of_two(self.name, self.bytes_per_lane)
        size = size_bytes(self.name, self.megabytes, MIB, self.bytes_per_lane)
        tensors = self.places(size)
        vectors, tile = size // self.bytes_per_lane, self.threads * self.unroll
        blocks = -(-vectors // tile)
        width = self.bytes_per_lane // 4
        if DATA + width * self.unroll * max(1, len(self.sources)) > LAST_REGISTER:
            raise InputError(
                f"kernel:{self.name}", f"unroll={self.unroll} needs too many registers", "unroll less"
            )
        k = KernelBuilder(self.name, blocks, self.threads, shared_bytes_per_block=self.shared_bytes)
        for operator in operators:
            k.operators.append(operator)
        index = begin(k, self.threads, self.unroll)
        for _ in range(self.index_instructions):
            k.imad(INDEX, INDEX)
        exact = vectors % tile == 0
        if self.unroll == 1:
            check_bounds(k, index, vectors, blocks * tile)
        via = dict(zip(tensors, pointers(k, len(tensors)), strict=True))
        loaded = []
        for part in range(self.unroll):
            with k.guard_unless(exact or self.unroll == 1, index + part * self.threads, 0, vectors):
                row = []
                for number, source in enumerate(self.sources):
                    row.append(DATA + width * (part * len(self.sources) + number))
                    place = k.at(tensors[source], self.bytes_per_lane * self.scattered(index, part, vectors))
                    k.load(row[-1], place, self.bytes_per_lane, via[source], tensor=tensors[source])
                loaded.append(row)
        for part in range(self.unroll):
            result = work(k, loaded[part], width)
            with k.guard_unless(exact or self.unroll == 1, index + part * self.threads, 0, vectors):
                for target in self.targets:
                    place = k.at(tensors[target], self.bytes_per_lane * self.scattered(index, part, vectors))
                    k.store(result, place, self.bytes_per_lane, via[target], tensor=tensors[target])
        return k.build()

    def scattered(self, index: Expression, part: int, vectors: int) -> Expression:
        """The vector that a thread accesses: its own, or with a stride a permutation of all of them."""
        index = index + part * self.threads
        if self.stride == 1:
            return index
        if vectors % self.stride:
            raise InputError(
                f"kernel:{self.name}",
                f"stride {self.stride} does not divide {vectors} vectors",
                "use a power of two",
            )
        rows = vectors // self.stride
        return (index % rows) * self.stride + index // rows

    def places(self, size: int) -> dict[str, TensorInfo]:
        """The arrays in order of first use, placed in memory unless they are given."""
        if self.tensors is not None:
            return self.tensors
        memory = GlobalMemory()
        kinds = {**dict.fromkeys(self.sources, "input"), **dict.fromkeys(self.targets, "output")}
        return {name: memory.tensor(name, size, kind) for name, kind in kinds.items()}

    @staticmethod
    def each(k: KernelBuilder, operation: Operation, into: int, first: int, second: int, count: int) -> int:
        """One operation on each register of two vectors, with a constant as its third operand."""
        for register in range(count):
            k.emit(operation, into + register, (first + register, second + register, RZ))
        return into

    @staticmethod
    def total(k: KernelBuilder, loaded: list[int], count: int) -> int:
        """Add the registers of a vector to the running sum in R22."""
        for register in vector(loaded[0], 4 * count):
            k.fadd(DATA - 2, DATA - 2, register)
        return DATA - 2

    @staticmethod
    def constant(k: KernelBuilder, count: int) -> int:
        """Fill a vector with a constant."""
        for register in range(count):
            k.move(DATA + register)
        return DATA

    @staticmethod
    def compare(k: KernelBuilder, loaded: list[int]) -> int:
        """Use a double in a comparison only, so that the load is not dead and nothing is stored."""
        k.emit(Operation.DADD, (DATA - 2, DATA - 1), (loaded[0], loaded[0] + 1))
        return DATA - 2

    @staticmethod
    def doubles(k: KernelBuilder, operation: Operation | None, loaded: list[int]) -> int:
        """One FP64 operation on the loaded doubles, or none."""
        if operation is not None:
            pairs = [register for first in loaded for register in (first, first + 1)]
            k.emit(operation, (loaded[0], loaded[0] + 1), (*pairs, RZ))
        return loaded[0]
