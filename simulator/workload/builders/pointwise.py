"""A kernel for any element-wise program with broadcasting: each thread takes some vectors of up to 16 bytes,
a block's width apart.

A vector has 8, 4, 2 or 1 elements: as many as the widest element type, the innermost extent and every
operand's alignment allow. An operand that steps over memory along the innermost axis is read element by
element; one that stands still there is read once. All loads of a thread are issued before its arithmetic,
unless its elements are to be taken in turn: then one is written before the next is read.
"""

from simulator.workload.builders.axes import Reach, Space, space_of
from simulator.workload.builders.pointwise_program import RANDOM, Operand, Pointwise
from simulator.workload.builders.pointwise_values import Values
from simulator.workload.builders.vectors import THREADS, PointAccess, lanes_for, vectors_for
from simulator.workload.emit import Emitter, Flag, Scalar
from simulator.workload.ir import Kernel, Part, Special


def pointwise_kernel(
    name: str,
    program: Pointwise,
    lanes: int | None = None,
    vectors: int | None = None,
    *,
    in_turn: bool = False,
) -> Kernel:
    """The program's kernel; `lanes` and `vectors` a thread may be asked for, and to take vectors in turn."""
    shape = program.results[0].layout
    parts = [(one.layout, one.axes) for one in program.operands]
    rank = range(len(shape.shape))
    space = space_of(shape, [*parts, *((one.layout, tuple(rank)) for one in program.results)])
    lanes = lanes_for(space, program, lanes)
    total = -(-space.elements // lanes) * lanes
    vectors = vectors or vectors_for(space, program, total, lanes)
    width = THREADS * lanes
    emitter = Emitter(name, (-(-total // (width * vectors)), 1, 1), THREADS)
    with emitter.working_for(program.nodes[0].operator):
        thread = emitter.special(Special.THREAD)
        block = emitter.special(Special.BLOCK_X)
        start = emitter.multiply_add(thread, lanes, name="lane element")
        element = emitter.multiply_add(block, width * vectors, start, "element")
    values = Values(emitter, program, lanes)
    access = PointAccess(emitter, space, element, lanes)
    steady = steady_cells(values, space, access)
    tails = total % (width * vectors) != 0
    work = []
    for vector in range(vectors):
        with emitter.working_for(program.nodes[0].operator):
            here = access.step_to(vector * width)
            flag = emitter.within(here, total) if tails else None
        loaded = [
            [] if number in steady else load(emitter, access, reach, operand, number, flag)
            for number, (operand, reach) in enumerate(zip(program.operands, space.reaches, strict=False))
        ]
        work.append((here, flag, loaded, access.places()))
        if in_turn:
            finish(values, program, space, access, here, flag, loaded, steady)
    if in_turn:
        return emitter.finish()
    for here, flag, loaded, places in work:
        access.restore(places)
        finish(values, program, space, access, here, flag, loaded, steady)
    return emitter.finish()


def steady_cells(values: Values, space: Space, access: PointAccess) -> dict[int, Part]:
    """Operands of one element, loaded and widened once a thread."""
    found = {}
    for number, operand in enumerate(values.program.operands):
        reach = space.reaches[number]
        if reach.constant:
            words = load(values.emitter, access, reach, operand, number, None)
            found[number] = values.widen(words[0], 0, number)
    return found


def load(
    emitter: Emitter,
    access: PointAccess,
    reach: Reach,
    operand: Operand,
    number: int,
    flag: Flag | None,
) -> list[Part]:
    """One vector of an operand as a register group, or its elements as registers of their own."""
    with emitter.working_for(operand.operator):
        tensor = emitter.tensor(operand.info)
        return access.load(number, reach, operand.info, operand.item_bytes, tensor, flag)


def finish(
    values: Values,
    program: Pointwise,
    space: Space,
    access: PointAccess,
    here: Scalar,
    flag: Flag | None,
    loaded: list[list[Part]],
    steady: dict[int, Part],
) -> None:
    """The arithmetic of one vector, and its stores."""
    cells = []
    for number, words in enumerate(loaded):
        if number in steady:
            cells.append([steady[number]])
        elif len(words) == 1 and (space.reaches[number].strides[-1] == 1 or values.lanes == 1):
            cells.append([values.widen(words[0], lane, number) for lane in range(values.lanes)])
        else:
            cells.append([values.widen(word, 0, number) for word in words])
    counted = any(node.function == RANDOM for node in program.nodes)
    groups = values.compute(cells, here if counted else None)
    for number, (group, result) in enumerate(
        zip(groups, program.results, strict=True), len(program.operands)
    ):
        with values.emitter.working_for(result.operator):
            tensor = values.emitter.tensor(result.info)
            access.store(number, space.reaches[number], result.info, result.item_bytes, group, tensor, flag)
