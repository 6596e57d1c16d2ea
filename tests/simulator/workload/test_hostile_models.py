"""Models that are wrong or meant to harm: each is one error of one line that names the fault, nothing outside
the file is read, and nothing of an absurd size is made.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hwmodels.errors import InputError
from simulator.workload.onnx_import import graph_of
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE

WIDE = 1 << 62


def model(nodes, shape=(2, 4), dtype=TensorProto.FLOAT, **more):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        **more,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def node(kind, inputs, output, name="", **attributes):
    return helper.make_node(kind, inputs.split(), [output], name=name, **attributes)


def tensor(name, dims, kind=TensorProto.INT64, raw=None, location=None):
    """A tensor as a file may claim it: any size, with or without its numbers."""
    made = TensorProto(name=name, data_type=kind)
    made.dims.extend(dims)
    if raw is not None:
        made.raw_data = raw
    if location is not None:
        made.data_location = TensorProto.EXTERNAL
        entry = made.external_data.add()
        entry.key, entry.value = "location", location
    return made


def values(name, *numbers):
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


RESHAPE = [node("Reshape", "x w", "y")]
FILTERS = [tensor("w", [4, 4, 3, 3], TensorProto.FLOAT)]
CASES = {
    "cycle": (
        model([node("Relu", "b", "a", "p"), node("Relu", "a", "b", "q"), node("Relu", "a", "y")]),
        "cycle",
    ),
    "waits for itself": (model([node("Relu", "y", "y")]), "writes y .Relu. waits for itself"),
    "no shape": (model([node("Relu", "x", "y")], None), "shape of tensor x is unknown"),
    "unknown dimension": (model([node("Relu", "x", "y")], (None, 4)), "dynamic dimension"),
    "negative dimension": (model([node("Relu", "x", "y")], (-3, 4)), "out of range"),
    "absurd dimensions": (model([node("Relu", "x", "y")], (WIDE, WIDE)), "out of range"),
    "absurd expansion": (
        model([node("Expand", "x s", "y")], initializer=[values("s", 1 << 40, 1, 1)]),
        "out of range",
    ),
    "absurd padding": (
        model([node("Pad", "x s", "y")], initializer=[values("s", 1 << 60, 0, 0, 1 << 60)]),
        "out of range",
    ),
    "padded out of range": (
        model([node("Conv", "x w", "y", pads=[1 << 40] * 4)], (1, 4, 8, 8), initializer=FILTERS),
        "out of range",
    ),
    "no stride": (
        model([node("Conv", "x w", "y", strides=[0, 0])], (1, 4, 8, 8), initializer=FILTERS),
        "strides",
    ),
    "two writers": (model([node("Relu", "x", "y"), node("Exp", "x", "y")]), "both write y"),
    "texts": (model([node("Cast", "x", "y", to=1)], dtype=TensorProto.STRING), "unknown element type"),
    "escape sequence": (model([node("Relu", "x", "y", "a\x1b[31m")]), "unprintable"),
    "line in a tensor's name": (
        model([node("Relu", "x", "y"), helper.make_node("Relu", ["y"], ["a\nb"])]),
        "unprint",
    ),
    "endless name": (model([node("Relu", "x", "y", "a" * 5000)]), "5000 characters"),
    "cut numbers": (model(RESHAPE, initializer=[tensor("w", [2], raw=b"abc")]), "shapes cannot be inferred"),
    "numbers that are not there": (
        model(RESHAPE, initializer=[tensor("w", [1 << 40])]),
        "shapes cannot be inferred",
    ),
    "numbers of another file": (
        model(RESHAPE, initializer=[tensor("w", [2], location="/etc/passwd")]),
        "external",
    ),
}


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("name", CASES)
def test_one_error_of_one_line(name, batch):
    made, said = CASES[name]
    copy = type(made)()
    copy.CopyFrom(made)
    if name in {"unknown dimension", "negative dimension"} and batch:
        graph_of(copy, "m", batch)  # the batch is what was missing
        return
    with pytest.raises(InputError, match=said) as caught:
        graph_of(copy, "m", batch)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("batch", [None, 3])
def test_no_other_file_is_read(tmp_path, monkeypatch, batch):
    """A shape that lies beside the model is not opened, though it would fit."""
    (tmp_path / "shape.bin").write_bytes(np.array([2, 4]).tobytes())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="external"):
        graph_of(model(RESHAPE, initializer=[tensor("w", [2], location="shape.bin")]), "m", batch)


def test_a_convolution_without_groups_has_no_plan():
    made = model([node("Conv", "x w", "y", group=0)], (1, 4, 8, 8), initializer=FILTERS)
    with pytest.raises(InputError, match="0 groups"):
        plan_for(graph_of(made, "m"), "vertical", AMPERE)
