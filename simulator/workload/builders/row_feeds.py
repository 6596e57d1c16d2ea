"""What feeds a kernel on rows and what becomes of its results: tensors as they are, or element-wise programs
before and behind, computed where the row's elements stand in registers.

A value of the program before the row that others need is written in the first pass; a row that is read again
computes it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.pointwise_program import RANDOM, Node, Pointwise
from simulator.workload.builders.pointwise_values import PHILOX_WORDS
from simulator.workload.builders.random_numbers import philox, unit_interval
from simulator.workload.builders.row_tracks import Strip, Track
from simulator.workload.builders.rows import TOGETHER, Rows
from simulator.workload.emit import Flag, Scalar
from simulator.workload.ir import Part


@dataclass(frozen=True, slots=True)
class RowProgram:
    """An element-wise program whose tensors are tracks of the row space, by number. Before a row, `value` is
    what the row is made of; behind it, operand `value` is the row's result and has no track (-1).
    """

    program: Pointwise
    operands: tuple[int, ...]
    results: tuple[int, ...]
    value: int

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The element functions."""
        return self.program.nodes


def strips_of(program: Pointwise) -> list[Strip]:
    """The operands, then the results, as strips beside the rows."""
    found = [Strip(one.info, one.layout, one.axes) for one in program.operands]
    found += [Strip(one.info, one.layout, tuple(range(len(one.layout.shape)))) for one in program.results]
    return found


def evaluate(
    rows: Rows,
    nodes: Sequence[Node],
    values: list[Part],
    homes: dict[int, Part],
    chances: dict[int, Part] | None = None,
) -> list[Part]:
    """Every value of a program for one element; `homes` says where some must stand, `chances` are the random
    numbers of this element.
    """
    first = len(values)
    for number, node in enumerate(nodes, first):
        with rows.emitter.working_for(node.operator):
            if node.function == RANDOM:
                assert chances is not None, "random numbers stand before a row only"
                values.append(chances[number])
                continue
            src = [values[one] for one in node.inputs]
            emit = ELEMENT_FUNCTIONS[node.function].emit
            values.append(emit(rows.floats, src, node.numbers, homes.get(number)))
    return values


class Chances:
    """Random numbers for the elements of a chunk, counted by their place in the row's own tensor: four to a
    counter where vectors have four elements, else one, as in kernels of element-wise operators.
    """

    def __init__(self, rows: Rows, program: RowProgram, place: Scalar) -> None:
        self.rows = rows
        self.program = program
        self.together = PHILOX_WORDS if rows.lanes >= PHILOX_WORDS else 1
        self.words: dict[int, tuple[Part, ...]] = {}
        self.numbers = [
            len(program.operands) + at for at, node in enumerate(program.nodes) if node.function == RANDOM
        ]
        self.element = rows.element(place) if self.numbers else place

    def of(self, lane: int) -> dict[int, Part]:
        """The random numbers of one element, by value."""
        emitter, found = self.rows.emitter, {}
        for number in self.numbers:
            with emitter.working_for(self.program.nodes[number - len(self.program.operands)].operator):
                if lane % self.together == 0:
                    here = emitter.add(self.element, lane) if lane else self.element
                    counter = emitter.divide(here, self.together)
                    self.words[number] = philox(self.rows.floats, counter.part, self.program.program.seed)
                found[number] = unit_interval(self.rows.floats, self.words[number][lane % self.together])
        return found


class Feed:
    """The elements of rows: of a tensor, or of a program's value."""

    def __init__(self, rows: Rows, track: Track, before: RowProgram | None) -> None:
        self.rows = rows
        self.track = track
        self.before = before
        self.fetched: dict[int, list[list[Part]]] = {}

    def fetch(self, place: Scalar, key: int, flag: Flag | None) -> None:
        """Load a chunk that `read` will want."""
        self.fetched[key] = self.load(place, key, flag)

    @property
    def together(self) -> int:
        """Chunks to fetch at once: a whole row whose words stay in registers as they come, else some."""
        stays = self.rows.resident and self.before is None and self.track.dtype == "float32"
        return self.rows.chunks if stays else TOGETHER

    def load(self, place: Scalar, key: int, flag: Flag | None) -> list[list[Part]]:
        """The words of a chunk of every tensor that is read."""
        tracks = self.rows.space.tracks
        sources = [self.track] if self.before is None else [tracks[one] for one in self.before.operands]
        return [self.rows.load(track, place, key, flag) for track in sources]

    def read(self, place: Scalar, key: int, flag: Flag | None, *, first: bool = False) -> list[Part]:
        """A chunk in single precision; the first pass also writes what others need."""
        rows = self.rows
        loaded = self.fetched.pop(key, None) or self.load(place, key, flag)
        if self.before is None:
            return rows.cells(self.track, loaded[0])
        tracks = rows.space.tracks
        operands = [tracks[number] for number in self.before.operands]
        columns = [rows.cells(track, words) for track, words in zip(operands, loaded, strict=True)]
        homes = sinks(rows, self.before) if first else {}
        chances = Chances(rows, self.before, place)
        made = [
            evaluate(
                rows,
                self.before.nodes,
                [column[lane] for column in columns],
                {value: parts[lane] for value, parts in homes.items()},
                chances.of(lane),
            )
            for lane in range(rows.lanes)
        ]
        if first:
            write_results(rows, self.before, made, place, key, flag)
        return [values[self.before.value] for values in made]


class Sink:
    """Where results of rows go: to a tensor, or through a program."""

    def __init__(self, rows: Rows, track: Track, behind: RowProgram | None) -> None:
        self.rows = rows
        self.track = track
        self.behind = behind

    def homes(self) -> list[Part] | list[None]:
        """Where the row's results should be computed."""
        return self.rows.homes(self.track) if self.behind is None else [None] * self.rows.lanes

    def write(self, place: Scalar, key: int, cells: list[Part], flag: Flag | None) -> None:
        """Write a chunk."""
        rows = self.rows
        if self.behind is None:
            rows.store(self.track, place, key, cells, flag)
            return
        columns: list[list[Part]] = []
        for number in self.behind.operands:
            if number < 0:
                columns.append(cells)
                continue
            track = rows.space.tracks[number]
            columns.append(rows.cells(track, rows.load(track, place, key, flag)))
        homes = sinks(rows, self.behind)
        made = [
            evaluate(
                rows,
                self.behind.nodes,
                [column[lane] for column in columns],
                {value: parts[lane] for value, parts in homes.items()},
            )
            for lane in range(rows.lanes)
        ]
        write_results(rows, self.behind, made, place, key, flag)


def sinks(rows: Rows, program: RowProgram) -> dict[int, list[Part]]:
    """Register groups for the single-precision values that are written."""
    found = {}
    for result, number in zip(program.program.results, program.results, strict=True):
        homes = rows.homes(rows.space.tracks[number])
        parts = [home for home in homes if home is not None]
        if parts:
            found[result.value] = parts
    return found


def write_results(
    rows: Rows, program: RowProgram, made: list[list[Part]], place: Scalar, key: int, flag: Flag | None
) -> None:
    """Write every result of a program for a chunk."""
    for result, number in zip(program.program.results, program.results, strict=True):
        with rows.emitter.working_for(result.operator):
            cells = [values[result.value] for values in made]
            rows.store(rows.space.tracks[number], place, key, cells, flag)
