"""How threads of an element-wise kernel reach memory: the width of a vector, how many a thread takes, the
addresses of every operand at an element.

Where all tensors pass one long axis alike, an address is computed once a thread and later vectors are
immediates away. Otherwise each vector finds its indices by divisions by constants.
"""

from simulator.trace.schema import TensorInfo
from simulator.workload.affine import Index
from simulator.workload.builders.axes import Reach, Space
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.floats import Floats
from simulator.workload.builders.pointwise_program import RANDOM, Pointwise
from simulator.workload.emit import Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Part
from simulator.workload.layout import VECTOR_BYTES

THREADS = 128
MOST_LANES = 8
PLAIN_VECTORS = 4
FEW_VECTORS = 2
SHORT_PROGRAM = 4
LONG_PROGRAM = 12
RANDOM_WORK = 14


def lanes_for(space: Space, program: Pointwise, wanted: int | None) -> int:
    """Elements of a vector."""
    sizes = [one.item_bytes for one in program.operands] + [one.item_bytes for one in program.results]
    moving = [size for size, reach in zip(sizes, space.reaches, strict=True) if reach.strides[-1] == 1]
    lanes = min(MOST_LANES, VECTOR_BYTES // max(moving, default=4), wanted or MOST_LANES)
    while lanes > 1 and not fits(space, lanes):
        lanes //= 2
    return lanes


def fits(space: Space, lanes: int) -> bool:
    """Whether vectors of so many elements are aligned and never cross an innermost row."""
    if len(space.extents) == 1 and all(reach.strides[-1] <= 1 for reach in space.reaches):
        return True
    return space.extents[-1] % lanes == 0 and all(
        stride % lanes == 0
        for reach in space.reaches
        if reach.strides[-1] == 1 and not reach.limits[-1]
        for stride in reach.strides[:-1]
    )


def vectors_for(space: Space, program: Pointwise, total: int, lanes: int) -> int:
    """Vectors of a thread: several where there is little to hold, one where there is little to do."""
    moving = sum(not reach.constant for reach in space.reaches[: len(program.operands)])
    vectors = PLAIN_VECTORS if moving <= 1 and len(program.results) == 1 else FEW_VECTORS
    work = instructions_an_element(program)
    if len(space.extents) > 1 or work > SHORT_PROGRAM:
        vectors = FEW_VECTORS
    if work > LONG_PROGRAM:
        # More would only be more code: a long unrolled body misses the instruction caches.
        vectors = 1
    return max(1, min(vectors, -(-total // (THREADS * lanes))))


def instructions_an_element(program: Pointwise) -> int:
    """Arithmetic instructions that an element takes, counted by writing them once."""
    emitter = Emitter("count", (1, 1, 1), THREADS)
    f = Floats(emitter)
    cell = emitter.fresh(1)
    random = 0
    for node in program.nodes:
        if node.function == RANDOM:
            random += RANDOM_WORK
        else:
            ELEMENT_FUNCTIONS[node.function].emit(f, [cell] * len(node.inputs), node.numbers, None)
    return len(emitter.bodies[0]) + random


class PointAccess:
    """Addresses of operands and results, at an element that moves from vector to vector."""

    def __init__(self, emitter: Emitter, space: Space, element: Scalar, lanes: int) -> None:
        self.emitter = emitter
        self.space = space
        self.element = element
        self.lanes = lanes
        self.here = element
        self.moved = 0
        self.indices: list[Scalar] = []
        self.pointers: dict[int, Pointer] = {}

    @property
    def linear(self) -> bool:
        """Whether one axis is all."""
        return len(self.space.extents) == 1

    def step_to(self, distance: int) -> Scalar:
        """Go to the element so far from the thread's first one; the element."""
        self.here = self.emitter.add(self.element, distance) if distance else self.element
        self.moved = distance
        if not self.linear:
            self.pointers = {}
            self.indices = self.split(self.here)
        elif not self.indices:
            self.indices = [self.element]
        return self.here

    def places(self) -> tuple[int, list[Scalar], dict[int, Pointer]]:
        """What `restore` needs to come back to this vector."""
        return self.moved, self.indices, self.pointers

    def restore(self, places: tuple[int, list[Scalar], dict[int, Pointer]]) -> None:
        """Come back to a vector."""
        self.moved, self.indices, self.pointers = places

    def split(self, value: Scalar) -> list[Scalar]:
        """The index along each axis."""
        found: list[Scalar] = []
        for extent in reversed(self.space.extents[1:]):
            whole = self.emitter.divide(value, extent)
            found.append(self.emitter.remainder(value, extent, whole))
            value = whole
        return [value, *reversed(found)]

    def pointer(self, number: int, reach: Reach, info: TensorInfo, item_bytes: int) -> Pointer:
        """The address of operand `number` at the first element of the vector; in the linear case of the
        thread.
        """
        if number in self.pointers:
            return self.pointers[number]
        name = f"{info.name} address"
        used = [
            (index, stride)
            for index, stride in zip(self.indices or [self.element], reach.strides, strict=False)
            if stride
        ]
        if not used:
            part = self.emitter.pointer(info.base_address, Scalar(self.element.part, Index()), 0, name).part
            made = Pointer(part, Index(info.base_address))
        elif len(used) == 1:
            index, stride = used[0]
            made = self.emitter.pointer(info.base_address, index, stride * item_bytes, name)
        else:
            index, stride = used[0]
            total = self.emitter.multiply_add(index, stride)
            for index, stride in used[1:]:
                if stride == 1:
                    total = self.emitter.add(total, index)
                else:
                    total = self.emitter.multiply_add(index, stride, total)
            made = self.emitter.pointer(info.base_address, total, item_bytes, name)
        self.pointers[number] = made
        return made

    def condition(self, reach: Reach, flag: Flag | None, lane: int) -> Flag | None:
        """The vector's own condition and that an operand is not passed at its padded end."""
        for index, limit in zip(self.indices, reach.limits, strict=False):
            if limit:
                at = self.emitter.add(index, lane) if lane and index is self.indices[-1] else index
                flag = self.emitter.within(at, limit, flag)
        return flag

    def load(
        self, number: int, reach: Reach, info: TensorInfo, item_bytes: int, tensor: int, flag: Flag | None
    ) -> list[Part]:
        """One group for the vector; one register for each element where the operand is not contiguous."""
        pointer = self.pointer(number, reach, info, item_bytes)
        stride = reach.strides[-1]
        step = self.moved * stride * item_bytes if self.linear else 0
        limited = any(reach.limits)
        if stride == 1 and not reach.limits[-1]:
            flag = self.condition(reach, flag, 0) if limited else flag
            width = self.lanes * item_bytes
            into = self.emitter.constant(0, info.name, max(1, width // 4)) if limited else None
            words = max(1, width // 4)
            return [self.emitter.load(pointer, words, step, flag, tensor, into, width, info.name)]
        found = []
        for lane in range(self.lanes if stride else 1):
            into = self.emitter.constant(0, info.name) if limited else None
            here = self.condition(reach, flag, lane) if limited else flag
            offset = step + lane * stride * item_bytes
            found.append(self.emitter.load(pointer, 1, offset, here, tensor, into, item_bytes, info.name))
        return found

    def store(
        self,
        number: int,
        reach: Reach,
        info: TensorInfo,
        item_bytes: int,
        group: Part,
        tensor: int,
        flag: Flag | None,
    ) -> None:
        """Write one vector."""
        pointer = self.pointer(number, reach, info, item_bytes)
        step = self.moved * item_bytes if self.linear else 0
        self.emitter.store(pointer, group, step, flag, tensor, self.lanes * item_bytes)
