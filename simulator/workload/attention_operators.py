"""The Attention operator: one kernel in the manner of FlashAttention where the card and the widths allow it,
else three, with scores and weights in memory.

Heads lie as the graph has them: their own dimension, or side by side in the innermost one. Masks, caches of
past keys, windows and soft caps have no program.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.trace.schema import TensorInfo
from simulator.workload.builders.attention import WIDTHS, Attention, Heads
from simulator.workload.builders.attention_kernel import attention_kernel
from simulator.workload.builders.product import Operand, Product
from simulator.workload.builders.product_kernel import product_kernel
from simulator.workload.builders.row_tracks import Strip, row_space
from simulator.workload.builders.softmax import softmax_kernel
from simulator.workload.graph import ITEM_BYTES, Graph, Operator
from simulator.workload.ir import Kernel
from simulator.workload.layout import DTYPES, Layout
from simulator.workload.products import layout_rule

if TYPE_CHECKING:
    from simulator.workload.build import KernelMaker

KINDS = frozenset({"Attention"})
PLAIN = {"is_causal": 0, "softcap": 0.0, "left_window_size": -1, "right_window_size": -1}
HEADS_APART, HEADS_TOGETHER = 4, 3


@dataclass(frozen=True, slots=True)
class HeadShape:
    """One tensor as heads: extents, and the strides of a head's rows, of heads, of the batch."""

    batch: int
    heads: int
    rows: int
    width: int
    row_step: int
    head_step: int
    batch_step: int

    def strides(self, group: int, *, shared: bool) -> tuple[int, ...]:
        """Batch strides over (batch, heads); where `group` heads of queries share one of keys, over (batch,
        shared heads, heads of a group).
        """
        if group == 1:
            return self.batch_step, self.head_step
        if shared:
            return self.batch_step, self.head_step, 0
        return self.batch_step, group * self.head_step, self.head_step


def head_shape(graph: Graph, operator: Operator, name: str, count: str) -> HeadShape:
    """A tensor of (batch, heads, rows, width), or of (batch, rows, heads * width)."""
    shape = graph.tensors[name].shape
    if len(shape) == HEADS_APART:
        batch, heads, rows, width = shape
        return HeadShape(batch, heads, rows, width, width, rows * width, heads * rows * width)
    heads = int(str(operator.attribute(count, 1)))
    batch, rows, row = shape
    width = row // heads
    return HeadShape(batch, heads, rows, width, row, width, rows * row)


def refused(graph: Graph, operator: Operator) -> str:
    """Why an Attention has no program; empty where it has one."""
    tensors = [graph.tensors[name] for name in operator.inputs if name]
    if len(tensors) != 3 or len([name for name in operator.outputs if name]) != 1:
        return "Attention with a mask or past keys has no kernel program"
    if tensors[0].dtype not in DTYPES or not all(tensor.elements for tensor in tensors):
        return f"Attention of {tensors[0].dtype} or of an empty tensor has no kernel program"
    ranks = {len(tensor.shape) for tensor in tensors}
    if ranks not in ({HEADS_APART}, {HEADS_TOGETHER}):
        return "Attention of operands with different ranks has no kernel program"
    layout = layout_rule(graph)
    if any(layout(name).role != "flat" for name in (*operator.inputs[:3], operator.outputs[0])):
        return "Attention on images that lie channels last has no kernel program"
    for key, plain in PLAIN.items():
        if operator.attribute(key, plain) != plain:
            return f"Attention with {key} has no kernel program"
    asked, keys, values = shapes(graph, operator)
    if asked.heads % keys.heads or keys.heads != values.heads or keys.width != asked.width:
        return "Attention whose heads do not fit each other has no kernel program"
    return ""


def shapes(graph: Graph, operator: Operator) -> tuple[HeadShape, HeadShape, HeadShape]:
    """Queries, keys, values as heads."""
    query, key, value = operator.inputs[:3]
    return (
        head_shape(graph, operator, query, "q_num_heads"),
        head_shape(graph, operator, key, "kv_num_heads"),
        head_shape(graph, operator, value, "kv_num_heads"),
    )


def kernels(maker: "KernelMaker", operators: tuple[Operator, ...], name: str) -> list[Kernel]:
    """The programs of one Attention."""
    operator = operators[0]
    asked, keys, values = shapes(maker.graph, operator)
    result = head_shape(maker.graph, operator, operator.outputs[0], "q_num_heads")
    group = asked.heads // keys.heads
    batch = (asked.batch, keys.heads) if group == 1 else (asked.batch, keys.heads, group)
    scale = float(str(operator.attribute("scale", asked.width**-0.5)))
    dtype = maker.graph.tensors[operator.inputs[0]].dtype
    places = [maker.place(one) for one in (*operator.inputs[:3], operator.outputs[0])]
    heads = [
        Heads(info, one.row_step, one.strides(group, shared=number in {1, 2}))
        for number, (info, one) in enumerate(zip(places, (asked, keys, values, result), strict=True))
    ]
    fits = dtype == "float16" and asked.width in WIDTHS and values.width == asked.width
    if fits and scale > 0 and maker.target.async_copy and maker.target.matrix_load:
        shape = Attention(batch, asked.rows, keys.rows, asked.width, scale)
        inputs = (heads[0], heads[1], heads[2])
        return [attention_kernel(name, operator.name, shape, inputs, heads[3], maker.target)]
    return unfused(maker, operator, name, (asked, keys, values), heads, batch, scale, dtype)


def unfused(
    maker: "KernelMaker",
    operator: Operator,
    name: str,
    shape: tuple[HeadShape, HeadShape, HeadShape],
    heads: list[Heads],
    batch: tuple[int, ...],
    scale: float,
    dtype: str,
) -> list[Kernel]:
    """Scores, weights and outputs, each by a kernel of its own."""
    asked, keys, values = shape
    size, extents = ITEM_BYTES[dtype], (*batch, asked.rows, keys.rows)
    layout = Layout(extents, dtype, "flat")
    scores, weights = (
        maker.placement.place(f"{operator.outputs[0]}.{what}", layout, "intermediate")
        for what in ("scores", "weights")
    )
    last = len(extents) - 1
    every = tuple(range(len(extents)))
    rows = row_space(Strip(scores, layout, every), [Strip(weights, layout, every)], frozenset({last}))
    inner = matrix(scores, extents), matrix(weights, extents)
    query, key, value, result = heads
    return [
        product_kernel(
            f"scores:{name}",
            operator.name,
            Product(asked.rows, keys.rows, asked.width, batch, size),
            (Operand(query.info, query.row, 1, query.batch), Operand(key.info, key.row, 1, key.batch)),
            inner[0],
            (),
            maker.target,
            scale=scale,
        ),
        softmax_kernel(f"softmax:{name}", operator.name, rows),
        product_kernel(
            f"outputs:{name}",
            operator.name,
            Product(asked.rows, values.width, keys.rows, batch, size),
            (inner[1], Operand(value.info, 1, value.row, value.batch)),
            Operand(result.info, result.row, 1, result.batch),
            (),
            maker.target,
        ),
    ]


def matrix(info: TensorInfo, extents: tuple[int, ...]) -> Operand:
    """Matrices in row order without gaps."""
    strides: list[int] = []
    step = extents[-1] * extents[-2]
    for extent in reversed(extents[:-2]):
        strides.insert(0, step)
        step *= extent
    return Operand(info, extents[-1], 1, tuple(strides))
