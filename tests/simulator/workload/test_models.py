"""Whole graphs against ONNX's own reference evaluator: fused and unfused, with and without a register cap, on
both kinds of tensor core.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from simulator.trace.check import check
from simulator.trace.info import info
from simulator.workload.build import folded
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement
from simulator.workload.onnx_import import graph_of
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE, VOLTA


def batch_norm(name, source, result, channels, weights, rng):
    names = [f"{name}.{part}" for part in ("gamma", "beta", "mean", "variance")]
    for one in names:
        draw = rng.standard_normal(channels) / 4
        weights[one] = np.abs(draw) + 0.5 if one.endswith("variance") else draw
    return helper.make_node("BatchNormalization", [source, *names], [result], name=name)


def bottleneck():
    """The end of a bottleneck: two convolutions with batch normalisation that meet in a Sum, then Relu; a
    bias too.
    """
    rng = np.random.default_rng(5)
    weights = {
        "w1": rng.standard_normal((24, 16, 1, 1)) / 4,
        "w2": rng.standard_normal((24, 8, 3, 3)) / 8,
        "bias": rng.standard_normal(24),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], name="conv1"),
        batch_norm("bn1", "a", "b", 24, weights, rng),
        helper.make_node("Conv", ["y", "w2", "bias"], ["c"], name="conv2", pads=[1, 1, 1, 1], strides=[2, 1]),
        batch_norm("bn2", "c", "d", 24, weights, rng),
        helper.make_node("Sum", ["b", "d"], ["e"], name="sum"),
        helper.make_node("Relu", ["e"], ["f"], name="relu"),
    ]
    inputs = {"x": rng.standard_normal((2, 16, 5, 9)), "y": rng.standard_normal((2, 8, 9, 9))}
    return nodes, inputs, weights, ["f"]


def shared_value():
    """An intermediate with two readers, a doubled value, a sum of three."""
    rng = np.random.default_rng(6)
    weights = {"w": rng.standard_normal((16, 8, 3, 3)) / 8}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Add", ["b", "b"], ["c"], name="double"),
        helper.make_node("Sum", ["c", "b", "a"], ["d"], name="three"),
        helper.make_node("Sum", ["d", "a", "d"], ["twice"], name="twice"),
        batch_norm("bn", "twice", "e", 16, weights, rng),
    ]
    return nodes, {"x": rng.standard_normal((3, 8, 6, 7))}, weights, ["e"]


def model_of(nodes, inputs, weights, outputs):
    half = TensorProto.FLOAT16
    return helper.make_model(
        helper.make_graph(
            nodes,
            "made",
            [helper.make_tensor_value_info(name, half, value.shape) for name, value in inputs.items()],
            [helper.make_tensor_value_info(name, half, None) for name in outputs],
            [onnx.numpy_helper.from_array(v.astype(np.float16), name) for name, v in weights.items()],
        ),
        opset_imports=[helper.make_opsetid("", 15)],
    )


@pytest.mark.parametrize("cap", [None, 48])
@pytest.mark.parametrize("strategy", ["none", "vertical"])
@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
@pytest.mark.parametrize("case", [bottleneck, shared_value])
def test_graph_gives_what_onnx_says(case, target, strategy, cap):
    nodes, inputs, weights, outputs = case()
    model = model_of(nodes, inputs, weights, outputs)
    halves = {name: value.astype(np.float16) for name, value in {**inputs, **weights}.items()}
    expected = ReferenceEvaluator(model).run(outputs, {name: halves[name] for name in inputs})
    graph = graph_of(model, "made")
    placement = Placement()
    plan = plan_for(graph, strategy, target, cap, placement)
    for operator in graph.operators:
        if operator.kind == "BatchNormalization":
            halves.update(folded(operator, halves))
    if "bias" in halves:
        halves["bias.shift"] = halves["bias"][None, :]
    memory = GlobalMemory()
    for name, place in placement.infos.items():
        content = placement.layouts[name].pack(halves[name]) if name in halves else place.bytes
        memory.place(name, place.base_address, content)
    for kernel in plan.kernels:
        executed = interpret(kernel.allocation, memory)
        assert {op.name: count * kernel.trace.blocks for op, count in executed.items()} == info(kernel.trace)[
            "mix"
        ]
        check(kernel.trace)
    for name, truth in zip(outputs, expected, strict=True):
        got = placement.layouts[name].unpack(memory.content(name))
        np.testing.assert_allclose(got.astype(np.float32), truth.astype(np.float32), rtol=1e-2, atol=2e-2)
    assert (plan.kernels[0].allocation.spill_bytes_per_thread > 0) == (cap is not None)


def test_vertical_takes_the_expected_groups():
    graph = graph_of(model_of(*bottleneck()), "made")
    plan = plan_for(graph, "vertical", AMPERE)
    assert [[op.name for op in kernel.group.operators] for kernel in plan.kernels] == [
        ["conv1", "bn1"],
        ["conv2", "bn2", "sum", "relu"],
    ]


def test_a_value_with_two_element_wise_readers_stays_in_registers():
    graph = graph_of(model_of(*shared_value()), "made")
    plan = plan_for(graph, "vertical", AMPERE)
    assert [len(kernel.group.operators) for kernel in plan.kernels] == [1, 5]
    ends = [kernel.group.ends for kernel in plan.kernels]
    assert ends == ["a has 3 readers", "no further element-wise operator of this shape is ready"]
