"""Puts a batch into a parsed ONNX model: into its true inputs, and into constant Reshape targets that start
with the old batch. A weight's own reshape is left alone.
"""

from collections.abc import Iterator
from typing import Any

CONSTANTS = frozenset({"Constant", "ConstantOfShape"})
MOST_DIMENSIONS = 64


def true_inputs(model: Any) -> list[Any]:
    """Inputs without a default value: what a caller feeds."""
    constants = {one.name for one in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in constants]


def set_batch(model: Any, batch: int) -> None:
    """Put a batch into inputs, and into Reshape targets that start with the old one; outputs are inferred
    anew.
    """
    old = set()
    for one in true_inputs(model):
        dims = one.type.tensor_type.shape.dim
        if len(dims) < 2:
            continue
        old.add(dims[0].dim_value)
        dims[0].ClearField("dim_param")
        dims[0].dim_value = batch
    produced = {
        output for node in model.graph.node if node.op_type not in CONSTANTS for output in node.output
    }
    fed = {one.name for one in true_inputs(model)}
    targets = {
        node.input[1]
        for node in model.graph.node
        if node.op_type == "Reshape" and len(node.input) > 1 and node.input[0] in produced | fed
    }
    for tensor in constant_tensors(model):
        if tensor[0] in targets:
            rewrite_leading(tensor[1], old, batch)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")


def constant_tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """(name, tensor) of initializers and of Constant nodes."""
    for tensor in model.graph.initializer:
        yield tensor.name, tensor
    for node in model.graph.node:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    yield node.output[0], attribute.t


def rewrite_leading(tensor: Any, old: set[int], batch: int) -> None:
    """Replace the first element of an integer vector where it is the old batch. What is no short vector that
    stands whole in the file is left to the inference of shapes, which refuses it.
    """
    import onnx

    external = tensor.data_location == onnx.TensorProto.EXTERNAL
    if external or len(tensor.dims) != 1 or not 1 <= tensor.dims[0] <= MOST_DIMENSIONS:
        return
    try:
        values = onnx.numpy_helper.to_array(tensor).copy()
    except Exception:
        return
    if int(values[0]) in old:
        values[0] = batch
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
