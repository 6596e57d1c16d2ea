"""MatMul and Gemm as matrix products: extents, where each operand's rows, columns and batches lie, and what
is added.

Leading dimensions broadcast as NumPy's do; a batch over one shared right operand becomes more rows where the
left one lies without gaps. Operands of one dimension count as a row or a column.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from hwmodels.errors import InputError
from simulator.workload.builders.axes import strides_of
from simulator.workload.graph import ITEM_BYTES, Graph, Operator
from simulator.workload.layout import DTYPES, Layout, activation

KINDS = frozenset({"MatMul", "Gemm"})
IMAGE_RANK = 4
IMAGE_KINDS = frozenset({
    "AveragePool",
    "BatchNormalization",
    "Conv",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "InstanceNormalization",
    "LRN",
    "MaxPool",
    "Resize",
    "Upsample",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class MatrixView:
    """A tensor as matrices: strides in elements along rows, columns and batch extents."""

    row: int
    column: int
    batch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """scale * A · B: extents, and the three tensors as matrices. `bias` is `column` (one number a column, a
    weight), `matrix` (as large as the result), or empty.
    """

    rows: int
    columns: int
    depth: int
    batch: tuple[int, ...]
    element_bytes: int
    left: MatrixView
    right: MatrixView
    result: MatrixView
    scale: float = 1.0
    bias: str = ""


def layout_rule(graph: Graph) -> Callable[[str], Layout]:
    """How the tensors of a graph lie, convolution filters aside: images (four dimensions or more, in a model
    with image operators) channels last, and so does whatever an image operator touches; all else as its
    shape says, so that products and reductions find their innermost dimension in one piece.
    """
    pictures = bool(graph.kinds & IMAGE_KINDS)
    touched = {
        name
        for operator in graph.operators
        if operator.kind in IMAGE_KINDS
        for name in (operator.inputs[0], *operator.outputs)
        if name
    }

    def layout(name: str) -> Layout:
        tensor = graph.tensors[name]
        if (pictures and len(tensor.shape) >= IMAGE_RANK) or name in touched:
            return activation(tensor.shape, tensor.dtype)
        return Layout(tensor.shape, tensor.dtype, "flat")

    return layout


def product_of(
    graph: Graph, operator: Operator, layout: Callable[[str], Layout]
) -> tuple[ProductPlan | None, str]:
    """(plan, "") of an operator that has a product's kernel program, else (None, the reason)."""
    if operator.kind not in KINDS:
        return None, f"{operator.kind} has no kernel program"
    names = (*operator.inputs[:2], operator.outputs[0])
    tensors = [graph.tensors[name] for name in names]
    if {tensor.dtype for tensor in tensors} - set(DTYPES) or len({tensor.dtype for tensor in tensors}) != 1:
        return None, f"{operator.kind} of {tensors[0].dtype} has no kernel program"
    if not all(tensor.elements for tensor in tensors):
        return None, f"{operator.kind} of an empty tensor has no kernel program"
    plan = planned(operator, [layout(name) for name in names])
    views = (plan.left, plan.right, plan.result)
    if plan.result.column != 1 and plan.columns > 1:
        return None, f"{operator.kind} whose result does not lie along its columns has no kernel program"
    if any(1 not in (view.row, view.column) for view in views):
        return None, f"{operator.kind} of operands with gaps has no kernel program"
    return with_bias(graph, operator, plan)


def planned(operator: Operator, layouts: list[Layout]) -> ProductPlan:
    """The plan without what is added."""
    transposed = [
        bool(operator.kind == "Gemm" and operator.attribute(key, 0)) for key in ("transA", "transB")
    ]
    left, right = (
        matrices(operator, layout, which, swap)
        for which, (layout, swap) in enumerate(zip(layouts[:2], transposed, strict=True))
    )
    (left_batch, rows, depth, left_view), (right_batch, deep, columns, right_view) = left, right
    if depth != deep:
        problem = f"{depth} columns times {deep} rows"
        raise InputError(operator.name, problem, "give both operands the same depth")
    batch = tuple(max(pair) for pair in paired(left_batch, right_batch))
    if any(extent not in (1, whole) for one in (left_batch, right_batch) for extent, whole in zip(
        (1,) * (len(batch) - len(one)) + one, batch, strict=True
    )):  # fmt: skip
        problem = f"batches {list(left_batch)} and {list(right_batch)} do not broadcast"
        raise InputError(operator.name, problem, "as NumPy's matmul")
    result = result_view(operator, layouts[2], (batch, rows, columns), layouts)
    views = [
        MatrixView(view.row, view.column, spread(own, view.batch, batch))
        for own, view in ((left_batch, left_view), (right_batch, right_view), (batch, result))
    ]
    scale = float(operator.attribute("alpha", 1.0)) if operator.kind == "Gemm" else 1.0  # type: ignore[arg-type]
    size = ITEM_BYTES[layouts[0].dtype]
    plan = ProductPlan(rows, columns, depth, batch, size, views[0], views[1], views[2], scale)
    return folded_batch(plan)


