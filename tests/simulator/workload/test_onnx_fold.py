"""Shape arithmetic at import: what is computed ahead, what stays an operator, what asks for too much."""

import time

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hwmodels.errors import InputError
from simulator.workload.onnx_import import graph_of, import_onnx
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE


def model(nodes, constants=(), shape=(3, 4, 5), outputs=("y",)):
    return helper.make_model(
        helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            [numpy_helper.from_array(np.array(value), name) for name, value in constants],
        ),
        opset_imports=[helper.make_opsetid("", 19)],
    )


def kinds(graph):
    return [operator.kind for operator in graph.operators]


def test_a_reshape_by_its_own_shape():
    """Shape, Slice, Concat, Reshape: only the Reshape is left, and it is a view."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "one"], ["head"]),
        helper.make_node("Concat", ["head", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    graph = graph_of(model(nodes, [("zero", [0]), ("one", [1]), ("rest", [-1])]), "m")
    assert kinds(graph) == ["Reshape", "Relu"]
    assert graph.tensors["y"].shape == (3, 20)
    assert graph.tensors["to"].values == (3, -1)
    assert plan_for(graph, "none", AMPERE).views == ("n0: Reshape is a view",)


def test_scale_factors_from_a_shape_are_constants():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=-1),
        helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Sqrt", ["f"], ["r"]),
        helper.make_node("Div", ["x", "r"], ["y"]),
    ]
    graph = graph_of(model(nodes, shape=(2, 16)), "m")
    assert kinds(graph) == ["Div"]
    assert graph.tensors["r"].values == (4.0,)


def test_weights_are_not_computed():
    """A product of two float constants is a weight of the model, not shape arithmetic."""
    nodes = [helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])]
    weights = [("a", np.ones(5, np.float32)), ("b", np.ones(5, np.float32))]
    assert kinds(graph_of(model(nodes, weights), "m")) == ["Mul", "Add"]


def test_results_of_the_model_stay():
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Relu", ["x"], ["y"])]
    made = model(nodes)
    made.graph.output.append(helper.make_tensor_value_info("s", TensorProto.INT64, None))
    assert kinds(graph_of(made, "m")) == ["Shape", "Relu"]


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Range", ["zero", "many", "one"], ["r"]),
        helper.make_node("Expand", ["zero", "wide"], ["r"]),
        helper.make_node("Tile", ["row", "wide1"], ["r"]),
    ],
)
def test_a_range_of_any_length_is_not_computed(node):
    """2^40 elements are refused or left alone at once, not allocated."""
    nodes = [
        node,
        helper.make_node("Cast", ["r"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    many = 1 << 40
    constants = [("zero", 0), ("one", 1), ("many", many), ("wide", [many]), ("row", [7]), ("wide1", [many])]
    made = model(nodes, [(n, np.array(v, np.int64)) for n, v in constants], shape=(1,))
    begin = time.monotonic()
    try:
        left = kinds(graph_of(made, "m"))
    except InputError:
        left = []
    assert left in ([], [node.op_type, "Cast", "Add"])
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet", "light_bvlc_alexnet"])
def test_light_models_lower_in_full(name):
    check_model(name, 2)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 2, 32])
@pytest.mark.parametrize(
    "name",
    [
        "light_bvlc_alexnet",
        "light_densenet121",
        "light_inception_v1",
        "light_inception_v2",
        "light_resnet50",
        "light_shufflenet",
        "light_squeezenet",
        "light_vgg19",
        "light_zfnet512",
    ],
)
def test_all_light_models_lower_in_full(name, batch):
    check_model(name, batch)


def check_model(name, batch):
    """Every operator is in a kernel or a view, none is opaque."""
    graph = import_onnx(name, batch, "float16")
    plan = plan_for(graph, "vertical", AMPERE)
    assert plan.opaque == []
    inside = {operator.name for kernel in plan.kernels for operator in kernel.group.operators}
    views = {view.partition(":")[0] for view in plan.views}
    assert inside | views == {operator.name for operator in graph.operators}
    assert not inside & views
