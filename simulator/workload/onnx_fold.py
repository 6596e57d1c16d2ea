"""Computes the shape arithmetic of an ONNX model when it is read: Shape and Size of tensors whose extents are
known, and whatever follows from them and from integer constants (slices of shapes, ranges, masks, scale
factors).

What a compiler would compute once is a constant here, not an operator; each operator is evaluated by the onnx
package's reference. Float constants that do not come from a shape are weights and stay untouched.
"""

from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.workload.onnx_batch import CONSTANTS, constant_tensors

Array = npt.NDArray[Any]
LIMIT = 1 << 16  # elements of a value that is computed ahead
ROUNDS = 16
PLAIN = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
MARK = "computed ahead: "
TYPES = frozenset({1, 10, 11})  # float, half, double, as ONNX counts them
SHAPES = frozenset({"Shape", "Size"})
# Results have at most as many elements as the product of the inputs' sizes.
MODEST = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Concat", "Div", "Equal", "Flatten", "Floor", "Gather", "Greater",
    "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or",
    "Pow", "Reciprocal", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice", "Sqrt",
    "Squeeze", "Sub", "Transpose", "Unsqueeze", "Where",
})  # fmt: skip
UNSTEADY = frozenset({"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform"})


def fold(model: Any, infer: Any) -> Any:
    """The model with its shape arithmetic done, its shapes inferred by `infer` (model → model)."""
    inferred = infer(model)
    for _ in range(ROUNDS):
        if not fold_once(inferred):
            break
        del inferred.graph.value_info[:]
        inferred = infer(inferred)
    return inferred


def fold_once(model: Any) -> bool:
    """Replace every operator that can be computed now by a constant; whether there was any."""
    import onnx

    shapes, types = static_shapes(model), element_types(model)
    known = small_constants(model)
    derived: set[str] = set()
    for node in model.graph.node:
        if node.op_type == "Constant" and node.name.startswith(MARK):
            derived.update(node.output)
    outputs = {one.name for one in model.graph.output}
    kept, changed = [], False
    for node in model.graph.node:
        values = None
        if node.op_type not in UNSTEADY | {"Constant"} and not outputs & set(node.output):
            values = computed(model, node, known, derived, shapes, types)
        if values is None:
            kept.append(node)
            continue
        changed = True
        for name, value in values.items():
            known[name] = value
            derived.add(name)
            tensor = onnx.numpy_helper.from_array(value, name)
            kept.append(onnx.helper.make_node("Constant", [], [name], name=MARK + name, value=tensor))
    if changed:
        del model.graph.node[:]
        model.graph.node.extend(kept)
    return changed


def static_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Shapes that are known to the last extent."""
    found = {}
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        shape = value.type.tensor_type
        if value.type.HasField("tensor_type") and shape.HasField("shape"):
            extents = shape.shape.dim
            if all(extent.HasField("dim_value") for extent in extents):
                found[value.name] = tuple(extent.dim_value for extent in extents)
    for tensor in model.graph.initializer:
        found[tensor.name] = tuple(tensor.dims)
    return found


def element_types(model: Any) -> dict[str, Any]:
    """NumPy element types of tensors that have one."""
    import onnx

    found = {}
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        element = value.type.tensor_type.elem_type
        if value.type.HasField("tensor_type") and element in TYPES:
            found[value.name] = onnx.helper.tensor_dtype_to_np_dtype(element)
    return found


def small_constants(model: Any, most: int = LIMIT) -> dict[str, Array]:
    """Values of constants of up to `most` elements that stand in the file."""
    import onnx

    found = {}
    for name, tensor in constant_tensors(model):
        external = tensor.data_location == onnx.TensorProto.EXTERNAL
        if external or any(extent < 0 for extent in tensor.dims) or prod(tensor.dims) > most:
            continue
        with suppress(Exception):  # a constant that cannot be read has no values, only a shape
            found[name] = onnx.numpy_helper.to_array(tensor)
    for node in model.graph.node:
        value = next((one for one in node.attribute if one.name in PLAIN), None)
        if node.op_type == "Constant" and value is not None:
            numbers = onnx.helper.get_attribute_value(value)
            found[node.output[0]] = np.array(numbers, PLAIN[value.name])
    return found


def computed(
    model: Any,
    node: Any,
    known: dict[str, Array],
    derived: set[str],
    shapes: dict[str, tuple[int, ...]],
    types: dict[str, Any],
) -> dict[str, Array] | None:
    """The results of an operator, or None where it has to run on the card."""
    import onnx

    if node.op_type in SHAPES:
        if node.input[0] not in shapes:
            return None
        shape = shapes[node.input[0]]
        if node.op_type == "Size":
            return {node.output[0]: np.array(np.prod(shape, dtype=np.int64))}
        ends = {one.name: one.i for one in node.attribute}
        return {node.output[0]: np.array(shape[ends.get("start") : ends.get("end")], np.int64)}
    if node.op_type == "CastLike" and node.input[0] in known and node.input[1] in types:
        return {node.output[0]: known[node.input[0]].astype(types[node.input[1]])}
    names = [name for name in node.input if name]
    if not names or any(name not in known for name in names):
        return None
    if any(one.type in {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS} for one in node.attribute):
        return None
    if node.op_type in CONSTANTS and not derived & set(names):
        return None
    feed = {name: known[name] for name in names}
    if not bounded(node, feed, shapes):
        return None
    results = evaluated(model, node, feed)
    if results is None or any(value.size > LIMIT for value in results.values()):
        return None
    whole = all(value.dtype.kind in "iub" for value in results.values())
    return results if whole or derived & set(names) else None


def bounded(node: Any, feed: dict[str, Array], shapes: dict[str, tuple[int, ...]]) -> bool:
    """Whether results are known to be small before anything is computed: a file may ask for a range of any
    length.
    """
    if node.op_type in MODEST:
        return prod(max(1, value.size) for value in feed.values()) <= LIMIT
    return all(name in shapes and prod(shapes[name]) <= LIMIT for name in node.output if name)


def evaluated(model: Any, node: Any, feed: dict[str, Array]) -> dict[str, Array] | None:
    """One operator by the reference evaluator; None where that has no answer."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    names = [name for name in node.output if name]
    try:
        inputs = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in feed.items()
        ]
        unknown = onnx.TensorProto.UNDEFINED
        outputs = [onnx.helper.make_tensor_value_info(name, unknown, None) for name in names]
        graph = onnx.helper.make_graph([node], "one", inputs, outputs)
        alone = onnx.helper.make_model(graph, opset_imports=model.opset_import)
        results = ReferenceEvaluator(alone).run(names, feed)
    except Exception:
        # An operator that the reference cannot run stays an operator: nothing is lost.
        return None
    if any(not isinstance(value, np.ndarray | np.generic) for value in results):
        return None
    return {name: np.asarray(value) for name, value in zip(names, results, strict=True)}
