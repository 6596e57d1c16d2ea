"""Importing ONNX: the nine models of the onnx package, batch and type, and files that are hostile."""

from contextlib import suppress

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from hwmodels.errors import InputError
from simulator.workload.onnx_import import graph_of, import_onnx, light_models

COMPUTE_NODES = {
    "light_bvlc_alexnet": 24,
    "light_densenet121": 910,
    "light_inception_v1": 144,
    "light_inception_v2": 509,
    "light_resnet50": 176,
    "light_shufflenet": 203,
    "light_squeezenet": 66,
    "light_vgg19": 46,
    "light_zfnet512": 22,
}


@pytest.mark.parametrize("batch", [1, 2, 32])
@pytest.mark.parametrize("name", COMPUTE_NODES)
def test_light_models(name, batch):
    graph = import_onnx(name, batch, "float16")
    assert len(graph.operators) == COMPUTE_NODES[name]
    result = graph.tensors[graph.operators[-1].outputs[0]]
    assert result.shape[:2] == (batch, 1000)
    assert result.dtype == "float16"


def test_first_operators_of_resnet():
    graph = import_onnx("light_resnet50")
    assert [(op.name, op.kind) for op in graph.subgraph("n0", "n3").operators] == [
        ("n0", "Conv"),
        ("n1", "BatchNormalization"),
        ("n2", "Relu"),
        ("n3", "MaxPool"),
    ]
    assert graph.tensors["r0"].shape == (1, 64, 112, 112)
    assert graph.tensors["r0"].dtype == "float32"
    # 4.09 G multiply-adds an image, convolutions and the final product.
    macs = 0
    for op in graph.operators:
        if op.kind in {"Conv", "Gemm"}:
            weights = graph.tensors[op.inputs[1]].shape
            per_output = weights[1] * weights[2] * weights[3] if op.kind == "Conv" else weights[1]
            macs += graph.tensors[op.outputs[0]].elements * per_output
    assert round(macs / 1e9, 2) == 4.09


def model(nodes, shape=(1, 4), opset=13, **more):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        **more,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


RELU = helper.make_node("Relu", ["x"], ["y"])


def test_unnamed_nodes_are_numbered():
    graph = graph_of(
        model([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]), "m"
    )
    assert [operator.name for operator in graph.operators] == ["n0", "n1"]


def test_dynamic_dimension_needs_a_value():
    with pytest.raises(InputError, match="dynamic dimension 'N'"):
        graph_of(model([RELU], ("N", 4)), "m")
    assert graph_of(model([RELU], ("N", 4)), "m", batch=3).tensors["y"].shape == (3, 4)


def test_unknown_operator_without_shape_is_refused():
    odd = [helper.make_node("Strange", ["x"], ["a"], domain="odd"), helper.make_node("Relu", ["a"], ["y"])]
    made = model(odd)
    made.opset_import.append(helper.make_opsetid("odd", 1))
    with pytest.raises(InputError, match="shape"):
        graph_of(made, "m")


def test_old_operator_set_is_refused():
    with pytest.raises(InputError, match="too old"):
        graph_of(model([RELU], opset=6), "m")


def test_inconsistent_shapes_are_refused():
    bad = [helper.make_node("Add", ["x", "s"], ["y"])]
    other = [onnx.numpy_helper.from_array(np.zeros(3, np.float32), "s")]
    with pytest.raises(InputError, match="shapes cannot be inferred"):
        graph_of(model(bad, initializer=other), "m")


def test_missing_file_and_name(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        import_onnx(tmp_path / "none.onnx")
    with pytest.raises(InputError, match="did you mean 'light_resnet50'"):
        import_onnx("light_resnet5")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_give_one_error(tmp_path, data):
    original = light_models()["light_zfnet512"].read_bytes()
    cut = data.draw(st.integers(0, len(original)))
    damaged = bytearray(original[:cut] if data.draw(st.booleans()) else original)
    for _ in range(data.draw(st.integers(0, 8))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.onnx"
    path.write_bytes(bytes(damaged))
    with suppress(InputError):
        import_onnx(path)
