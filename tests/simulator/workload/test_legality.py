"""What has a kernel program and what has not, with the reasons; the ways to state padding, against ONNX's
inference.
"""

import pytest
from onnx import TensorProto, helper

from hwmodels.errors import InputError
from simulator.workload.families import family_of
from simulator.workload.graph import Operator, Tensor
from simulator.workload.graph_check import make_graph
from simulator.workload.legality import chained_input, convolution_of, refused_element_wise
from simulator.workload.onnx_import import graph_of
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE


def graph_with(operator, **shapes):
    """A graph of one operator; tensors are half precision unless their name starts with `i` (int64) or `f`
    (float32).
    """
    tensors = {
        name: Tensor(
            name,
            tuple(shape),
            {"i": "int64", "f": "float32"}.get(name[0], "float16"),
            "output" if name in operator.outputs else "input",
        )
        for name, shape in shapes.items()
    }
    return make_graph("one", [operator], tensors)


IMAGE = (1, 8, 4, 4)
NORM = ("x", "g", "b", "m", "v")
VECTORS = dict.fromkeys(NORM[1:], (8,))


@pytest.mark.parametrize(
    ("operator", "shapes", "reason"),
    [
        (Operator("o", "Relu", ("x",), ("y",)), {"x": IMAGE, "y": IMAGE}, ""),
        (Operator("o", "Sum", ("x", "z", "x"), ("y",)), {"x": IMAGE, "z": IMAGE, "y": IMAGE}, ""),
        (Operator("o", "Add", ("x", "z"), ("y",)), {"x": IMAGE, "z": (8, 1, 1), "y": IMAGE}, "broadcasts"),
        (Operator("o", "Sum", ("x",), ("y",)), {"x": IMAGE, "y": IMAGE}, "one operand"),
        (Operator("o", "Sum", ("x", "x", "x"), ("y",)), {"x": IMAGE, "y": IMAGE}, "three times"),
        (Operator("o", "Softmax", ("x",), ("y",)), {"x": IMAGE, "y": IMAGE}, "Softmax has no kernel"),
        (Operator("o", "Relu", ("ix",), ("iy",)), {"ix": IMAGE, "iy": IMAGE}, "int64"),
        (Operator("o", "Relu", ("x",), ("y",)), {"x": (0, 8), "y": (0, 8)}, "empty"),
        (Operator("o", "BatchNormalization", NORM, ("y",)), {"x": IMAGE, "y": IMAGE, **VECTORS}, ""),
        (
            Operator("o", "BatchNormalization", NORM, ("y",), (("training_mode", 1),)),
            {"x": IMAGE, "y": IMAGE, **VECTORS},
            "training",
        ),
    ],
)
def test_element_wise_or_why_not(operator, shapes, reason):
    graph = graph_with(operator, **shapes)
    said = refused_element_wise(graph, operator)
    assert (reason in said) if reason else not said
    assert (chained_input(graph, operator) is None) == bool(reason)
    kernels = plan_for(graph, "vertical", AMPERE).kernels
    assert any(kernel.opaque for kernel in kernels) == (
        bool(reason) and family_of(graph, operator)[0] is None
    )


@pytest.mark.parametrize(
    ("attributes", "pixels", "filters", "result", "reason"),
    [
        ({"group": 2}, IMAGE, (8, 4, 1, 1), IMAGE, ""),
        ({"group": 2}, IMAGE, (6, 4, 1, 1), (1, 6, 4, 4), "6 filters"),
        ({"dilations": (1, 2)}, IMAGE, (8, 8, 1, 2), (1, 8, 4, 2), ""),
        ({}, (1, 8, 4), (8, 8, 1), (1, 8, 4), "1 dimensions"),
        ({"dilations": (2, 1)}, IMAGE, (8, 8, 2, 1), (1, 8, 2, 4), ""),
    ],
)
def test_convolution_or_why_not(attributes, pixels, filters, result, reason):
    operator = Operator("o", "Conv", ("x", "w"), ("y",), tuple(attributes.items()))
    graph = graph_with(operator, x=pixels, w=filters, y=result)
    shape, said = convolution_of(graph, operator)
    assert (shape is None) == bool(reason)
    assert reason in said
    (kernel,) = plan_for(graph, "none", AMPERE).kernels
    assert reason in kernel.opaque


def test_single_precision_convolution_has_a_program():
    operator = Operator("o", "Conv", ("fx", "fw"), ("fy",))
    graph = graph_with(operator, fx=IMAGE, fw=(8, 8, 1, 1), fy=IMAGE)
    assert convolution_of(graph, operator)[0].element_bytes == 4


@pytest.mark.parametrize(
    ("filters", "result", "message"),
    [((8, 7, 1, 1), IMAGE, "same channels"), ((8, 8, 3, 3), IMAGE, r"it is \[1, 8, 2, 2\]")],
)
def test_shapes_that_contradict_are_refused(filters, result, message):
    operator = Operator("o", "Conv", ("x", "w"), ("y",))
    with pytest.raises(InputError, match=message):
        convolution_of(graph_with(operator, x=IMAGE, w=filters, y=result), operator)


@pytest.mark.parametrize("rule", ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
@pytest.mark.parametrize("window", [(3, 3), (2, 4)])
def test_every_way_to_state_padding_gives_onnx_shapes(rule, strides, window):
    node = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad=rule, strides=strides, kernel_shape=window)
    half = TensorProto.FLOAT16
    made = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", half, (2, 8, 13, 11)),
            helper.make_tensor_value_info("w", half, (16, 8, *window)),
        ],
        [helper.make_tensor_value_info("y", half, None)],
    )
    graph = graph_of(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)]), "m")
    shape, _ = convolution_of(graph, graph.operators[0])
    assert graph.tensors["y"].shape == (2, 16, shape.out_height, shape.out_width)
