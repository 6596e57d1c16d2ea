"""A graph from a plain list of operators, as a config writes it: `{op: Relu, inputs: [x], output: y, shape:
[32, 64, 112, 112]}`.

`shape` is the output's. Tensors that nothing writes take the output's shape (element-wise operators) or stand
under `input_shapes`; channel parameters of BatchNormalization follow from the shape. No inference beyond
that. `dtype` gives the output a type of its own, `keep: true` says that it is wanted beside who reads it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hwmodels.errors import InputError, unknown
from simulator.workload.graph import ITEM_BYTES, AttributeValue, Graph, Operator, Tensor
from simulator.workload.graph_check import make_graph

KEYS = ("op", "name", "inputs", "output", "shape", "input_shapes", "attributes", "dtype", "keep")
PARAMETERS = 4


def operator_list(
    items: Sequence[Mapping[str, Any]],
    batch: int | None = None,
    dtype: str = "float32",
    name: str = "operators",
    place: str = "",
) -> Graph:
    """The graph of a config's operator list; `batch` replaces the leading dimension of every output shape.

    `place` is where the list stands, for errors; left out, it is the graph's name.
    """
    where = place or name
    operators: list[Operator] = []
    shapes: dict[str, tuple[int, ...]] = {}
    weights: set[str] = set()
    for index, item in enumerate(items):
        own = f"{where}[{index}]"
        check_item(own, item)
        shape = shape_of(f"{own}.shape", item["shape"])
        if batch is not None and shape:
            shape = (batch, *shape[1:])
        shapes[item["output"]] = shape
        inputs = tuple(item["inputs"])
        kind = item["op"]
        given = {
            key: shape_of(f"{own}.input_shapes.{key}", value)
            for key, value in item.get("input_shapes", {}).items()
        }
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
        attributes = tuple((str(key), frozen(value)) for key, value in item.get("attributes", {}).items())
        operators.append(Operator(label_of(index, item), kind, inputs, (item["output"],), attributes))
    written = {output for operator in operators for output in operator.outputs}
    read = {one for operator in operators for one in operator.inputs}
    numbers = {one for operator in operators if operator.kind == "Gather" for one in operator.inputs[1:2]}
    for operator in operators:
        if operator.kind == "Histogram":
            numbers.update(operator.inputs, operator.outputs)
    types = {**dict.fromkeys(numbers, "int32"), **dict.fromkeys(codes_of(operators), "int8")}
    types |= {item["output"]: item["dtype"] for item in items if "dtype" in item}
    kept = {item["output"] for item in items if item.get("keep")}
    tensors = {
        one: Tensor(one, shape, types.get(one, dtype), kind_of(one, written, read - kept, weights))
        for one, shape in shapes.items()
    }
    try:
        return make_graph(name, operators, tensors)
    except InputError as error:
        raise InputError(where, error.problem, error.remedy) from None


def codes_of(operators: Sequence[Operator]) -> set[str]:
    """Tensors that hold quantised codes."""
    made = {one.outputs[0] for one in operators if one.kind == "QuantizeLinear"}
    return made | {one.inputs[0] for one in operators if one.kind == "DequantizeLinear"}


def label_of(index: int, item: Mapping[str, Any]) -> str:
    """The name of an operator: its own, or n and its number."""
    return str(item.get("name", f"n{index}"))


def check_item(place: str, item: Mapping[str, Any]) -> None:
    """An InputError for a key that does not exist, is missing, or has a value of another kind."""
    for key in item:
        if key not in KEYS:
            raise unknown(place, "key", str(key), KEYS)
    for key in ("op", "inputs", "output", "shape"):
        if key not in item:
            raise InputError(place, f"lacks {key}", "give op, inputs, output and shape")
    for key in ("op", "output", "name"):
        if key in item and not (isinstance(item[key], str) and item[key]):
            raise InputError(
                f"{place}.{key}", f"{str(item[key])[:60]!r} is no name", "one word, such as Relu"
            )
    if item.get("dtype", "float32") not in ITEM_BYTES:
        raise unknown(f"{place}.dtype", "type", str(item["dtype"]), tuple(ITEM_BYTES))
    if not isinstance(item.get("keep", False), bool):
        problem = f"{str(item['keep'])[:60]!r} is neither true nor false"
        raise InputError(f"{place}.keep", problem, "keep: true")
    inputs = item["inputs"]
    if not isinstance(inputs, list | tuple) or not all(isinstance(one, str) for one in inputs):
        raise InputError(f"{place}.inputs", f"{str(inputs)[:60]!r} is no list of names", "such as [x, w]")
    for key, example in (("input_shapes", "{w: [64, 64, 3, 3]}"), ("attributes", "{pads: [1, 1, 1, 1]}")):
        if not isinstance(item.get(key, {}), Mapping):
            raise InputError(f"{place}.{key}", f"{str(item[key])[:60]!r} is no mapping", f"such as {example}")


def shape_of(place: str, value: Any) -> tuple[int, ...]:
    """A list of whole numbers."""
    whole = isinstance(value, list | tuple) and all(type(one) is int and one > 0 for one in value)
    if not whole:
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
