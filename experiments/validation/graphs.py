"""The operators behind published kernels: what a fused kernel computes in one, and what an eager framework
runs one by one.

A graph is a list of operators as a config writes them. Bytes decide these kernels, so a type stands for all
of its width: bfloat16 is replayed as float16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Items = list[dict[str, Any]]
Graph = tuple[Items, str]
WIDTH_TYPES = {"float32": "float32", "float16": "float16", "bfloat16": "float16"}


def op(kind: str, inputs: list[str], output: str, shape: list[int], **more: Any) -> dict[str, Any]:
    """One operator; `more` are shapes of its inputs and its attributes."""
    item: dict[str, Any] = {"op": kind, "inputs": inputs, "output": output, "shape": shape}
    sizes = {name: value for name, value in more.items() if name in inputs}
    if sizes:
        item["input_shapes"] = sizes
    if "attributes" in more:
        item["attributes"] = more["attributes"]
    return item


def layer_norm(rows: int, width: int) -> Items:
    """Layer normalisation with scale and shift."""
    return [op("LayerNormalization", ["x", "g", "b"], "y", [rows, width], g=[width], b=[width])]


def layer_norm_twice(rows: int, width: int) -> Items:
    """The same as PyTorch's kernel does it: a row is read for its sums and again for the result."""
    shape = [rows, width]
    again = {"read_again": 1}
    return [op("LayerNormalization", ["x", "g", "b"], "y", shape, g=[width], b=[width], attributes=again)]


def layer_norm_eager(rows: int, width: int) -> Items:
    """The same in steps: mean, difference, mean of its squares, quotient with scale and shift."""
    shape, column = [rows, width], [rows, 1]
    kept = {"axes": [1], "keepdims": 1}
    return [
        op("ReduceMean", ["x"], "m", column, x=shape, attributes=kept),
        op("Sub", ["x", "m"], "c", shape, m=column),
        op("ReduceSumSquare", ["c"], "v", column, attributes=kept),
        op("Div", ["c", "v"], "n", shape),
        op("Mul", ["n", "g"], "s", shape, g=[width]),
        op("Add", ["s", "b"], "y", shape, b=[width]),
    ]


def rms_norm(rows: int, width: int) -> Items:
    """RMS normalisation with a scale."""
    return [op("RMSNormalization", ["x", "g"], "y", [rows, width], g=[width])]


def rms_norm_eager_half(rows: int, width: int) -> Items:
    """The same of half-precision rows: converted first, worked on in single precision, converted before the
    scale.
    """
    shape = [rows, width]
    chain = rms_norm_eager(rows, width)
    for item in chain[:-1]:
        item["inputs"] = ["w" if name == "x" else name for name in item["inputs"]]
        item["dtype"] = "float32"
    chain[-1]["inputs"] = ["h", "g"]
    single = op("Cast", ["x"], "w", shape) | {"dtype": "float32"}
    return [single, *chain[:-1], op("Cast", ["n"], "h", shape), chain[-1]]


def rms_norm_eager(rows: int, width: int) -> Items:
    """The same as a framework writes it: square, mean, root, product, scale; in single precision."""
    shape, column = [rows, width], [rows, 1]
    return [
        op("Mul", ["x", "x"], "s", shape),
        op("ReduceMean", ["s"], "m", column, attributes={"axes": [1], "keepdims": 1}),
        op("Add", ["m", "e"], "a", column, e=[1]),
        op("Sqrt", ["a"], "r", column),
        op("Div", ["x", "r"], "n", shape),
        op("Mul", ["n", "g"], "y", shape, g=[width]),
    ]


def add_rms_norm(rows: int, width: int) -> Items:
    """A residual is added first, and the sum is kept."""
    shape = [rows, width]
    total = op("Add", ["x", "z"], "s", shape) | {"keep": True}
    return [total, op("RMSNormalization", ["s", "g"], "y", shape, g=[width])]


def add_rms_norm_eager(rows: int, width: int) -> Items:
    """The same one by one."""
    chain = rms_norm_eager(rows, width)
    for item in chain:
        item["inputs"] = ["h" if name == "x" else name for name in item["inputs"]]
    return [op("Add", ["x", "z"], "h", [rows, width]), *chain]


def softmax(rows: int, width: int) -> Items:
    """Softmax of rows."""
    return [op("Softmax", ["x"], "y", [rows, width], attributes={"axis": 1})]


def softmax_eager(rows: int, width: int) -> Items:
    """The same in five kernels."""
    shape, column = [rows, width], [rows, 1]
    kept = {"axes": [1], "keepdims": 1}
    return [
        op("ReduceMax", ["x"], "m", column, x=shape, attributes=kept),
        op("Sub", ["x", "m"], "d", shape),
        op("Exp", ["d"], "e", shape),
        op("ReduceSum", ["e"], "s", column, attributes=kept),
        op("Div", ["e", "s"], "y", shape),
    ]


def relu(elements: int) -> Items:
    """ReLU."""
    return [op("Relu", ["x"], "y", [elements])]


def relu_squared(rows: int, width: int) -> Items:
    """ReLU, then its square."""
    return [op("Relu", ["x"], "r", [rows, width]), op("Mul", ["r", "r"], "y", [rows, width])]


