"""Operators of a graph as kernels, fused and unfused, capped and not, against ONNX's reference evaluator."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from hwmodels.operations import Operation
from simulator.trace.check import check
from simulator.trace.info import info as summary
from simulator.workload.allocate import allocate
from simulator.workload.build import folded
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement
from simulator.workload.onnx_import import graph_of
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE

TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT}


def model_of(nodes, inputs, outputs, weights=(), opset=18):
    """A checked model; inputs and outputs are (name, dtype, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TYPES[dtype], shape) for name, dtype, shape in inputs],
        [helper.make_tensor_value_info(name, TYPES[dtype], None) for name, dtype in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def outcome(model, inputs, strategy, cap=None):
    """(outputs in the graph's order, plan) of the kernels that a model becomes."""
    graph = graph_of(model, "m")
    values = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer} | inputs
    for operator in graph.operators:
        plain = operator.kind == "BatchNormalization" and not operator.attribute("training_mode", 0)
        values |= folded(operator, values) if plain else {}
    for name, tensor in graph.tensors.items():
        if tensor.values is not None:
            values.setdefault(name, np.array(tensor.values).reshape(tensor.shape))
    place, memory = Placement(), GlobalMemory()
    plan = plan_for(graph, strategy, AMPERE, cap, place)
    assert not plan.opaque
    for name, info in place.infos.items():
        content = place.layouts[name].pack(values[name]) if name in values else info.bytes
        memory.place(name, info.base_address, content)
    for kernel in plan.kernels:
        assert allocate(kernel.allocation.kernel, cap).registers_per_thread <= (cap or 255)
        executed = interpret(kernel.allocation, memory)
        counts = {name.name: count * kernel.trace.blocks for name, count in executed.items()}
        assert counts == summary(kernel.trace)["mix"]
        check(kernel.trace)
    names = [one.name for one in model.graph.output]
    return [place.layouts[name].unpack(memory.content(name)) for name in names], plan


def agree(model, inputs, dtype, strategies=("none", "vertical"), cap=None):
    """Every strategy gives what the reference evaluator gives; the plans."""
    expected = ReferenceEvaluator(model).run(None, inputs)
    plans = []
    for strategy in strategies:
        got, plan = outcome(model, inputs, strategy, cap)
        plans.append(plan)
        for one, truth in zip(got, expected, strict=True):
            tolerance = 8e-3 if dtype == "float16" else 3e-5
            np.testing.assert_allclose(
                one.astype(np.float64), np.asarray(truth, np.float64), rtol=tolerance, atol=tolerance
            )
    return plans


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_swiglu_is_one_kernel(dtype, cap):
    nodes = [
        helper.make_node("Sigmoid", ["gate"], ["s"]),
        helper.make_node("Mul", ["gate", "s"], ["silu"]),
        helper.make_node("Mul", ["silu", "up"], ["y"]),
    ]
    shape = (3, 37, 24)
    model = model_of(nodes, [("gate", dtype, shape), ("up", dtype, shape)], [("y", dtype)])
    inputs = {"gate": numbers(shape, dtype), "up": numbers(shape, dtype, 1)}
    unfused, fused = agree(model, inputs, dtype, cap=cap)
    assert len(unfused.kernels) == 3
    assert len(fused.kernels) == 1


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("size", [24, 33])
def test_bias_and_decomposed_gelu_is_one_kernel(dtype, size):
    """The bias's result has two readers; both are in the kernel, and nothing in between is written."""
    constant = [(name, np.array(value, dtype)) for name, value in (("r", 2**0.5), ("i", 1.0), ("h", 0.5))]
    nodes = [
        helper.make_node("Add", ["x", "b"], ["t"]),
        helper.make_node("Div", ["t", "r"], ["d"]),
        helper.make_node("Erf", ["d"], ["e"]),
        helper.make_node("Add", ["e", "i"], ["p"]),
        helper.make_node("Mul", ["t", "p"], ["m"]),
        helper.make_node("Mul", ["m", "h"], ["y"]),
    ]
    weights = [("b", numbers((size,), dtype, 3)), *constant]
    model = model_of(nodes, [("x", dtype, (2, 9, size))], [("y", dtype)], weights)
    _, fused = agree(model, {"x": numbers((2, 9, size), dtype)}, dtype)
    (kernel,) = fused.kernels
    stores = [one for one in kernel.trace.program.body if one.operation is Operation.STG]
    assert {kernel.trace.tensors[one.dst_tensor].name for one in stores} == {"y"}


