"""Reads ONNX models by the `onnx` package with strict shape inference; batch and element type may be set.

The batch replaces the leading dimension of the model's true inputs, and of constant Reshape targets that
start with the old batch. Constant and ConstantOfShape make tensors, not operators, and arithmetic on shapes
is done here. Weights' values are not read, only those of small constants.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from hwmodels.errors import InputError, unknown
from hwmodels.paths import exists, is_file
from simulator.workload.graph import AttributeValue, Graph, Operator, Tensor
from simulator.workload.graph_check import make_graph
from simulator.workload.onnx_batch import CONSTANTS, set_batch, true_inputs
from simulator.workload.onnx_check import check_model, printable
from simulator.workload.onnx_fold import fold, small_constants

MAX_FILE_BYTES = 1 << 31
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
FIRST_OPSET = 9
SMALL = 64


def light_models() -> dict[str, Path]:
    """The models that the onnx package carries, by name (`light_resnet50`)."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return {path.stem: path for path in sorted(folder.glob("light_*.onnx"))}


def import_onnx(model: str | os.PathLike[str], batch: int | None = None, dtype: str | None = None) -> Graph:
    """The graph of a model: a path, or the name of one that the onnx package carries."""
    name = os.fspath(model)
    path = Path(name)
    if path.suffix != ".onnx" and not exists(path):
        known = light_models()
        if name not in known:
            raise unknown("workload.onnx", "model", name, known)
        path = known[name]
    try:
        return graph_of(read(path), path.stem, batch, dtype)
    except InputError as error:
        # What is wrong with a model's inside is said with the file in which it was found.
        known_place = error.place.startswith((str(path), "workload."))
        place = error.place if known_place else f"{path}:{error.place.removeprefix(path.stem).lstrip(': ')}"
        raise InputError(place.rstrip(":"), error.problem, error.remedy) from None


def read(path: Path) -> Any:
    """The parsed file; anything that is no sound ONNX model is one error."""
    import onnx

    if not is_file(path):
        raise InputError(
            str(path), "no such file", "give a path to a .onnx file or a name from the onnx package"
        )
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(str(path), f"larger than {MAX_FILE_BYTES} bytes", "keep weights in external files")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise InputError(str(path), f"is no ONNX model ({first_line(error)})", "export it again") from None
    if not model.graph.node:
        raise InputError(str(path), "holds no operators", "export it again")
    return model


def graph_of(model: Any, name: str, batch: int | None = None, dtype: str | None = None) -> Graph:
    """The graph of a parsed model."""
    import onnx

    versions = [opset.version for opset in model.opset_import if opset.domain in {"", "ai.onnx"}]
    if versions and min(versions) < FIRST_OPSET:
        raise InputError(
            name, f"operator set {min(versions)} is too old", f"convert it to {FIRST_OPSET} or later"
        )
    check_model(model, name)
    if batch is not None:
        if not 1 <= batch < 1 << 24:
            raise InputError("workload.batch", f"{batch} is out of range", "give 1 to 16777215")
        set_batch(model, batch)
    del model.graph.value_info[:]

    def infer(one: Any) -> Any:
        return onnx.shape_inference.infer_shapes(one, check_type=True, strict_mode=True)

    try:
        inferred = fold(model, infer)
    except Exception as error:
        raise InputError(
            name, f"shapes cannot be inferred ({first_line(error)})", "export it again"
        ) from None
    tensors = tensors_of(inferred, name, dtype)
    return make_graph(name, operators_of(inferred, tensors), tensors)


def first_line(error: Exception) -> str:
    """The gist of another library's error."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return printable((lines[0] if lines else type(error).__name__)[:160])


def operators_of(model: Any, tensors: dict[str, Tensor]) -> list[Operator]:
    """Compute nodes; one without a name of its own is called by its number. An optional output that has no
    inferred shape and no reader (Dropout's mask) is left out.
    """
    nodes = [node for node in model.graph.node if node.op_type not in CONSTANTS]
    names = Counter(node.name for node in nodes)
    read = {one for node in nodes for one in node.input} | {one.name for one in model.graph.output}
    return [
        Operator(
            node.name if node.name and names[node.name] == 1 else f"n{index}",
            node.op_type,
            tuple(node.input),
            tuple(one if one in tensors or one in read else "" for one in node.output),
            tuple((one.name, value) for one in node.attribute if (value := plain(one)) is not None),
        )
        for index, node in enumerate(nodes)
    ]


def plain(attribute: Any) -> AttributeValue | None:
    """An attribute's value; tensors and subgraphs have none here."""
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, list | tuple) or type(value).__name__.startswith("Repeated"):
        items = [one.decode(errors="replace") if isinstance(one, bytes) else one for one in value]
        if all(isinstance(one, int | float | str) for one in items):
            return tuple(items)
    return None


def tensors_of(model: Any, name: str, dtype: str | None) -> dict[str, Tensor]:
    """Every tensor whose type and shape are known."""
    inputs = {one.name for one in true_inputs(model)}
    outputs = {one.name for one in model.graph.output}
    weights = {one.name for one in model.graph.initializer}
    weights |= {output for node in model.graph.node if node.op_type in CONSTANTS for output in node.output}
    small = small_values(model)
    found = {}
    for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            continue
        kind = (
            "input"
            if value.name in inputs
            else "weight"
            if value.name in weights
            else "output"
            if value.name in outputs
            else "intermediate"
        )
        shape = tuple(extent(name, value.name, dim) for dim in value.type.tensor_type.shape.dim)
        element = element_name(value.type.tensor_type.elem_type)
        kept = dtype if dtype and element in FLOATS else element
        found[value.name] = Tensor(value.name, shape, kept, kind, small.get(value.name))
    for tensor in model.graph.initializer:
        if tensor.name not in found:
            element = element_name(tensor.data_type)
            element = dtype if dtype and element in FLOATS else element
            values = small.get(tensor.name)
            found[tensor.name] = Tensor(tensor.name, tuple(tensor.dims), element, "weight", values)
    return found


def small_values(model: Any) -> dict[str, tuple[int | float, ...]]:
    """The numbers of constants of up to SMALL elements that stand in the file itself."""
    return {
        name: tuple(value.reshape(-1).tolist())
        for name, value in small_constants(model, SMALL).items()
        if value.dtype.kind in "biuf"
    }


def extent(model: str, tensor: str, dim: Any) -> int:
    """One dimension as a number."""
    if not dim.HasField("dim_value"):
        label = dim.dim_param or "?"
        raise InputError(
            model, f"tensor {tensor} has the dynamic dimension {label!r}", "set workload.batch or fix it"
        )
    return int(dim.dim_value)


def element_name(code: int) -> str:
    """An ONNX element type as NumPy calls it."""
    import onnx

    name: str = onnx.TensorProto.DataType.Name(code).lower()
    return {"float": "float32", "double": "float64"}.get(name, name)
