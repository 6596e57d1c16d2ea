"""Data movement and image operators as ONNX has them: lowered by the plan, run on values, against ONNX's
reference evaluator; flat and channels-last tensors, odd sizes, padded channels, views.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from simulator.trace.check import check
from simulator.trace.info import info
from simulator.workload.build import folded
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement
from simulator.workload.onnx_import import graph_of
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE

FLOATS = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT}


def model_of(nodes, inputs, constants, outputs, opset=19, dtype="float32"):
    """A model; inputs by name and shape, constants by name and value."""
    return helper.make_model(
        helper.make_graph(
            nodes,
            "made",
            [helper.make_tensor_value_info(name, FLOATS[dtype], shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, FLOATS[dtype], None) for name in outputs],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", opset)],
    )


def run_model(model, values, outputs, cap=None):
    """(outputs, plan) of a model's kernels on values; every trace is checked and counted."""
    graph = graph_of(model, "made")
    placement = Placement()
    plan = plan_for(graph, "vertical", AMPERE, cap, placement)
    assert plan.opaque == []
    memory = GlobalMemory()
    for name, place in placement.infos.items():
        content = placement.layouts[name].pack(values[name]) if name in values else place.bytes
        memory.place(name, place.base_address, content)
    for kernel in plan.kernels:
        executed = interpret(kernel.allocation, memory)
        check(kernel.trace)
        mix = {op.name: count * kernel.trace.blocks for op, count in executed.items()}
        assert mix == info(kernel.trace)["mix"]
    found = []
    for name in outputs:
        root = placement.roots.get(name, name)
        layout = placement.layouts[root]
        got = layout.unpack(memory.content(root))
        found.append(got.reshape(graph.tensors[name].shape))
    return found, plan


def compare(model, shapes, constants, dtype, cap=None):
    """The plan against the reference evaluator."""
    rng = np.random.default_rng(9)
    values = {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    outputs = [one.name for one in model.graph.output]
    truth = ReferenceEvaluator(model).run(outputs, values)
    got, plan = run_model(model, {**values, **constants}, outputs, cap)
    for mine, theirs in zip(got, truth, strict=True):
        tolerance = 4e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(
            mine.astype(np.float32), theirs.astype(np.float32), rtol=tolerance, atol=tolerance
        )
    return plan


def ints(*values):
    return np.array(values, np.int64)


def boxed(starts, ends, axes, steps=()):
    """The inputs of a Slice."""
    named = {"starts": starts, "ends": ends, "axes": axes, **({"steps": steps} if steps else {})}
    return {name: ints(*values) for name, values in named.items()}


def scaled(rows, columns):
    """The inputs of a Resize by factors."""
    return {"": None, "scales": np.array([1, 1, rows, columns], np.float32)}


ONE_INPUT = [
    ("Transpose", (3, 5, 7), {}, {"perm": [2, 0, 1]}),
    ("Transpose", (2, 33, 40), {}, {"perm": [0, 2, 1]}),
    ("Transpose", (2, 3, 4, 5), {}, {}),
    ("Reshape", (4, 6, 5), {"to": ints(8, 15)}, {}),
    (
        "Slice",
        (9, 10),
        {"starts": ints(1, -8), "ends": ints(8, 10), "axes": ints(0, 1), "steps": ints(2, 3)},
        {},
    ),
    ("Slice", (4, 16, 8), {"starts": ints(8), "ends": ints(99), "axes": ints(-2)}, {}),
    ("Pad", (3, 8), {"pads": ints(1, 0, 2, 5)}, {}),
    ("Pad", (5, 7), {"pads": ints(0, 2, 1, 3), "fill": np.float32(2.5)}, {}),
    ("Expand", (3, 1, 8), {"shape": ints(2, 3, 4, 8)}, {}),
    ("Tile", (2, 5, 3), {"repeats": ints(2, 1, 3)}, {}),
    ("Flatten", (2, 3, 4), {}, {"axis": 2}),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("kind", "shape", "constants", "attributes"), ONE_INPUT)
def test_flat_tensors(kind, shape, constants, attributes, dtype):
    constants = {k: v.astype(dtype) if v.dtype.kind == "f" else v for k, v in constants.items()}
    node = helper.make_node(kind, ["x", *constants], ["y"], name="one", **attributes)
    model = model_of([node], {"x": shape}, constants, ["y"], dtype=dtype)
    plan = compare(model, {"x": shape}, constants, dtype)
    assert len(plan.views) == (kind in {"Reshape", "Flatten"})


# An image operator in the graph makes four-dimensional tensors lie channels last.
IMAGES = [
    ("Transpose", (2, 3, 4, 5), {}, {"perm": [0, 2, 3, 1]}, 1),
    ("Transpose", (2, 24, 6, 6), {}, {"perm": [0, 2, 3, 1]}, 1),
    ("Flatten", (2, 20, 3, 5), {}, {"axis": 1}, 1),
    ("Flatten", (2, 16, 5, 5), {}, {"axis": 1}, 1),
    ("Flatten", (3, 24, 1, 1), {}, {"axis": 1}, 0),
    ("Flatten", (3, 20, 1, 1), {}, {"axis": 1}, 1),
    ("Reshape", (2, 20, 3, 3), {"to": ints(2, 4, 5, 3, 3)}, {}, 1),
    ("Reshape", (2, 24, 3, 4), {"to": ints(2, 24, 12, 1)}, {}, 0),
    ("Reshape", (2, 16, 2, 2), {"to": ints(2, 10, 8, 1)}, {}, None),
    ("Slice", (1, 24, 4, 4), boxed([8, 1], [16, 4], [1, 3]), {}, 1),
    ("Pad", (1, 3, 4, 5), {"pads": ints(0, 0, 1, 2, 0, 1, 0, 3)}, {}, 1),
    ("DepthToSpace", (1, 16, 3, 2), {}, {"blocksize": 2}, 1),
    ("DepthToSpace", (1, 20, 3, 2), {}, {"blocksize": 2, "mode": "CRD"}, 1),
    ("SpaceToDepth", (2, 5, 4, 6), {}, {"blocksize": 2}, 1),
    ("Pad", (1, 8, 4, 5), {"pads": ints(2, 1), "": None, "axes": ints(-1)}, {}, 1),
    ("MaxPool", (1, 5, 7, 9), {}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, 1),
    ("MaxPool", (1, 8, 7, 10), {}, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, 1),
    ("MaxPool", (2, 8, 21), {}, {"kernel_shape": [5], "strides": [2]}, 1),
    ("MaxPool", (1, 8, 7, 7), {}, {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}, 1),
    ("AveragePool", (1, 12, 7, 9), {}, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}, 1),
    ("GlobalAveragePool", (2, 24, 9, 7), {}, {}, 1),
    ("GlobalMaxPool", (2, 3, 4, 5), {}, {}, 1),
    (
        "Resize",
        (1, 8, 5, 4),
        scaled(2, 3),
        {"mode": "nearest"},
        1,
    ),
    ("Resize", (1, 8, 5, 4), scaled(2, 2), {"mode": "linear"}, 1),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("kind", "shape", "constants", "attributes", "count"), IMAGES)