def test_a_value_with_readers_outside_is_written_too():
    nodes = [
        helper.make_node("Tanh", ["x"], ["t"]),
        helper.make_node("Exp", ["t"], ["e"]),
        helper.make_node("ReduceSum", ["t", "axes"], ["s"]),
    ]
    model = model_of(
        nodes,
        [("x", "float32", (5, 70))],
        [("e", "float32"), ("s", "float32")],
        [("axes", np.array([1], np.int64))],
    )
    model.graph.output.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, (5, 70)))
    _, fused = agree(model, {"x": numbers((5, 70), np.float32)}, "float32")
    assert [len(kernel.group.operators) for kernel in fused.kernels] == [3]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(2, 5, 3, 3), (3, 8, 7, 5), (2, 24, 1, 9), (70, 40)])
def test_batch_normalisation_in_training(dtype, shape):
    channels = shape[1]
    node = helper.make_node(
        "BatchNormalization", ["x", "g", "b", "m", "v"], ["y", "rm", "rv"], training_mode=1, momentum=0.75
    )
    weights = [(name, np.abs(numbers((channels,), dtype, seed)) + 0.5) for seed, name in enumerate("gbmv")]
    weights = [(name, value.astype(dtype)) for name, value in weights]
    outputs = [(name, dtype) for name in ("y", "rm", "rv")]
    model = model_of([node], [("x", dtype, shape)], outputs, weights)
    # The reference evaluator computes in half precision, which a large mean would spoil.
    offset = np.dtype(dtype).type(5 if dtype == "float32" else 0.25)
    (plan,) = agree(model, {"x": numbers(shape, dtype) + offset}, dtype, ("none",))
    assert len(plan.kernels) == 3
    for kernel in plan.kernels:
        assert kernel.trace.registers_per_thread <= 64


@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1], [0, 2], [0, 1, 2]])
def test_reductions_over_any_axes(kind, keepdims, axes):
    model = model_of(
        [helper.make_node(kind, ["x", "axes"], ["y"], keepdims=keepdims)],
        [("x", "float32", (6, 50, 12))],
        [("y", "float32")],
        [("axes", np.array(axes, np.int64))],
    )
    agree(model, {"x": numbers((6, 50, 12), np.float32)}, "float32", ("none",))


def test_a_long_row_and_long_columns_are_shared_by_blocks():
    for shape, axis in (((1, 50_000), 1), ((3000, 8), 0)):
        model = model_of(
            [helper.make_node("ReduceMean", ["x", "axes"], ["y"])],
            [("x", "float32", shape)],
            [("y", "float32")],
            [("axes", np.array([axis], np.int64))],
        )
        (plan,) = agree(model, {"x": numbers(shape, np.float32)}, "float32", ("none",))
        assert len(plan.kernels) == 2
        assert plan.kernels[0].trace.blocks > 1


@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("size", [40, 33, 1500])
def test_scaled_and_masked_softmax_is_one_kernel(dtype, size, cap):
    nodes = [
        helper.make_node("Mul", ["x", "s"], ["a"]),
        helper.make_node("Add", ["a", "mask"], ["b"]),
        helper.make_node("Softmax", ["b"], ["p"], axis=-1),
        helper.make_node("Mul", ["p", "x"], ["y"]),
    ]
    shape = (2, 3, size)
    model = model_of(
        nodes,
        [("x", dtype, shape), ("mask", dtype, (1, 3, size))],
        [("y", dtype), ("p", dtype)],
        [("s", np.array(0.125, dtype))],
    )
    inputs = {"x": numbers(shape, dtype), "mask": numbers((1, 3, size), dtype, 1)}
    unfused, fused = agree(model, inputs, dtype, cap=cap)
    assert (len(unfused.kernels), len(fused.kernels)) == (4, 1)


@pytest.mark.parametrize("cap", [None, 32])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("size", [64, 33, 2500])
def test_residual_layer_normalisation_and_gelu_is_one_kernel(dtype, size, cap):
    """The sum before the row has a second reader, so it is written as well."""
    nodes = [
        helper.make_node("Add", ["x", "b"], ["t"]),
        helper.make_node("Add", ["t", "z"], ["h"]),
        helper.make_node("LayerNormalization", ["h", "g", "o"], ["n"], axis=-1),
        helper.make_node("Gelu", ["n"], ["y"]),
    ]
    shape = (3, 5, size)
    weights = [(name, numbers((size,), dtype, seed)) for seed, name in enumerate("bgo")]
    model = model_of(
        nodes, [("x", dtype, shape), ("z", dtype, shape)], [("y", dtype), ("h", dtype)], weights, 20
    )
    inputs = {"x": numbers(shape, dtype, 7), "z": numbers(shape, dtype, 8)}
    _, fused = agree(model, inputs, dtype, cap=cap)
    (kernel,) = fused.kernels
    assert kernel.trace.registers_per_thread <= 64
