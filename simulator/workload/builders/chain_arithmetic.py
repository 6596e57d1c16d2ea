"""The arithmetic of an element-wise chain on one vector register.

Halves are widened to single precision, computed, and rounded once at the end of the chain, as compiled
kernels do; an intermediate of a fused chain is therefore more precise than one that went through memory.
"""

from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.workload.builders.chain import Parameters, Stage
from simulator.workload.builders.element_functions import ELEMENT_FUNCTIONS
from simulator.workload.builders.floats import Floats
from simulator.workload.emit import Emitter
from simulator.workload.ir import Effect, Part

READS_AGAIN = frozenset({"logarithm", "reciprocal", "root"})


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
            packed_word(emitter, stages, vector[word], word, parameters, others)
        else:
            single_word(emitter, stages, vector[word], word, parameters, others)


def single_word(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    cell: Part,
    word: int,
    parameters: dict[int, Parameters],
    others: dict[int, Part],
) -> None:
    """One single-precision element, computed where it stands."""
    for number, stage in enumerate(stages):
        source = emitter.tensor(stage.source)
        second = (cell, source)
        if number in others and stage.other is not None:
            second = (others[number][word], emitter.tensor(stage.other))
        step(emitter, stage, (cell, source), second, word, parameters.get(number))


def packed_word(
    emitter: Emitter,
    stages: tuple[Stage, ...],
    packed: Part,
    word: int,
    parameters: dict[int, Parameters],
    others: dict[int, Part],
) -> None:
    """Two halves: widen, compute, round, put back. Widening is what consumes a loaded tensor, so the
    arithmetic on a value that was just widened names no tensor again.
    """
    with emitter.working_for(stages[0].operator):
        source = emitter.tensor(stages[0].source)
        wide = [unpack(emitter, packed, half, source, "wide") for half in range(2)]
    for number, stage in enumerate(stages):
        source = emitter.tensor(stage.source) if number else -1
        for half, cell in enumerate(wide):
            second = (cell, source)
            if number in others and stage.other is not None:
                with emitter.working_for(stage.operator):
                    other = emitter.tensor(stage.other)
                    second = (unpack(emitter, others[number][word], half, other, "other"), -1)
            step(emitter, stage, (cell, source), second, 2 * word + half, parameters.get(number))
    with emitter.working_for(stages[-1].operator):
        result = emitter.tensor(stages[-1].result)
        emitter.op(Operation.CONVERT, Effect.PACK, (packed,), tuple(wide), dst_tensor=result)


def unpack(emitter: Emitter, word: Part, half: int, tensor: int, name: str) -> Part:
    """One half of a word as single precision."""
    part = emitter.fresh(1, name)
    emitter.op(Operation.HADD2, Effect.UNPACK, (part,), (word,), (half,), src_tensors=(tensor,))
    return part


def step(
    emitter: Emitter,
    stage: Stage,
    value: tuple[Part, int],
    second: tuple[Part, int],
    element: int,
    parameters: Parameters | None,
) -> None:
    """One stage on one single-precision element, in place; operands come with the tensor that they are read
    from.
    """
    cell, source = value
    with emitter.working_for(stage.operator):
        made = emitter.tensor(stage.result)
        if stage.kind == "function":
            function_step(emitter, stage, cell, source)
            return
        if stage.kind == "relu":
            numbers: tuple[float, ...] = (0.0,)
            operation, effect = Operation.ALU, Effect.FLOAT_MAXIMUM
            operands: list[tuple[Part, int]] = []
        elif stage.kind == "add":
            operation, effect, numbers = Operation.FADD, Effect.FLOAT_ADD, ()
            operands = [second]
        else:
            operation, effect, numbers, operands = affine_step(emitter, stage, element, parameters)
        emitter.op(
            operation,
            effect,
            (cell,),
            (cell, *(part for part, _ in operands)),
            numbers,
            dst_tensor=made,
            src_tensors=(source, *(tensor for _, tensor in operands)),
        )


def function_step(emitter: Emitter, stage: Stage, cell: Part, source: int) -> None:
    """An element function in place; one that reads its operand again after its first result gets a copy."""
    floats, operand = Floats(emitter), cell
    if stage.function in READS_AGAIN:
        operand = emitter.fresh(1, "operand")
        emitter.op(Operation.MOVE, Effect.COPY, (operand,), (cell,))
    floats.sources[operand] = source
    ELEMENT_FUNCTIONS[stage.function].emit(floats, [operand], stage.numbers, cell)


def affine_step(
    emitter: Emitter, stage: Stage, element: int, parameters: Parameters | None
) -> tuple[Operation, Effect, tuple[float, ...], list[tuple[Part, int]]]:
    """Scale and shift, or a shift alone, with this element's channel parameters."""
    if parameters is None or stage.shift is None:
        raise InputError(stage.operator, "an affine stage lacks its shift", "give channel parameters")
    shift = (parameters.shift[element // 4][element % 4], emitter.tensor(stage.shift))
    if stage.scale is None:
        return Operation.FADD, Effect.FLOAT_ADD, (), [shift]
    scale = (parameters.scale[element // 4][element % 4], emitter.tensor(stage.scale))
    return Operation.FFMA, Effect.FLOAT_FUSED, (), [scale, shift]
