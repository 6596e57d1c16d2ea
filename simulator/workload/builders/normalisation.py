"""Layer normalisation and its kind without a mean (RMS), over any axes, with scale and shift along them.

A row that fits in registers is read once: its mean, then the mean of squared distances. A longer one is read
twice: sums of distances from its first element and of their squares, which lose no digits, then the result.
"""

from dataclasses import dataclass

from hwmodels.operations import Operation
from simulator.workload.builders.row_feeds import Feed, RowProgram, Sink
from simulator.workload.builders.row_tracks import RowSpace, Track
from simulator.workload.builders.rows import Rows
from simulator.workload.builders.softmax import accumulate
from simulator.workload.builders.special_functions import reciprocal_root
from simulator.workload.emit import Flag, Scalar
from simulator.workload.ir import Effect, Kernel, Part

MOST_ELEMENTS = 16
MOST_KEPT = 32
"""Elements of a row that a thread keeps where a kernel's threads are given."""
WORDS_AHEAD = 16
"""Registers for what is loaded ahead of the result."""
READERS = 128
"""Threads for a row that is read again in any case, as PyTorch's kernel has them."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """Which of the space's tracks are what, by number: -1 where there is none. Track 0 is read."""

    result: int
    scale: int = -1
    shift: int = -1
    mean: int = -1
    deviation: int = -1
    epsilon: float = 1e-5
    centred: bool = True
    again: bool = False
    """Read the row again for the result, however short it is."""
    threads: int = 0
    """Threads that share a row, which they keep if each has at most 32 elements; 0: as fits."""


def normalisation_kernel(
    name: str,
    operator: str,
    space: RowSpace,
    what: Normalisation,
    before: RowProgram | None = None,
    behind: RowProgram | None = None,
) -> Kernel:
    """The kernel; `deviation` is written as one over the standard deviation. Programs may stand before and
    behind the row.
    """
    most, threads = MOST_ELEMENTS, 0
    if what.again:
        most, threads = 0, what.threads or READERS
    elif what.threads:
        most, threads = MOST_KEPT, what.threads
    rows = Rows(name, operator, space, most, threads=threads)
    f = rows.floats
    feed = Feed(rows, space.tracks[0], before)
    sink = Sink(rows, space.tracks[what.result], behind)
    scale, shift = track_of(space, what.scale), track_of(space, what.shift)
    held: dict[int, list[Part]] = {}
    with rows.emitter.working_for(operator):
        mean, inverse = statistics(rows, feed, held, what)
        if what.mean >= 0 and mean is not None:
            rows.store_once(space.tracks[what.mean], mean)
        if what.deviation >= 0:
            rows.store_once(space.tracks[what.deviation], inverse)

        beside: dict[int, tuple[list[Part], list[Part]]] = {}

        def fetch(place: Scalar, key: int, flag: Flag | None) -> None:
            if not rows.resident:
                feed.fetch(place, key, flag)
            beside[key] = (
                rows.load(scale, place, key, flag) if scale else [],
                rows.load(shift, place, key, flag) if shift else [],
            )

        def write(place: Scalar, key: int, flag: Flag | None, _: Flag | None) -> None:
            if key not in beside:
                fetch(place, key, flag)
            cells = held[key] if key >= 0 else feed.read(place, key, flag)
            gain_words, move_words = beside.pop(key)
            gains = rows.cells(scale, gain_words) if scale else None
            moves = rows.cells(shift, move_words) if shift else None
            made = []
            for lane, (cell, home) in enumerate(zip(cells, sink.homes(), strict=True)):
                first = home if gains is None and moves is None else None
                distance = cell if mean is None else f.subtract(cell, mean)
                value = f.multiply(distance, inverse, first)
                if gains is not None and moves is not None:
                    value = f.fused(value, gains[lane], moves[lane], home)
                elif gains is not None:
                    value = f.multiply(value, gains[lane], home)
                elif moves is not None:
                    value = f.add(value, moves[lane], home)
                made.append(value)
            sink.write(place, key, made, flag)

        rows.each_chunk(write, None if what.again else fetch, chunks_at_once(rows, scale, shift))
    return rows.finish()


def chunks_at_once(rows: Rows, *beside: Track | None) -> int:
    """Chunks whose scales and shifts, and elements where they are read again, are loaded before the first is
    used: as many as some registers hold.
    """
    tracks = [*beside] if rows.resident else [rows.space.tracks[0], *beside]
    words = sum(max(1, rows.lanes * track.item_bytes // 4) for track in tracks if track)
    return next((count for count in (4, 2) if count * words <= WORDS_AHEAD), 1)


def track_of(space: RowSpace, number: int) -> Track | None:
    """A track by number."""
    return space.tracks[number] if number >= 0 else None


def statistics(
    rows: Rows, feed: Feed, held: dict[int, list[Part]], what: Normalisation
) -> tuple[Part | None, Part]:
    """(mean, one over the standard deviation) of a row, in every thread of it."""
    f = rows.floats
    share = 1 / rows.length
    total, squares = f.constant(0.0), f.constant(0.0)
    base: Part | None = None
    if what.centred and not rows.resident:
        zero = Scalar(rows.emitter.constant(0), rows.start.index * 0)
        base = feed.read(zero, -1, rows.row_flag)[0]

    def look(place: Scalar, key: int, flag: Flag | None, counts: Flag | None) -> None:
        cells = feed.read(place, key, flag, first=True)
        only = counts.part if counts else None
        for cell in cells:
            here = f.subtract(cell, base) if base is not None else cell
            if what.centred:
                accumulate(f, Operation.FADD, Effect.FLOAT_ADD, total, here, counts)
            if not what.centred or base is not None:
                f.fused(here, here, squares, squares, only=only)
        if key >= 0:
            held[key] = cells

    rows.each_chunk(look, feed.fetch, feed.together)
    mean: Part | None = None
    if what.centred:
        average = f.multiply(rows.total(total, f.add), share)
        mean = average if base is None else f.add(average, base)
    if what.centred and rows.resident and mean is not None:
        centre = mean

        def spread(_: Scalar, key: int, __: Flag | None, counts: Flag | None) -> None:
            for cell in held[key]:
                distance = f.subtract(cell, centre)
                f.fused(distance, distance, squares, squares, only=counts.part if counts else None)

        rows.each_chunk(spread)
    variance = f.multiply(rows.total(squares, f.add), share)
    if base is not None:
        variance = f.maximum(f.fused_negated(average, average, variance), 0.0)
    return mean, reciprocal_root(f, (f.add(variance, what.epsilon),))
