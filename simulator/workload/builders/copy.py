"""A kernel for data movement of any regular kind: each thread takes some positions of the walk, the widest
vector that all tensors allow, and reads and writes it where the digits say.

All loads of a thread are issued before its first store. Uncoalesced patterns show in the sectors of the
trace; the tiled transposition is the other builder for them.
"""

from hwmodels.errors import InputError
from simulator.trace.schema import TensorInfo
from simulator.workload.builders.copying import Copying, Piece
from simulator.workload.builders.digits import combined, condition_flag, digits_of
from simulator.workload.emit import INDEX_LIMIT, Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Kernel, Part, Special

THREADS = 128
POSITIONS = 2


def copy_kernel(
    name: str, operator: str, copying: Copying, notes: tuple[tuple[str, str], ...] = ()
) -> Kernel:
    """The program of a copy."""
    simple = copying.simplified()
    lanes = simple.lanes()
    walk = simple.in_vectors(lanes)
    total = walk.elements
    if max(total * lanes, *(span(piece, walk) for piece in walk.pieces)) >= INDEX_LIMIT:
        raise InputError(name, f"{total * lanes} elements exceed 32-bit indices", "use a smaller batch")
    positions = POSITIONS if total > THREADS else 1
    width = THREADS * positions
    emitter = Emitter(name, (-(-total // width), 1, 1), THREADS)
    with emitter.working_for(operator):
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        first = emitter.multiply_add(block, width, thread, "position")
        moves = []
        for number in range(positions):
            index = emitter.add(first, number * THREADS, "position") if number else first
            moves.append(Move(emitter, walk, index, lanes, tail=total % width != 0))
        for move in moves:
            move.load()
        for move in moves:
            move.store()
    return emitter.finish(notes=notes)


def span(piece: Piece, walk: Copying) -> int:
    """The greatest distance from a tensor's start, whether the conditions allow it or not."""
    reach = sum(
        abs(stride) * (extent - 1) for stride, extent in zip(piece.strides, walk.extents, strict=True)
    )
    return abs(piece.offset) + reach


class Move:
    """One position of one thread: its digits, its value."""

    def __init__(self, emitter: Emitter, walk: Copying, index: Scalar, lanes: int, *, tail: bool) -> None:
        self.emitter = emitter
        self.walk = walk
        self.index = index
        self.bytes = lanes * walk.item_bytes
        self.inside: Flag | None = emitter.within(index, walk.elements) if tail else None
        self.value: Part | None = None
        used = [False] * len(walk.extents)
        for piece in walk.pieces:
            rows = [condition.steps for condition in piece.conditions]
            if piece.strides != self.straight:
                rows.append(piece.strides)
            used = [old or any(row[place] for row in rows) for place, old in enumerate(used)]
        self.digits = digits_of(emitter, index, walk.extents, used)

    @property
    def straight(self) -> tuple[int, ...]:
        """Strides of a tensor in the order of the walk."""
        lanes = self.bytes // self.walk.item_bytes
        return tuple(lanes * stride for stride in self.walk.contiguous)

    def pointer(self, piece: Piece) -> Pointer:
        """The address of this position in a tensor."""
        info, size = piece.info, self.walk.item_bytes
        if piece.strides == self.straight:
            base = info.base_address + piece.offset * size
            return self.emitter.pointer(base, self.index, self.bytes, f"{info.name} address")
        element = combined(self.emitter, self.digits, piece.strides, piece.offset, f"{info.name} element")
        return self.emitter.pointer(info.base_address, element, size, f"{info.name} address")

    def load(self) -> None:
        """The value from whichever source has it, else the fill."""
        words = max(1, self.bytes // 4)
        sources = self.walk.sources
        if self.walk.fill is not None and all(piece.conditions for piece in sources):
            self.value = self.emitter.constant(self.walk.fill, "value", words)
        for piece in sources:
            flag = condition_flag(self.emitter, self.digits, piece.conditions, self.inside)
            self.value = self.emitter.load(
                self.pointer(piece),
                words,
                flag=flag,
                tensor=self.tensor(piece.info),
                into=self.value,
                width=self.bytes,
                name=piece.info.name,
            )

    def store(self) -> None:
        """The value to every target that has a place for it."""
        if self.value is None:
            raise InputError("copy", "has no source", "give at least one")
        for piece in self.walk.targets:
            flag = condition_flag(self.emitter, self.digits, piece.conditions, self.inside)
            pointer = self.pointer(piece)
            self.emitter.store(
                pointer, self.value, flag=flag, tensor=self.tensor(piece.info), width=self.bytes
            )

    def tensor(self, info: TensorInfo) -> int:
        """The id of a tensor."""
        return self.emitter.tensor(info)