def swiglu(rows: int, width: int) -> Items:
    """Swish of one half times the other."""
    return [op("Swish", ["a"], "s", [rows, width]), op("Mul", ["s", "b"], "y", [rows, width])]


def quick_gelu(elements: int) -> Items:
    """X times the logistic of 1.702 x, as three operators."""
    shape = [elements]
    return [
        op("Mul", ["x", "c"], "u", shape, c=[1]),
        op("Sigmoid", ["u"], "v", shape),
        op("Mul", ["x", "v"], "y", shape),
    ]


def quick_gelu_backward(elements: int) -> Items:
    """Its gradient from x, the logistic's value and the gradient behind, as five operators."""
    shape = [elements]
    return [
        op("Mul", ["d", "v"], "p", shape),
        op("Mul", ["d", "x"], "q", shape),
        op("Mul", ["q", "v"], "r", shape),
        op("Mul", ["r", "c"], "t", shape, c=[1]),
        op("Add", ["p", "t"], "y", shape),
    ]


def quick_gelu_backward_fused(elements: int) -> Items:
    """The same from x and the gradient alone."""
    shape = [elements]
    return [op("QuickGelu", ["x"], "v", shape), op("Mul", ["d", "v"], "y", shape)]


def bias_gelu(rows: int, width: int) -> Items:
    """A bias along the row, then GELU."""
    return [op("Add", ["x", "b"], "s", [rows, width], b=[width]), op("Gelu", ["s"], "y", [rows, width])]


def bias_add(rows: int, width: int) -> Items:
    """A bias along the row."""
    return [op("Add", ["x", "b"], "y", [rows, width], b=[width])]


def copy(elements: int) -> Items:
    """A copy."""
    return [op("Identity", ["x"], "y", [elements])]


def add_relu(elements: int) -> Items:
    """A sum, then ReLU."""
    return [op("Add", ["x", "z"], "s", [elements]), op("Relu", ["s"], "y", [elements])]


def add(elements: int) -> Items:
    """The sum of two tensors."""
    return [op("Add", ["x", "z"], "y", [elements])]


def row_sum(rows: int, width: int) -> Items:
    """The sum of each row."""
    kept = {"axes": [1], "keepdims": 1}
    return [op("ReduceSum", ["x"], "y", [rows, 1], x=[rows, width], attributes=kept)]


def bias_softmax(batch: int, rows: int, width: int) -> Items:
    """A bias that all of a batch share, then softmax."""
    shape = [batch, rows, width]
    return [
        op("Add", ["x", "b"], "s", shape, b=[1, rows, width]),
        op("Softmax", ["s"], "y", shape, attributes={"axis": 2}),
    ]


def attention(batch: int, heads: int, length: int, width: int) -> Items:
    """Scores, softmax and weighted values in one operator."""
    shape = [batch, heads, length, width]
    return [op("Attention", ["q", "k", "v"], "y", shape)]


def attention_eager(batch: int, heads: int, length: int, width: int) -> Items:
    """The same as the FlashAttention project's reference does it: keys scaled, heads, which lie side by side
    in a token, brought apart, and the scores through memory: product, mask in place, softmax, product.
    """
    tokens, shape = [batch, length, heads, width], [batch, heads, length, width]
    scores = [batch, heads, length, length]
    apart, turned = {"perm": [0, 2, 1, 3]}, {"perm": [0, 2, 3, 1]}
    return [
        op("Transpose", ["q"], "a", shape, q=tokens, attributes=apart),
        op("Mul", ["k", "r"], "e", tokens, r=[1]),
        op("Transpose", ["e"], "b", [batch, heads, width, length], attributes=turned),
        op("Transpose", ["v"], "c", shape, v=tokens, attributes=apart),
        op("MatMul", ["a", "b"], "s", scores),
        op("Add", ["s", "m"], "z", scores, m=[batch, 1, 1, length]),
        op("Softmax", ["z"], "p", scores, attributes={"axis": 3}),
        op("MatMul", ["p", "c"], "y", shape),
    ]


def rms_norm_quantised(rows: int, width: int) -> Items:
    """RMS normalisation whose result is written in eight bits with one scale."""
    shape = [rows, width]
    return [
        op("RMSNormalization", ["x", "g"], "n", shape, g=[width]),
        op("QuantizeLinear", ["n", "q"], "y", shape, q=[1]),
    ]


GRAPHS: dict[str, Callable[..., Items]] = {
    one.__name__: one
    for one in (
        add,
        add_relu,
        add_rms_norm,
        add_rms_norm_eager,
        attention,
        attention_eager,
        bias_add,
        bias_gelu,
        bias_softmax,
        copy,
        layer_norm,
        layer_norm_eager,
        layer_norm_twice,
        quick_gelu,
        quick_gelu_backward,
        quick_gelu_backward_fused,
        relu,
        relu_squared,
        rms_norm,
        rms_norm_eager,
        rms_norm_eager_half,
        rms_norm_quantised,
        row_sum,
        softmax,
        softmax_eager,
        swiglu,
    )
}