def test_images(kind, shape, constants, attributes, count, dtype):
    """The operator between two cheap image operators, so that its tensors are images on both sides."""
    real = {name: value for name, value in constants.items() if name}
    nodes = [helper.make_node(kind, ["a", *constants], ["y"], name="one", **attributes)]
    source = "x" if kind.endswith("Pool") else "a"
    if source == "a":
        window = {"kernel_shape": [1] * (len(shape) - 2)}
        nodes.insert(0, helper.make_node("MaxPool", ["x"], ["a"], name="first", **window))
    else:
        nodes[0].input[0] = "x"
    model = model_of(nodes, {"x": shape}, real, ["y"], dtype=dtype)
    if count is None:
        plan = plan_for(graph_of(model, "made"), "none", AMPERE)
        assert plan.opaque == ["one: Reshape between shapes without common factors has no kernel program"]
        return
    plan = compare(model, {"x": shape}, real, dtype)
    assert len(plan.kernels) == count + (source == "a")
    assert len(plan.views) == 1 - count


def test_negative_pads_cut():
    node = helper.make_node("Pad", ["x", "pads"], ["y"], name="one")
    pads = ints(0, -2, 1, -1)
    x = np.random.default_rng(2).standard_normal((5, 9)).astype(np.float32)
    (got,), _ = run_model(model_of([node], {"x": x.shape}, {"pads": pads}, ["y"]), {"x": x}, ["y"])
    np.testing.assert_array_equal(got, np.pad(x[:, 2:-1], ((0, 1), (0, 0))))


