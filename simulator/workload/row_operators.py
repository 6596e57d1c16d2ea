"""Operators that combine the elements of rows: reductions, softmax, layer, RMS and instance normalisation.
Which have a kernel program, why not, and the kernels.

Softmax takes one axis, as operator set 13 and later say; before, it took all axes from the given one on,
which is the same for the last axis. A reduction with few long rows is shared by many blocks.
"""

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from simulator.workload.builders.axes import right_aligned
from simulator.workload.builders.column_results import Vector, column_result
from simulator.workload.builders.columns import Columns, column_kernel, segments_for
from simulator.workload.builders.normalisation import Normalisation, normalisation_kernel
from simulator.workload.builders.reduction import Reduction, reduction_kernel, shared_reduction
from simulator.workload.builders.row_feeds import RowProgram, strips_of
from simulator.workload.builders.row_tracks import RowSpace, Strip, row_space
from simulator.workload.builders.softmax import softmax_kernel
from simulator.workload.element_groups import leaving
from simulator.workload.element_program import ElementProgram
from simulator.workload.graph import Graph, Operator
from simulator.workload.ir import Kernel
from simulator.workload.layout import DTYPES, Layout

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

REDUCTIONS = {
    "ReduceSum": ("identity", "add", "identity"),
    "ReduceMean": ("identity", "add", "scale"),
    "ReduceMax": ("identity", "maximum", "identity"),
    "ReduceMin": ("identity", "minimum", "identity"),
    "ReduceProd": ("identity", "multiply", "identity"),
    "ReduceL1": ("absolute", "add", "identity"),
    "ReduceL2": ("square", "add", "root"),
    "ReduceSumSquare": ("square", "add", "identity"),
    "ReduceLogSum": ("identity", "add", "logarithm"),
}
SOFTMAX = frozenset({"Softmax", "LogSoftmax"})
RMS = frozenset({"RMSNormalization", "SimplifiedLayerNormalization"})
NORMALISATIONS = RMS | {"LayerNormalization", "InstanceNormalization"}
KINDS = frozenset(REDUCTIONS) | SOFTMAX | NORMALISATIONS
EPSILON = 1e-5
READ_AGAIN = "read_again"
"""Attribute of a normalisation, no ONNX one: 1 for a kernel that reads its row twice whatever its length."""
TEAM = "threads"
"""Attribute of a normalisation or softmax, no ONNX one: threads that share a row, as a library has them, a
power of two from a warp to 1,024; 0: as fits."""
LONG_ROW = 8192
SEGMENT = 4096
TEAMS = frozenset((32, 64, 128, 256, 512, 1024))
BLOCKS_A_PROCESSOR = 2


def refused(graph: Graph, operator: Operator) -> str:
    """Why an operator has no program here; empty where it has one."""
    source = graph.tensors[operator.inputs[0]]
    result = graph.tensors[operator.outputs[0]]
    for tensor in (source, result):
        if tensor.dtype not in DTYPES:
            return f"{operator.kind} of {tensor.dtype} has no kernel program"
    if not source.elements or not source.shape:
        return f"{operator.kind} of an empty tensor or a single number has no kernel program"
    if operator.kind in REDUCTIONS:
        if (
            len(operator.inputs) > 1
            and operator.inputs[1]
            and graph.tensors[operator.inputs[1]].values is None
        ):
            return f"{operator.kind} over computed axes has no kernel program"
        if not axes_of(graph, operator):
            return f"{operator.kind} over no axes has no kernel program"
    if operator.kind == "InstanceNormalization" and len(source.shape) < 3:
        return "InstanceNormalization without an image has no kernel program"
    return ""


def axes_of(graph: Graph, operator: Operator) -> frozenset[int]:
    """The axes that make up a row."""
    rank = len(graph.tensors[operator.inputs[0]].shape)
    if operator.kind in REDUCTIONS:
        axes = operator.attribute("axes", ())
        if len(operator.inputs) > 1 and operator.inputs[1]:
            axes = tuple(int(one) for one in graph.tensors[operator.inputs[1]].values or ())
        if not isinstance(axes, tuple):
            axes = (int(axes),)
        if not axes and not operator.attribute("noop_with_empty_axes", 0):
            axes = tuple(range(rank))
        return frozenset(int(axis) % rank for axis in axes)
    if operator.kind == "InstanceNormalization":
        return frozenset(range(2, rank))
    axis = operator.attribute("axis", -1)
    first = int(axis) % rank if isinstance(axis, int) else rank - 1
    return frozenset({first} if operator.kind in SOFTMAX else range(first, rank))


def team_of(operator: Operator) -> int:
    """The threads that an operator asks for a row; 0: as fits."""
    asked = operator.attribute(TEAM, 0)
    return asked if isinstance(asked, int) and asked in TEAMS else 0


