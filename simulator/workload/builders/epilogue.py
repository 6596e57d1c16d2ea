"""The end of a tiled product: from the shared output tile to global memory through a chain of element-wise
operators, a vector of neighbouring columns a lane and pass.

Several passes are in flight at once, so that their loads overlap. Where the columns do not divide into whole
vectors, narrower ones are used, down to one element. Values inside the chain that somebody else reads are
stored on the way; the chain goes on from what was stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.chain import (
    Parameters,
    Stage,
    channel_parameters,
    load_others,
    other_pointers,
)
from simulator.workload.builders.chain_arithmetic import apply
from simulator.workload.builders.geometry import COLUMNS, THREADS, Tile, out_pitch
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.ir import Part

Given = TypeVar("Given")
PASSES_AT_ONCE = 4
QUAD = 4


@dataclass(frozen=True, slots=True)
class Sheet:
    """The output matrix of a block: rows × columns elements, `pitch` elements from row to row, vectors of
    `lanes` elements; `base` is the element where it starts,
    `first_column` where its columns start among those that have parameters.
    """

    rows: int
    columns: int
    pitch: int
    element_bytes: int
    lanes: int
    base: Scalar | None = None
    first_column: Scalar | None = None

    @property
    def width(self) -> int:
        """Bytes of a vector."""
        return self.lanes * self.element_bytes

    @property
    def words(self) -> int:
        """Registers of a vector."""
        return -(-self.width // 4)


@dataclass(frozen=True, slots=True)
class Run:
    """Stages from `first` up to, not including, `last`, and the value that is stored behind them."""

    first: int
    last: int
    value: TensorInfo
    operator: str

    def own(self, of_stages: dict[int, Given]) -> dict[int, Given]:
        """What belongs to these stages, counted from the first of them."""
        return {at - self.first: one for at, one in of_stages.items() if self.first <= at < self.last}


def runs_of(
    operator: str, result: TensorInfo, stages: tuple[Stage, ...], kept: frozenset[str]
) -> Iterator[Run]:
    """The chain in runs that end where a value is stored: those `kept` by name, and the last one."""
    first = 0
    if stages and result.name in kept:
        yield Run(0, 0, result, operator)
    for at, stage in enumerate(stages[:-1], start=1):
        if stage.result.name in kept:
            yield Run(first, at, stage.result, stage.operator)
            first = at
    value, owner = (stages[-1].result, stages[-1].operator) if stages else (result, operator)
    yield Run(first, len(stages), value, owner)


def epilogue(
    emitter: Emitter,
    operator: str,
    sheet: Sheet,
    tile: Tile,
    place: tuple[Scalar, Scalar, Scalar],
    result: TensorInfo,
    stages: tuple[Stage, ...],
    kept: frozenset[str] = frozenset(),
) -> None:
    """Apply `stages` to the tile at (thread, row block, column block) and store it, with the values inside
    that are `kept` by name.
    """
    thread, row_block, column_block = place
    size, pitch, lanes = sheet.element_bytes, out_pitch(sheet.element_bytes), sheet.lanes
    chunks = COLUMNS // lanes
    rows_a_pass = THREADS // chunks
    runs = list(runs_of(operator, result, stages, kept))
    with emitter.working_for(operator):
        chunk = emitter.remainder(thread, chunks, name="chunk")
        row = emitter.divide(thread, chunks, "row")
        shared = emitter.multiply_add(row, pitch, emitter.multiply_add(chunk, sheet.width), "output place")
        column = emitter.multiply_add(column_block, COLUMNS, emitter.multiply_add(chunk, lanes), "channel")
        line = emitter.multiply_add(row_block, tile.rows, row, "pixel")
        start = column if sheet.base is None else emitter.add(column, sheet.base)
        element = emitter.multiply_add(line, sheet.pitch, start, "element")
        outs = [
            emitter.pointer(run.value.base_address, element, size, f"{run.value.name} address")
            for run in runs
        ]
        inside = emitter.within(column, sheet.columns) if sheet.columns % COLUMNS else None
        result_id = emitter.tensor(result)
        ids = [emitter.tensor(run.value) for run in runs]
        channel = column if sheet.first_column is None else emitter.add(column, sheet.first_column)
    parameters = parameters_for(emitter, stages, channel, sheet, inside)
    pointers = other_pointers(emitter, stages, element, size)
    passes = range(0, tile.rows, rows_a_pass)
    for first in range(0, len(passes), PASSES_AT_ONCE):
        batch = []
        for step in passes[first : first + PASSES_AT_ONCE]:
            flag: Flag | None = inside
            with emitter.working_for(operator):
                if sheet.rows % tile.rows:
                    flag = emitter.within(emitter.add(line, step) if step else line, sheet.rows, inside)
                vector = emitter.load(
                    shared, sheet.words, step * pitch, tensor=result_id, width=sheet.width, name=result.name
                )
            offset = size * sheet.pitch * step
            others = load_others(emitter, stages, pointers, sheet.words, offset, flag, sheet.width)
            batch.append((vector, others, offset, flag))
        for vector, others, offset, flag in batch:
            for run, out, tensor in zip(runs, outs, ids, strict=True):
                if run.first < run.last:
                    part = stages[run.first : run.last]
                    apply(emitter, part, vector, size == 2, run.own(parameters), run.own(others))
                with emitter.working_for(run.operator):
                    emitter.store(out, vector, offset, flag, tensor, width=sheet.width)


def parameters_for(
    emitter: Emitter, stages: tuple[Stage, ...], column: Scalar, sheet: Sheet, inside: Flag | None
) -> dict[int, Parameters]:
    """Scale and shift of a vector's columns; narrow vectors fill a part of a quad."""
    if sheet.lanes >= QUAD:
        return channel_parameters(emitter, stages, column, sheet.columns, sheet.lanes, inside)
    found = {}
    for number, stage in enumerate(stages):
        if stage.kind != "affine":
            continue
        rows: list[tuple[Part, ...]] = []
        with emitter.working_for(stage.operator):
            for info in (stage.scale, stage.shift):
                if info is None:
                    rows.append(())
                    continue
                pointer = emitter.pointer(info.base_address, column, 4, f"{info.name} address")
                quad = emitter.fresh(QUAD, info.name)
                tensor = emitter.tensor(info)
                emitter.load(pointer, sheet.lanes, 0, inside, tensor, into=quad.cut(0, sheet.lanes))
                rows.append((quad,))
        found[number] = Parameters(rows[0], rows[1])
    return found