@pytest.mark.parametrize("cap", [None, 24])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, 3])
def test_concat_and_split(axis, dtype, cap):
    shapes = {}
    for name, extent in (("a", 5), ("b", 8), ("c", 16)):
        shape = [2, 24, 3, 4]
        shape[axis] = extent
        shapes[name] = tuple(shape)
    nodes = [
        *(helper.make_node("MaxPool", [n], [f"{n}2"], name=n, kernel_shape=[1, 1]) for n in shapes),
        helper.make_node("Concat", [f"{n}2" for n in shapes], ["y"], name="join", axis=axis),
        helper.make_node("Split", ["y", "parts"], ["p", "q"], name="part", axis=axis),
    ]
    constants = {"parts": ints(9, 20)}
    model = model_of(nodes, shapes, constants, ["y", "p", "q"], dtype=dtype)
    plan = compare(model, shapes, constants, dtype, cap)
    assert [kernel.trace.name for kernel in plan.kernels][-3:] == [
        "concat:join",
        "split:part.0",
        "split:part.1",
    ]
    if cap is None:
        assert all(16 <= kernel.trace.registers_per_thread <= 32 for kernel in plan.kernels)


def test_channel_shuffle():
    """Reshape, transpose, reshape, as ShuffleNet has it, with a view on the way back."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["a"], name="p", kernel_shape=[1, 1]),
        helper.make_node("Reshape", ["a", "wide"], ["b"], name="open"),
        helper.make_node("Transpose", ["b"], ["c"], name="turn", perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["c", "flat"], ["y"], name="close"),
    ]
    constants = {"wide": ints(2, 4, 10, 3, 3), "flat": ints(2, 40, 3, 3)}
    model = model_of(nodes, {"x": (2, 40, 3, 3)}, constants, ["y"], dtype="float16")
    compare(model, {"x": (2, 40, 3, 3)}, constants, "float16")


def test_views_share_memory_and_are_said():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="r"),
        helper.make_node("Unsqueeze", ["a", "axes"], ["b"], name="u"),
        helper.make_node("Reshape", ["b", "to"], ["c"], name="s"),
        helper.make_node("Relu", ["c"], ["y"], name="t"),
    ]
    constants = {"axes": ints(0), "to": ints(8, 3)}
    plan = compare(model_of(nodes, {"x": (4, 6)}, constants, ["y"]), {"x": (4, 6)}, constants, "float32")
    assert plan.views == ("u: Unsqueeze is a view", "s: Reshape is a view")
    first, second = (kernel.trace for kernel in plan.kernels)
    assert first.tensors[-1] == second.tensors[0]


def test_look_up_in_a_model():
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], name="look")]
    constants = {"i": ints(3, 5, 7, 9)}
    plan = compare(model_of(nodes, {"x": (12, 40)}, constants, ["y"]), {"x": (12, 40)}, constants, "float32")
    assert dict(plan.traces[0].meta)["indices"] == "index i reads row (2 * i + 3) % 12"


REFUSED = [
    (
        "Slice",
        (9,),
        boxed([8], [0], [0], [-1]),
        {},
        "backwards",
    ),
    ("Pad", (9,), {"pads": ints(2, 2)}, {"mode": "reflect"}, "reflect"),
    ("Gather", (9, 4), {"i": ints(1, 1, 5)}, {}, "without a pattern"),
    ("Gather", (9, 4), {"i": ints(1, 2)}, {"axis": 1}, "inner axis"),
    ("Resize", (1, 4, 4, 4), scaled(2, 2), {"mode": "cubic"}, "cubic"),
    ("LRN", (1, 20, 4, 4), {}, {"size": 5}, "padded channels"),
    ("MaxPool", (1, 8, 4, 4, 4), {}, {"kernel_shape": [2, 2, 2]}, "3 dimensions"),
]


@pytest.mark.parametrize(("kind", "shape", "constants", "attributes", "why"), REFUSED)
def test_what_is_not_built_is_opaque_with_its_reason(kind, shape, constants, attributes, why):
    node = helper.make_node(kind, ["x", *constants], ["y"], name="one", **attributes)
    real = {name: value for name, value in constants.items() if name}
    plan = plan_for(graph_of(model_of([node], {"x": shape}, real, ["y"]), "m"), "none", AMPERE)
    assert len(plan.opaque) == 1
    assert why in plan.opaque[0]
    check(plan.traces[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LRN", "Resize"])
def test_image_operators_carry_a_chain(kind, cap, dtype):
    """Batch normalisation, a residual sum and Relu behind the operator, in its kernel."""
    rng = np.random.default_rng(4)
    constants = {
        name: (rng.uniform(0.5, 2, 16) if name == "v" else rng.standard_normal(16)).astype(dtype)
        for name in "gbmv"
    }
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    attributes = {"LRN": {"size": 5}, "Resize": {"mode": "linear"}}.get(kind, window)
    scales = scaled(1, 2) if kind == "Resize" else {}
    real = {name: value for name, value in scales.items() if name}
    shape, wide = (2, 16, 5, 7), (2, 16, 5, 14 if kind == "Resize" else 7)
    nodes = [
        helper.make_node(kind, ["x", *scales], ["a"], name="first", **attributes),
        helper.make_node("BatchNormalization", ["a", *"gbmv"], ["n"], name="norm"),
        helper.make_node("Add", ["n", "r"], ["s"], name="sum"),
        helper.make_node("Relu", ["s"], ["y"], name="relu"),
    ]
    shapes = {"x": shape, "r": wide}
    model = model_of(nodes, shapes, {**constants, **real}, ["y"], dtype=dtype)
    values = {name: rng.standard_normal(extent).astype(dtype) for name, extent in shapes.items()}
    single = {name: value.astype(np.float32) for name, value in {**values, **constants}.items()}
    plain = model_of(nodes, shapes, {**{n: single[n] for n in "gbmv"}, **real}, ["y"])
    if kind == "LRN":
        squares = np.pad(single["x"] ** 2, ((0, 0), (2, 2), (0, 0), (0, 0)))
        total = sum(squares[:, first : first + 16] for first in range(5))
        single["a"] = single["x"] / (1 + 1e-4 / 5 * total) ** 0.75
        plain = model_of(
            nodes[1:], {"a": shapes["x"], "r": shapes["r"]}, {n: single[n] for n in "gbmv"}, ["y"]
        )
    feed = {one.name: single[one.name] for one in plain.graph.input}
    (truth,) = ReferenceEvaluator(plain).run(None, feed)
    norm = graph_of(model, "made").operators[1]
    (got,), plan = run_model(model, {**values, **folded(norm, constants)}, ["y"], cap)
    assert [len(kernel.group.operators) for kernel in plan.kernels] == [4]
    loose = 1e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(got.astype(np.float32), truth, rtol=loose, atol=loose)


def test_an_operator_list_reaches_every_kind():
    """As a config writes them; index tensors are integers whatever the type of the rest."""
    items = [
        {"op": "Gather", "inputs": ["t", "i"], "output": "e", "shape": [6, 32]},
        {"op": "Concat", "inputs": ["e", "f"], "output": "c", "shape": [6, 48], "attributes": {"axis": 1}},
        {"op": "Transpose", "inputs": ["c"], "output": "d", "shape": [48, 6]},
        {"op": "Histogram", "inputs": ["n"], "output": "h", "shape": [64]},
    ]
    items[0]["input_shapes"] = {"t": [90, 32], "i": [6]}
    items[1]["input_shapes"] = {"f": [6, 16]}
    items[3]["input_shapes"] = {"n": [1000]}
    graph = operator_list(items, dtype="float16")
    assert {graph.tensors[name].dtype for name in ("i", "n", "h")} == {"int32"}
    plan = plan_for(graph, "vertical", AMPERE)
    assert plan.opaque == []
    assert [kernel.trace.name for kernel in plan.kernels] == [
        "gather:n0",
        "concat:n1",
        "transpose:n2",
        "histogram:n3",
    ]
    for trace in plan.traces:
        check(trace, full=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_im2col_from_an_operator_list(dtype):
    """Rows are windows of output pixels; times the filters they are the convolution."""
    shape, window, pads = (2, 5, 6, 7), (3, 2), (1, 0, 1, 1)
    rows = 2 * 6 * 7
    item = {
        "op": "Im2Col",
        "inputs": ["x"],
        "output": "y",
        "shape": [rows, 3 * 2 * 5],
        "input_shapes": {"x": list(shape)},
        "attributes": {"kernel_shape": list(window), "pads": list(pads)},
    }
    graph = operator_list([item], dtype=dtype)
    placement = Placement()
    plan = plan_for(graph, "none", AMPERE, None, placement)
    x = np.random.default_rng(8).standard_normal(shape).astype(dtype)
    memory = GlobalMemory()
    for name, place in placement.infos.items():
        content = placement.layouts[name].pack(x) if name == "x" else place.bytes
        memory.place(name, place.base_address, content)
    interpret(plan.kernels[0].allocation, memory)
    got = placement.layouts["y"].unpack(memory.content("y"))
    filters = np.random.default_rng(8).standard_normal((4, 5, *window)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=window, pads=pads)
    graph = helper.make_graph(
        [node],
        "conv",
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
            for n, s in (("x", shape), ("w", filters.shape))
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    truth = ReferenceEvaluator(helper.make_model(graph)).run(None, {"x": x.astype(np.float32), "w": filters})[
        0
    ]
    product = got.astype(np.float32) @ filters.transpose(2, 3, 1, 0).reshape(-1, 4)
    np.testing.assert_allclose(product.reshape(2, 6, 7, 4).transpose(0, 3, 1, 2), truth, rtol=1e-4, atol=1e-4)