def strip_of(maker: "KernelMaker", name: str, axes: tuple[int, ...]) -> Strip:
    """A tensor of the graph beside the rows."""
    return Strip(maker.place(name), maker.layout(name), axes)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The element-wise programs before and behind a row, and the strips of all their tensors."""

    before: RowProgram | None
    behind: RowProgram | None
    strips: tuple[Strip, ...]


def surroundings(
    maker: "KernelMaker", operators: tuple[Operator, ...], place: int, first: int
) -> Surroundings:
    """What stands around the row operator at a place of a group; its strips start at track `first`."""
    row = operators[place]
    shape = maker.graph.tensors[row.inputs[0]].shape
    needed = leaving(maker.graph, operators)
    strips: list[Strip] = []
    made: list[RowProgram | None] = []
    for part, is_behind in ((operators[:place], False), (operators[place + 1 :], True)):
        if not part:
            made.append(None)
            continue
        program = ElementProgram(maker.graph, maker.place, maker.layout, maker.vector, shape)
        if is_behind:
            program.operator = row.name
            program.operand(row.outputs[0])
        for operator in part:
            program.add(operator)
        inside = {operator.name for operator in part} | ({row.name} if is_behind else set())
        for value, operator in needed:
            if operator.name in inside and (operator is not row or value == row.outputs[0]):
                program.write(value, operator)
        work = program.finish()
        own = strips_of(work)
        start = first + len(strips)
        count = len(work.operands)
        numbers = [*range(start, start + count)]
        feeds = program.values[row.inputs[0]] + count if not is_behind else 0
        if is_behind:
            numbers[0] = -1
        made.append(RowProgram(work, tuple(numbers), tuple(range(start + count, start + len(own))), feeds))
        strips += own
    return Surroundings(made[0], made[1], tuple(strips))


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """The kernels of one row operator with the element-wise operators before and behind it."""
    place = next(index for index, one in enumerate(operators) if one.kind in KINDS)
    operator = operators[place]
    source = maker.graph.tensors[operator.inputs[0]]
    rank = tuple(range(len(source.shape)))
    axes = axes_of(maker.graph, operator)
    main = strip_of(maker, operator.inputs[0], rank)
    if operator.kind in NORMALISATIONS:
        return [normalisation(maker, operators, place, name, main, axes)]
    places = rank
    if operator.kind in REDUCTIONS and not operator.attribute("keepdims", 1):
        places = tuple(axis for axis in rank if axis not in axes)
    result = strip_of(maker, operator.outputs[0], places)
    around = surroundings(maker, operators, place, 2)
    space = row_space(main, [result, *around.strips], axes)
    if operator.kind in REDUCTIONS:
        return reduction(maker, operator, name, space, around.before)
    return [
        softmax_kernel(
            name,
            operator.name,
            space,
            logarithm=operator.kind == "LogSoftmax",
            threads=team_of(operator),
            before=around.before,
            behind=around.behind,
        )
    ]


def reduction(
    maker: "KernelMaker", operator: Operator, name: str, space: RowSpace, before: RowProgram | None
) -> list[Kernel]:
    """One kernel, or two where a few long rows would leave most of the card idle."""
    function, combine, after = REDUCTIONS[operator.kind]
    rows, length = prod(space.kept), prod(space.along)
    numbers = (1 / length, 0.0) if after == "scale" else ()
    what = Reduction(function, combine, after, numbers)
    if before is not None:
        return [reduction_kernel(name, operator.name, space, what, before)]
    if down_columns(space):
        return column_reduction(maker, operator, name, space, what)
    segments = min(-(-length // SEGMENT), BLOCKS_A_PROCESSOR * maker.target.sm_count // rows)
    if length < LONG_ROW or segments < 2:
        return [reduction_kernel(name, operator.name, space, what)]
    partial = maker.placement.place(
        f"{operator.outputs[0]}.partial", Layout((rows * segments,), "float32", "flat"), "intermediate"
    )
    return shared_reduction(name, operator.name, space, what, segments, partial)


def down_columns(space: RowSpace) -> bool:
    """Whether rows are the columns of one gapless block of memory."""
    source, result = space.tracks
    return (
        len(space.kept) == len(space.along) == 1
        and source.kept == result.kept == (1,)
        and space.kept[0] > 1
        and source.along == space.kept
    )


def column_reduction(
    maker: "KernelMaker", operator: Operator, name: str, space: RowSpace, what: Reduction
) -> list[Kernel]:
    """Two kernels: partial results of blocks, and their combination."""
    source, result = space.tracks
    rows, columns = space.along[0], space.kept[0]
    shape = Columns(source.info, source.dtype, rows, columns, segments_for(rows, maker.target.sm_count))
    layout = Layout((shape.segments * columns,), "float32", "flat")
    partial = maker.placement.place(f"{operator.outputs[0]}.partial", layout, "intermediate")
    combined = replace(what, before="identity")
    return [
        column_kernel(f"{name}.part", operator.name, shape, (what,), partial),
        column_result(
            f"{name}.whole", operator.name, shape, combined, partial, Vector(result.info, result.dtype)
        ),
    ]


def normalisation(
    maker: "KernelMaker",
    operators: tuple[Operator, ...],
    place: int,
    name: str,
    main: Strip,
    axes: frozenset[int],
) -> Kernel:
    """One kernel for whichever results are asked for."""
    operator = operators[place]
    rank = tuple(range(len(main.layout.shape)))
    by_channel = operator.kind == "InstanceNormalization"
    strips: list[Strip] = []
    numbers: dict[str, int] = {}
    wanted = ("result", "deviation") if operator.kind in RMS else ("result", "mean", "deviation")
    for role, output in zip(wanted, operator.outputs, strict=False):
        if output:
            strips.append(strip_of(maker, output, rank))
            numbers[role] = len(strips)
    for role, given in zip(("scale", "shift"), operator.inputs[1:3], strict=False):
        if given:
            shape = maker.graph.tensors[given].shape
            strips.append(strip_of(maker, given, (1,) if by_channel else right_aligned(shape, len(rank))))
            numbers[role] = len(strips)
    epsilon = operator.attribute("epsilon", EPSILON)
    what = Normalisation(
        numbers["result"],
        numbers.get("scale", -1),
        numbers.get("shift", -1),
        numbers.get("mean", -1),
        numbers.get("deviation", -1),
        float(epsilon) if isinstance(epsilon, int | float) else EPSILON,
        operator.kind not in RMS,
        bool(operator.attribute(READ_AGAIN, 0)),
        team_of(operator),
    )
    around = surroundings(maker, operators, place, 1 + len(strips))
    space = row_space(main, [*strips, *around.strips], axes)
    return normalisation_kernel(name, operator.name, space, what, around.before, around.behind)
