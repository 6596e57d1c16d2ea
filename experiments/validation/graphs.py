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


def broadcast(kind: str, inputs: list[str], output: str, shape: list[int], **more: Any) -> dict[str, Any]:
    """An operator of two tensors of which one spreads, as PyTorch computes it: its kernel for anything that
    is not contiguous has 128 threads, of which each takes two elements of four bytes in turn.
    """
    return op(kind, inputs, output, shape, attributes={"elements": 2, "in_turn": 1}, **more)


def convert(source: str, output: str, shape: list[int], dtype: str | None = None) -> dict[str, Any]:
    """A conversion as PyTorch computes it: between types its threads take four elements, not vectors."""
    item = op("Cast", [source], output, shape, attributes={"elements": 4})
    return item | ({"dtype": dtype} if dtype else {})


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


def triton_threads(width: int) -> dict[str, int]:
    """Threads that share a row in Liger-Kernel's programs of Triton, one program a row: 4, 8, 16 or 32 warps
    by the power of two that holds the row, as its `calculate_settings` says.
    """
    block = 1 << (width - 1).bit_length()
    warps = next((count for least, count in ((32768, 32), (8192, 16), (2048, 8)) if block >= least), 4)
    return {"threads": 32 * warps}


def liger_layer_norm(rows: int, width: int) -> Items:
    """The same as Liger-Kernel does it."""
    (one,) = layer_norm(rows, width)
    return [one | {"attributes": triton_threads(width)}]


def rms_norm(rows: int, width: int) -> Items:
    """RMS normalisation with a scale."""
    return [op("RMSNormalization", ["x", "g"], "y", [rows, width], g=[width])]


def liger_rms_norm(rows: int, width: int) -> Items:
    """The same as Liger-Kernel does it."""
    (one,) = rms_norm(rows, width)
    return [one | {"attributes": triton_threads(width)}]


def rms_norm_eager_half(rows: int, width: int) -> Items:
    """The same of half-precision rows: converted first, worked on in single precision, converted before the
    scale, which is of single precision and makes the result so.
    """
    shape = [rows, width]
    chain = rms_norm_eager(rows, width)
    for item in chain[:-1]:
        item["inputs"] = ["w" if name == "x" else name for name in item["inputs"]]
        item["dtype"] = "float32"
    turns = {"elements": 4, "in_turn": 1}
    scaled = op("Mul", ["h", "g"], "y", shape, g=[width], attributes=turns) | {"dtype": "float32"}
    return [convert("x", "w", shape, "float32"), *chain[:-1], convert("n", "h", shape), scaled]


def rms_norm_eager(rows: int, width: int) -> Items:
    """The same as a framework writes it: square, mean, root, product, scale; in single precision."""
    shape, column = [rows, width], [rows, 1]
    return [
        op("Mul", ["x", "x"], "s", shape),
        op("ReduceMean", ["s"], "m", column, attributes={"axes": [1], "keepdims": 1}),
        op("Add", ["m", "e"], "a", column, e=[1]),
        op("Sqrt", ["a"], "r", column),
        broadcast("Div", ["x", "r"], "n", shape),
        broadcast("Mul", ["n", "g"], "y", shape, g=[width]),
    ]


def add_rms_norm(rows: int, width: int) -> Items:
    """A residual is added first, and the sum is kept."""
    shape = [rows, width]
    total = op("Add", ["x", "z"], "s", shape) | {"keep": True}
    return [total, op("RMSNormalization", ["s", "g"], "y", shape, g=[width])]


def liger_add_rms_norm(rows: int, width: int) -> Items:
    """The same as Liger-Kernel does it."""
    total, norm = add_rms_norm(rows, width)
    return [total, norm | {"attributes": triton_threads(width)}]


def add_then_liger_rms_norm(rows: int, width: int) -> Items:
    """The module that Liger-Kernel's benchmark sets beside it: a sum, its kernel of RMS normalisation, and
    once more a product with a scale.
    """
    shape = [rows, width]
    attributes = triton_threads(width)
    return [
        op("Add", ["x", "z"], "s", shape),
        op("RMSNormalization", ["s", "g"], "n", shape, g=[width], attributes=attributes),
        broadcast("Mul", ["n", "h"], "y", shape, h=[width]),
    ]


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
        broadcast("Sub", ["x", "m"], "d", shape),
        op("Exp", ["d"], "e", shape),
        op("ReduceSum", ["e"], "s", column, attributes=kept),
        broadcast("Div", ["e", "s"], "y", shape),
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
        add_then_liger_rms_norm,
        attention,
        attention_eager,
        bias_add,
        bias_gelu,
        bias_softmax,
        copy,
        layer_norm,
        layer_norm_eager,
        layer_norm_twice,
        liger_add_rms_norm,
        liger_layer_norm,
        liger_rms_norm,
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
