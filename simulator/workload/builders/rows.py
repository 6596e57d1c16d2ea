"""The frame of kernels that work on rows: a warp or a block for each row, vectors along it, sums and maxima
of a row by shuffles and shared memory.

A row that fits stays in registers between passes; a longer one is read again in each pass, by a loop. Lanes
beyond a row's end take no part in sums. Rows beyond the last are computed on garbage and not written.
"""

from collections.abc import Callable, Sequence
from math import prod

from simulator.workload.affine import Index
from simulator.workload.builders.cells import packed, widened
from simulator.workload.builders.floats import Floats
from simulator.workload.builders.row_tracks import RowSpace, Track
from simulator.workload.emit import Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Kernel, Part, Special
from simulator.workload.layout import VECTOR_BYTES

WARP = 32
WARPS_A_BLOCK = 4
BLOCKS = (128, 256, 512, 1024)
MOST_ELEMENTS = 32
TOGETHER = 4
Combine = Callable[[Part, Part], Part]
Fetch = Callable[[Scalar, int, Flag | None], None]
Visit = Callable[[Scalar, int, Flag | None, Flag | None], None]


class Rows:
    """A kernel over rows under construction. Up to `most` elements of a row stay in a thread's registers;
    `segments` blocks may share a row where they only sum it; `threads` work on a row, 0: as fits.
    """

    def __init__(
        self,
        name: str,
        operator: str,
        space: RowSpace,
        most: int = MOST_ELEMENTS,
        segments: int = 1,
        threads: int = 0,
    ) -> None:
        self.space = space
        self.operator = operator
        self.most = most
        self.rows, self.length = prod(space.kept), prod(space.along)
        self.segments = segments
        self.lanes = self.vector_lanes()
        share = -(-self.length // segments)
        self.group, self.threads = (threads, threads) if threads else self.team(share)
        self.width = self.group * self.lanes
        self.chunks = -(-share // self.width)
        self.resident = self.chunks * self.lanes <= most
        if not self.resident:
            # Whole turns of a loop, so that no segment reaches into the next one.
            self.chunks = -(-self.chunks // TOGETHER) * TOGETHER
        self.piece = self.chunks * self.width
        rows_a_block = self.threads // self.group
        blocks = -(-self.rows // rows_a_block)
        self.emitter = Emitter(name, (blocks, segments, 1), self.threads)
        self.floats = Floats(self.emitter)
        self.shared_bytes = 0
        self.row_offsets: dict[tuple[int, ...], Scalar | None] = {}
        self.pointers: dict[tuple[str, int], Pointer] = {}
        with self.emitter.working_for(operator):
            self.begin(rows_a_block)

    def vector_lanes(self) -> int:
        """Elements of a vector: 16 bytes of the widest tensor, if rows start and end on such bounds."""
        moving = [track for track in self.space.tracks if track.along[-1] == 1]
        lanes = VECTOR_BYTES // max((track.item_bytes for track in moving), default=VECTOR_BYTES)
        while lanes > 1 and (
            self.space.along[-1] % lanes
            or any(
                stride % lanes
                for track in moving
                for stride in (*track.along[:-1], *(track.kept if self.rows > 1 else ()))
            )
        ):
            lanes //= 2
        return lanes

    def team(self, share: int) -> tuple[int, int]:
        """(threads for a row or a share of it, threads of a block)."""
        if share <= WARP * self.most:
            return WARP, WARP * min(WARPS_A_BLOCK, self.rows)
        threads = next((size for size in BLOCKS if share <= size * self.most // 2), BLOCKS[-1])
        return threads, threads

    def begin(self, rows_a_block: int) -> None:
        """Find the thread's row and its first element there."""
        emitter = self.emitter
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        self.lane = emitter.remainder(thread, WARP, name="lane")
        self.warp = emitter.divide(thread, WARP, "warp")
        self.row = block
        if rows_a_block > 1:
            self.row = emitter.multiply_add(block, rows_a_block, self.warp, "row")
        member = self.lane if self.group == WARP else thread
        many = rows_a_block > 1 and self.rows % rows_a_block
        self.row_flag = emitter.within(self.row, self.rows) if many else None
        self.start = emitter.multiply_add(member, self.lanes, name="place in row")
        self.number = self.row
        if self.segments > 1:
            segment = emitter.special(Special.BLOCK_Y)
            self.start = emitter.multiply_add(segment, self.piece, self.start, "place in row")
            self.number = emitter.multiply_add(self.row, self.segments, segment, "number")
        self.first = emitter.within(member, 1, self.row_flag)

    def offset(self, index: Scalar, extents: tuple[int, ...], strides: tuple[int, ...]) -> Scalar | None:
        """The element offset of an index over several axes; None where it stays at 0."""
        total: Scalar | None = None
        for axis in range(len(extents) - 1, -1, -1):
            here = index
            if axis:
                whole = self.emitter.divide(index, extents[axis])
                here = self.emitter.remainder(index, extents[axis], whole)
                index = whole
            if not strides[axis]:
                continue
            if total is None:
                total = here if strides[axis] == 1 else self.emitter.multiply_add(here, strides[axis])
            else:
                total = self.emitter.multiply_add(here, strides[axis], total)
        return total

    def pointer(self, track: Track, place: Scalar, key: int) -> Pointer:
        """The address of a tensor at a place in the thread's row; remembered under a key that is not -1."""
        if (track.info.name, key) in self.pointers:
            return self.pointers[track.info.name, key]
        if track.kept not in self.row_offsets:
            self.row_offsets[track.kept] = self.offset(self.row, self.space.kept, track.kept)
        up = self.row_offsets[track.kept]
        right = self.offset(place, self.space.along, track.along)
        total = self.emitter.add(up, right) if up and right else up or right
        base, name = track.info.base_address, f"{track.info.name} address"
        if total is None:
            part = self.emitter.pointer(base, Scalar(self.row.part, Index()), 0, name).part
            made = Pointer(part, Index(base))
        else:
            made = self.emitter.pointer(base, total, track.item_bytes, name)
        if key >= 0:
            self.pointers[track.info.name, key] = made
        return made

    def element(self, place: Scalar) -> Scalar:
        """The number of the element at a place of the thread's row, in the main tensor."""
        track = self.space.tracks[0]
        self.prepare([track])
        up, right = self.row_offsets[track.kept], self.offset(place, self.space.along, track.along)
        found = self.emitter.add(up, right, "element") if up and right else up or right
        return found if found is not None else Scalar(self.emitter.constant(0, "element"), Index())

    def prepare(self, tracks: Sequence[Track]) -> None:
        """Find row offsets before any loop, so that the loops only add to them."""
        for track in tracks:
            if track.kept not in self.row_offsets:
                self.row_offsets[track.kept] = self.offset(self.row, self.space.kept, track.kept)

    def each_chunk(self, visit: Visit, fetch: Fetch | None = None, together: int = TOGETHER) -> None:
        """Call `visit(place, key, load flag, sum flag)` for each chunk of the row: the first flag switches
        memory accesses, the second what must not count (None: nothing). The key of a chunk in a loop is
        negative. `fetch(place, key, load flag)` comes before, for `together` chunks at once (in a loop 1, 2
        or 4), so that their loads overlap.
        """
        together = together if fetch is not None else 1
        with self.emitter.working_for(self.operator):
            if self.resident:
                for start in range(0, self.chunks, together):
                    self.some_chunks(
                        self.start, range(start, min(start + together, self.chunks)), visit, fetch
                    )
                return
            self.prepare(self.space.tracks)
            turns = -(-self.chunks // together)
            with self.emitter.repeat(turns) as turn:
                place = self.emitter.multiply_add(turn, together * self.width, self.start, "place")
                self.some_chunks(place, range(-together, 0), visit, fetch)

    def some_chunks(self, start: Scalar, keys: range, visit: Visit, fetch: Fetch | None) -> None:
        """Fetch some chunks, then visit them; negative keys count from the place in a loop."""
        ready = []
        for number, key in enumerate(keys):
            step = (number if key < 0 else key) * self.width
            place = self.emitter.add(start, step) if step else start
            load_flag, sum_flag = self.flags(place, self.chunks - 1 if key < 0 else key)
            ready.append((place, key, load_flag, sum_flag))
            if fetch is not None:
                fetch(place, key, load_flag)
        for place, key, load_flag, sum_flag in ready:
            visit(place, key, load_flag, sum_flag)

    def flags(self, place: Scalar, chunk: int) -> tuple[Flag | None, Flag | None]:
        """(load flag, sum flag) of a chunk; where a row is shared, any chunk may lie beyond its end."""
        exact = self.piece * self.segments == self.length
        if exact or (self.segments == 1 and chunk < self.chunks - 1):
            return self.row_flag, None
        flag = self.emitter.within(place, self.length, self.row_flag)
        return flag, flag

    def load(self, track: Track, place: Scalar, key: int, flag: Flag | None) -> list[Part]:
        """A chunk: one group, or one register an element where the tensor does not lie along the row."""
        tensor = self.emitter.tensor(track.info)
        stride, linear = track.along[-1], len(self.space.along) == 1 and key >= 0
        step = key * self.width * stride * track.item_bytes if linear else 0
        pointer = self.pointer(track, self.start if linear else place, 0 if linear else key)
        name = track.info.name
        if stride == 1:
            width = self.lanes * track.item_bytes
            words = max(1, width // 4)
            return [self.emitter.load(pointer, words, step, flag, tensor, None, width, name)]
        return [
            self.emitter.load(
                pointer,
                1,
                step + lane * stride * track.item_bytes,
                flag,
                tensor,
                None,
                track.item_bytes,
                name,
            )
            for lane in range(self.lanes if stride else 1)
        ]

    def cells(self, track: Track, words: list[Part]) -> list[Part]:
        """The elements of a chunk in single precision."""
        tensor = self.emitter.tensor(track.info)
        if len(words) == 1 and track.along[-1] == 1:
            return [widened(self.floats, words[0], lane, track.dtype, tensor) for lane in range(self.lanes)]
        found = [widened(self.floats, word, 0, track.dtype, tensor) for word in words]
        return found * self.lanes if len(found) == 1 else found

    def store(self, track: Track, place: Scalar, key: int, cells: list[Part], flag: Flag | None) -> None:
        """Write a chunk of a tensor that lies along the row, or element by element."""
        tensor = self.emitter.tensor(track.info)
        stride, linear = track.along[-1], len(self.space.along) == 1 and key >= 0
        step = key * self.width * stride * track.item_bytes if linear else 0
        pointer = self.pointer(track, self.start if linear else place, 0 if linear else key)
        if stride == 1:
            self.vector_store(track, pointer, cells, step, flag, tensor)
            return
        for lane, cell in enumerate(cells):
            offset = step + lane * stride * track.item_bytes
            self.vector_store(track, pointer, [cell], offset, flag, tensor)

    def homes(self, track: Track) -> list[Part] | list[None]:
        """Where the elements of a chunk should be computed so that one store writes them."""
        if track.dtype == "float32" and track.along[-1] == 1:
            group = self.emitter.fresh(self.lanes, track.info.name)
            return [group[lane] for lane in range(self.lanes)]
        return [None] * self.lanes

    def vector_store(
        self, track: Track, pointer: Pointer, cells: list[Part], offset: int, flag: Flag | None, tensor: int
    ) -> None:
        """Round, pack and write neighbouring elements."""
        width = len(cells) * track.item_bytes
        if track.dtype == "float32" and len(cells) == 1:
            self.emitter.store(pointer, cells[0], offset, flag, tensor)
            return
        if track.dtype == "float32":
            group = Part(cells[0].virtual, 0, len(cells))
        else:
            group = self.emitter.fresh(max(1, width // 4), track.info.name)
            packed(self.floats, cells, track.dtype, group)
        self.emitter.store(pointer, group, offset, flag, tensor, width)

    def store_once(self, track: Track, value: Part) -> None:
        """Write one number for the row, by the row's first thread."""
        pointer = self.pointer(track, self.start, 0)
        self.vector_store(track, pointer, [value], 0, self.first, self.emitter.tensor(track.info))

    def finish(self, notes: tuple[tuple[str, str], ...] = ()) -> Kernel:
        """The whole kernel."""
        return self.emitter.finish(self.shared_bytes, notes)

    def total(self, value: Part, combine: Combine) -> Part:
        """The sum (or another combination) of a value over the threads of a row, in every thread."""
        for distance in (16, 8, 4, 2, 1):
            value = combine(value, self.emitter.shuffle_xor(value, distance))
        warps = self.group // WARP
        if warps == 1:
            return value
        base = self.shared_bytes
        self.shared_bytes += 4 * warps
        leader = self.emitter.within(self.lane, 1)
        self.emitter.store(self.emitter.multiply_add(self.warp, 4, base), value, flag=leader)
        self.emitter.barrier()
        column = self.emitter.remainder(self.lane, warps)
        value = self.emitter.load(self.emitter.multiply_add(column, 4, base), 1)
        distance = warps // 2
        while distance:
            value = combine(value, self.emitter.shuffle_xor(value, distance))
            distance //= 2
        return value