def matrices(
    operator: Operator, layout: Layout, which: int, swap: bool
) -> tuple[tuple[int, ...], int, int, MatrixView]:
    """(batch extents, rows, columns, strides) of an operand."""
    shape, strides = layout.shape, strides_of(layout)
    if not shape:
        raise InputError(operator.name, "operand without dimensions", "give at least one")
    if len(shape) == 1:
        if which:
            return (), shape[0], 1, MatrixView(1, 1, ())
        return (), 1, shape[0], MatrixView(shape[0], 1, ())
    last, before = len(shape) - 1, len(shape) - 2
    batch = tuple(strides[axis] for axis in range(before))
    if swap:
        return shape[:-2], shape[last], shape[before], MatrixView(strides[last], strides[before], batch)
    return shape[:-2], shape[before], shape[last], MatrixView(strides[before], strides[last], batch)


def result_view(
    operator: Operator, layout: Layout, extents: tuple[tuple[int, ...], int, int], inputs: list[Layout]
) -> MatrixView:
    """The result's strides; dimensions that an operand of one dimension took away are put back."""
    batch, rows, columns = extents
    shape = list(batch)
    if len(inputs[0].shape) > 1:
        shape.append(rows)
    if len(inputs[1].shape) > 1:
        shape.append(columns)
    if tuple(shape) != layout.shape:
        problem = f"output shape {list(layout.shape)} is not that of the product"
        raise InputError(operator.name, problem, f"it is {shape}")
    strides, axis = strides_of(layout), len(batch)
    row = columns
    if len(inputs[0].shape) > 1:
        row, axis = strides[axis], axis + 1
    column = strides[axis] if len(inputs[1].shape) > 1 else 1
    return MatrixView(row, column, tuple(strides[place] for place in range(len(batch))))


def paired(left: tuple[int, ...], right: tuple[int, ...]) -> list[tuple[int, int]]:
    """Batch extents side by side, the shorter list filled with ones."""
    rank = max(len(left), len(right))
    return list(zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True))


def spread(own: tuple[int, ...], strides: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """Strides over the whole batch: none where an operand repeats."""
    missing = len(batch) - len(own)
    kept = (
        stride if extent == whole else 0
        for extent, stride, whole in zip(own, strides, batch[missing:], strict=True)
    )
    return (*((0,) * missing), *kept)


def folded_batch(plan: ProductPlan) -> ProductPlan:
    """One product of more rows instead of a batch, where every matrix meets the same right operand and rows
    go on evenly from matrix to matrix.
    """
    if not plan.batch or any(plan.right.batch):
        return plan
    for view in (plan.left, plan.result):
        step = view.row * plan.rows
        for extent, stride in zip(reversed(plan.batch), reversed(view.batch), strict=True):
            if stride != step and extent != 1:
                return plan
            step *= extent
    left, right, result = (
        MatrixView(view.row, view.column, ()) for view in (plan.left, plan.right, plan.result)
    )
    rows = plan.rows * prod(plan.batch)
    return replace(plan, rows=rows, batch=(), left=left, right=right, result=result)


def with_bias(graph: Graph, operator: Operator, plan: ProductPlan) -> tuple[ProductPlan | None, str]:
    """What a Gemm adds to its product."""
    if operator.kind != "Gemm" or len(operator.inputs) < 3 or not operator.inputs[2]:
        return plan, ""
    added = graph.tensors[operator.inputs[2]]
    squeezed = added.shape[1:] if len(added.shape) == 2 and added.shape[0] == 1 else added.shape
    bias = ""
    if squeezed == (plan.columns,) and added.kind == "weight":
        bias = "column"
    elif added.shape == (plan.rows, plan.columns) and float(operator.attribute("beta", 1.0)) == 1.0:  # type: ignore[arg-type]
        bias = "matrix"
    if not bias:
        return None, f"Gemm that adds {list(added.shape)} of kind {added.kind} has no kernel program"
    return replace(plan, bias=bias), ""
