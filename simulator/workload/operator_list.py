"""A graph from a plain list of operators, as a config writes it: `{op: Relu, inputs: [x], output: y, shape:
[32, 64, 112, 112]}`.

`shape` is the output's. Tensors that nothing writes take the output's shape (element-wise operators) or stand
under `input_shapes`; channel parameters of BatchNormalization follow from the shape. No inference beyond
that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hwmodels.errors import InputError, unknown
from simulator.workload.graph import AttributeValue, Graph, Operator, Tensor
from simulator.workload.graph_check import make_graph

KEYS = ("op", "name", "inputs", "output", "shape", "input_shapes", "attributes")
PARAMETERS = 4


def operator_list(
    items: Sequence[Mapping[str, Any]],
    batch: int | None = None,
    dtype: str = "float32",
    name: str = "operators",
) -> Graph:
    """The graph of a config's operator list; `batch` replaces the leading dimension of every output shape."""
    operators: list[Operator] = []
    shapes: dict[str, tuple[int, ...]] = {}
    weights: set[str] = set()
    for index, item in enumerate(items):
        place = f"{name}[{index}]"
        for key in item:
            if key not in KEYS:
                raise unknown(place, "key", key, KEYS)
        for key in ("op", "inputs", "output", "shape"):
            if key not in item:
                raise InputError(place, f"lacks {key}", "give op, inputs, output and shape")
        shape = shape_of(place, item["shape"])
        if batch is not None and shape:
            shape = (batch, *shape[1:])
        shapes[item["output"]] = shape
        inputs = tuple(str(one) for one in item["inputs"])
        kind = str(item["op"])
        given = {key: shape_of(place, value) for key, value in dict(item.get("input_shapes", {})).items()}
        shapes.update({key: value for key, value in given.items() if key not in shapes})
        for position, one in enumerate(inputs):
            if one in shapes:
                continue
            if kind == "BatchNormalization" and position:
                shapes[one] = shape[1:2]
            else:
                shapes[one] = shape
        if kind == "BatchNormalization":
            weights.update(inputs[1 : 1 + PARAMETERS])
        elif kind in {"Conv", "Gemm"}:
            weights.update(inputs[1:])
        attributes = tuple(
            (str(key), frozen(value)) for key, value in dict(item.get("attributes", {})).items()
        )
        label = str(item.get("name", f"n{index}"))
        operators.append(Operator(label, kind, inputs, (str(item["output"]),), attributes))
    written = {output for operator in operators for output in operator.outputs}
    read = {one for operator in operators for one in operator.inputs}
    tensors = {
        one: Tensor(one, shape, dtype, kind_of(one, written, read, weights)) for one, shape in shapes.items()
    }
    return make_graph(name, operators, tensors)


def shape_of(place: str, value: Any) -> tuple[int, ...]:
    """A list of whole numbers."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, int) and one > 0 for one in value):
        raise InputError(
            place, f"shape {value!r} is no list of positive whole numbers", "such as [32, 64, 112, 112]"
        )
    return tuple(value)


def frozen(value: Any) -> AttributeValue:
    """A config's value as an attribute."""
    return tuple(value) if isinstance(value, list) else value


def kind_of(name: str, written: set[str], read: set[str], weights: set[str]) -> str:
    """The kind of a tensor from who touches it."""
    if name in written:
        return "intermediate" if name in read else "output"
    return "weight" if name in weights else "input"
