"""Epilogues of products and convolutions with functions and column additions, from the graph, run on values
against onnx.reference.
"""

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from simulator.workload.build import KernelMaker
from simulator.workload.groups import Group, groups_for
from simulator.workload.layout import Placement
from simulator.workload.operator_list import operator_list
from simulator.workload.target import AMPERE

RNG = np.random.default_rng(8)
FUNCTIONS = ["Abs", "Neg", "Exp", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Mish", "HardSwish"]
FUNCTIONS += ["Sign", "Floor", "Ceil", "Round", "Gelu", "LeakyRelu", "Elu", "Celu", "Selu", "HardSigmoid"]
FUNCTIONS += ["Reciprocal"]


def values_of(graph, dtype):
    """Random values of what nothing in the graph writes."""
    return {
        name: (RNG.standard_normal(tensor.shape) / 2).astype(dtype)
        for name, tensor in graph.tensors.items()
        if tensor.kind in {"input", "weight"}
    }


def chain(first, shapes, result, following):
    """A first operator and what follows it; a following pair names a kind and its other operand."""
    items = [
        {
            "op": first,
            "inputs": list(shapes),
            "output": "y0",
            "shape": list(result),
            "input_shapes": {name: list(shape) for name, shape in shapes.items()},
        }
    ]
    for number, (kind, other) in enumerate(following):
        item = {"op": kind, "inputs": [f"y{number}"], "output": f"y{number + 1}", "shape": list(result)}
        if other:
            item["inputs"].append("b")
            item["input_shapes"] = {"b": list(other)}
        items.append(item)
    return items


def truth(items, values):
    """What onnx.reference says, in single precision."""
    nodes = [helper.make_node(item["op"], item["inputs"], [item["output"]]) for item in items]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in values.items()]
    last = helper.make_tensor_value_info(items[-1]["output"], TensorProto.FLOAT, items[-1]["shape"])
    graph = helper.make_graph(nodes, "g", inputs, [last])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    return ReferenceEvaluator(model).run(None, {n: v.astype(np.float32) for n, v in values.items()})[0]


def check(run_kernels, items, dtype, weights=("b",)):
    graph = operator_list(items, dtype=dtype)
    tensors = {
        name: replace(tensor, kind="weight") if name in weights else tensor
        for name, tensor in graph.tensors.items()
    }
    graph = replace(graph, tensors=tensors)
    values = values_of(graph, dtype)
    placement = Placement()
    maker = KernelMaker(graph, AMPERE, placement)
    groups = groups_for(graph, "vertical")
    assert len(groups) == 1
    given = dict(values)
    if "b" in values:
        given["b.shift"] = values["b"].reshape(1, -1)
    (got,), _ = run_kernels(maker.kernels(groups[0]), placement, given, [items[-1]["output"]])
    tolerance = (1e-2, 1e-2) if dtype == "float16" else (1e-4, 1e-4)
    np.testing.assert_allclose(got.astype(np.float64), truth(items, values), *tolerance)


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_product_with_a_function_behind_it(run_kernels, kind):
    check(run_kernels, chain("MatMul", {"x": (9, 8), "w": (8, 20)}, (9, 20), [(kind, None)]), "float32")


@pytest.mark.parametrize("kind", ["Log", "Sqrt"])
def test_functions_of_positive_numbers(run_kernels, kind):
    items = chain("MatMul", {"x": (9, 8), "w": (8, 20)}, (9, 20), [("Exp", None), (kind, None)])
    check(run_kernels, items, "float32")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("bias", [(24,), (1, 1, 24)])
def test_a_product_with_bias_and_gelu(run_kernels, dtype, bias):
    shapes = {"x": (2, 9, 16), "w": (16, 24)}
    items = chain("MatMul", shapes, (2, 9, 24), [("Add", bias), ("Gelu", None)])
    check(run_kernels, items, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_convolution_with_bias_and_sigmoid(run_kernels, dtype):
    shapes = {"x": (1, 8, 5, 6), "w": (16, 8, 1, 1)}
    items = chain("Conv", shapes, (1, 16, 5, 6), [("Add", (16, 1, 1)), ("Sigmoid", None)])
    check(run_kernels, items, dtype, ("b", "w"))


def test_a_row_of_biases_is_no_column():
    items = chain("MatMul", {"x": (8, 8), "w": (8, 12)}, (8, 12), [("Add", (8, 1))])
    graph = operator_list(items, dtype="float32")
    assert [len(group.operators) for group in groups_for(graph, "vertical")] == [1, 1]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    ("first", "shapes", "result"),
    [
        ("Conv", {"x": (1, 8, 5, 6), "w": (16, 8, 1, 1)}, (1, 16, 5, 6)),
        ("MatMul", {"x": (9, 8), "w": (8, 20)}, (9, 20)),
    ],
)
@pytest.mark.parametrize("kept", [("y0",), ("y1",), ("y0", "y1", "y2")])
def test_values_inside_an_epilogue_are_stored_for_others(run_kernels, dtype, first, shapes, result, kept):
    """The raw product, a function of it, and what follows: all come out of one kernel."""
    items = chain(first, shapes, result, [("Abs", None), ("Neg", None), ("Sigmoid", None)])
    items += [{"op": "Exp", "inputs": [name], "output": f"{name}.e", "shape": list(result)} for name in kept]
    graph = operator_list(items, dtype=dtype)
    values = values_of(graph, dtype)
    placement = Placement()
    maker = KernelMaker(graph, AMPERE, placement)
    names = [*kept, "y3"]
    (kernel,) = maker.kernels(Group(tuple(graph.operators[:4])))
    found, _ = run_kernels([kernel], placement, values, names)
    tolerance = (1e-2, 1e-2) if dtype == "float16" else (1e-4, 1e-4)
    for name, got in zip(names, found, strict=True):
        until = [item for item in items[:4] if item["output"] <= name]
        np.testing.assert_allclose(got.astype(np.float64), truth(until, values), *tolerance)
