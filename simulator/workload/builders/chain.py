"""Element-wise work on a vector of 16 bytes a lane: the body of element-wise kernels and the epilogue of
convolutions.

Halves are widened to single precision, computed, and rounded once at the end of the chain, as compiled kernels do;
an intermediate of a fused chain is therefore more precise than one that went through memory.
"""

from dataclasses import dataclass

from hwmodels.operations import Operation

from simulator.trace.schema import TensorInfo
from simulator.workload.emit import Emitter, Flag, Pointer, Scalar
from simulator.workload.ir import Effect, Part


@dataclass(frozen=True, slots=True)
class Stage:
    """One element-wise operator of a chain.

    `kind` is `affine` (scale and shift by channel; bias has no scale), `relu`, or `add` (a second operand of the
    same layout; the same tensor twice has `other` None).
    """

    kind: str
    operator: str
    source: TensorInfo
    result: TensorInfo
    scale: TensorInfo | None = None
    shift: TensorInfo | None = None
    other: TensorInfo | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """Channel parameters of one stage in registers: a quad for every four channels."""

    scale: tuple[Part, ...]
    shift: tuple[Part, ...]


def channel_parameters(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    channel: Scalar,
    channels: int,
    lanes: int,
    flag: Flag | None = None,
) -> dict[int, Parameters]:
    """Load scale and shift of `lanes` neighbouring channels for each affine stage; fewer channels than lanes repeat."""
    found = {}
    for number, stage in enumerate(stages):
        if stage.kind != "affine":
            continue
        with emitter.working_for(stage.operator):
            rows: list[tuple[Part, ...]] = []
            for info in (stage.scale, stage.shift):
                if info is None:
                    rows.append(())
                    continue
                tensor = emitter.tensor(info)
                pointer = emitter.pointer(info.base_address, channel, 4, f"{info.name} address")
                rows.append(
                    tuple(
                        emitter.load(pointer, 4, 16 * quad % (4 * channels), flag, tensor, name=info.name)
                        for quad in range(lanes // 4)
                    )
                )
            found[number] = Parameters(rows[0], rows[1])
    return found


def load_others(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    pointers: dict[int, Pointer],
    words: int,
    offset: int,
    flag: Flag | None,
) -> dict[int, Part]:
    """Load one vector of the second operand of each addition."""
    found = {}
    for number, pointer in pointers.items():
        stage = stages[number]
        if stage.other is not None:
            with emitter.working_for(stage.operator):
                tensor = emitter.tensor(stage.other)
                found[number] = emitter.load(pointer, words, offset, flag, tensor, name=stage.other.name)
    return found


def other_pointers(emitter: Emitter, stages: tuple[Stage, ...], element: Scalar, size: int) -> dict[int, Pointer]:
    """Addresses of the second operands at an element index."""
    found = {}
    for number, stage in enumerate(stages):
        if stage.kind == "add" and stage.other is not None:
            with emitter.working_for(stage.operator):
                base = stage.other.base_address
                found[number] = emitter.pointer(base, element, size, f"{stage.other.name} address")
    return found


def apply(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    vector: Part,
    halves: bool,
    parameters: dict[int, Parameters],
    others: dict[int, Part],
) -> None:
    """Run the chain over every element of a vector register, in place."""
    for word in range(vector.words):
        if halves:
            packed_word(emitter, stages, vector, word, parameters, others)
        else:
            cell = vector[word]
            for number, stage in enumerate(stages):
                other = others[number][word] if number in others else cell
                step(emitter, stage, cell, cell, word, parameters.get(number), other)


def packed_word(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    vector: Part,
    word: int,
    parameters: dict[int, Parameters],
    others: dict[int, Part],
) -> None:
    """Two halves: widen, compute, round, put back."""
    wide = []
    first = stages[0]
    with emitter.working_for(first.operator):
        source = emitter.tensor(first.source)
        for half in range(2):
            wide.append(unpack(emitter, vector[word], half, source, "wide"))
    for number, stage in enumerate(stages):
        for half, cell in enumerate(wide):
            other = cell
            if number in others and stage.other is not None:
                with emitter.working_for(stage.operator):
                    tensor = emitter.tensor(stage.other)
                    other = unpack(emitter, others[number][word], half, tensor, "other")
            step(emitter, stage, cell, cell, 2 * word + half, parameters.get(number), other)
    with emitter.working_for(stages[-1].operator):
        emitter.op(
            Operation.CONVERT,
            Effect.PACK,
            (vector[word],),
            tuple(wide),
            dst_tensor=emitter.tensor(stages[-1].result),
        )


def unpack(emitter: Emitter, word: Part, half: int, tensor: int, name: str) -> Part:
    """One half of a word as single precision."""
    part = emitter.fresh(1, name)
    emitter.op(
        Operation.HADD2, Effect.UNPACK, (part,), (word,), (half,), dst_tensor=tensor, src_tensors=(tensor,)
    )
    return part


def step(
    emitter: Emitter,
    stage: Stage,
    cell: Part,
    result: Part,
    element: int,
    parameters: Parameters | None,
    other: Part,
) -> None:
    """One stage on one single-precision element."""
    with emitter.working_for(stage.operator):
        source, made = emitter.tensor(stage.source), emitter.tensor(stage.result)
        if stage.kind == "relu":
            emitter.op(
                Operation.ALU,
                Effect.FLOAT_MAXIMUM,
                (result,),
                (cell,),
                (0.0,),
                dst_tensor=made,
                src_tensors=(source,),
            )
        elif stage.kind == "add":
            second = source if stage.other is None else emitter.tensor(stage.other)
            emitter.op(
                Operation.FADD,
                Effect.FLOAT_ADD,
                (result,),
                (cell, other),
                dst_tensor=made,
                src_tensors=(source, second),
            )
        elif parameters is not None and stage.shift is not None:
            shift = parameters.shift[element // 4][element % 4]
            shift_id = emitter.tensor(stage.shift)
            if stage.scale is None:
                emitter.op(
                    Operation.FADD,
                    Effect.FLOAT_ADD,
                    (result,),
                    (cell, shift),
                    dst_tensor=made,
                    src_tensors=(source, shift_id),
                )
            else:
                scale = parameters.scale[element // 4][element % 4]
                emitter.op(
                    Operation.FFMA,
                    Effect.FLOAT_FUSED,
                    (result,),
                    (cell, scale, shift),
                    dst_tensor=made,
                    src_tensors=(source, emitter.tensor(stage.scale), shift_id),
                )
