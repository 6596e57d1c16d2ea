"""ONNX's element-wise operators as kernels, against the reference evaluator; all of its own test cases in the
long run.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from hwmodels.errors import InputError
from simulator.trace.check import check
from simulator.workload.build import folded
from simulator.workload.element_operators import BINARY, UNARY, VARIADIC
from simulator.workload.families import family_of
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement
from simulator.workload.onnx_import import graph_of
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE

SHAPE = (3, 5, 7)
CONTRIBUTED = {"QuickGelu", "FastGelu", "BiasGelu", "Swish"}
TRUTH_VALUES = {"And", "Or", "Not"}
COMPARISONS = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}
MOST_ELEMENTS = 200_000


def results(model, values, outputs, strategy="none"):
    """The outputs of a model's kernels, or None where an operator has no program."""
    try:
        graph = graph_of(model, "m")
    except InputError:  # types and dynamic shapes that importing refuses
        return None
    if any(family_of(graph, operator)[0] is None for operator in graph.operators):
        return None
    if max(tensor.elements for tensor in graph.tensors.values()) > MOST_ELEMENTS:
        return None
    for name, tensor in graph.tensors.items():
        if tensor.values is not None:
            values.setdefault(name, np.array(tensor.values).reshape(tensor.shape))
    for operator in graph.operators:
        plain = operator.kind == "BatchNormalization" and not operator.attribute("training_mode", 0)
        values |= folded(operator, values) if plain else {}
    place, memory = Placement(), GlobalMemory()
    plan = plan_for(graph, strategy, AMPERE, None, place)
    for name, info in place.infos.items():
        content = place.layouts[name].pack(values[name]) if name in values else info.bytes
        memory.place(name, info.base_address, content)
    if not set(outputs) <= set(place.infos):  # a view has no memory of its own
        return None
    for kernel in plan.kernels:
        interpret(kernel.allocation, memory)
        check(kernel.trace)
    return [place.layouts[name].unpack(memory.content(name)) for name in outputs]


@pytest.mark.parametrize("kind", sorted((set(UNARY) | set(BINARY) | set(VARIADIC)) - CONTRIBUTED))
def test_operator(kind):
    """One operator on odd extents, its second operand broadcast."""
    rng = np.random.default_rng(9)
    flags = kind in TRUTH_VALUES
    x, y = rng.normal(size=SHAPE) * 2, rng.uniform(0.5, 3, (5, 1))
    if kind in {"Log", "Sqrt", "Pow"}:
        x = np.abs(x) + 0.01
    inputs = {"x": (x > 0) if flags else x.astype(np.float32)}
    if kind in BINARY or kind in VARIADIC:
        inputs["y"] = (y > 1) if flags else y.astype(np.float32)
    form = TensorProto.BOOL if flags else TensorProto.FLOAT
    out = TensorProto.BOOL if flags or kind in COMPARISONS else TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(kind, list(inputs), ["out"])],
        "g",
        [helper.make_tensor_value_info(name, form, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("out", out, SHAPE)],
    )
    version = 22 if kind in {"Mish", "HardSwish", "Gelu"} else 13
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    (truth,) = ReferenceEvaluator(model).run(None, inputs)
    (got,) = results(model, dict(inputs), ["out"])
    np.testing.assert_allclose(got.astype(np.float64), truth.astype(np.float64), rtol=2e-5, atol=1e-6)


@pytest.mark.slow
def test_every_case_of_onnx_that_has_programs():
    """ONNX's own node tests, expanded functions included; random masks and views aside."""
    from onnx.backend.test.case.node import collect_testcases

    kinds = {"Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "InstanceNormalization"}
    tried = 0
    for case in collect_testcases(None):
        graph = case.model.graph
        here = {node.op_type for node in graph.node}
        names = [one.name for one in graph.output]
        element_wise = here <= set(UNARY) | set(BINARY) | set(VARIADIC) | {
            "Clip",
            "Cast",
            "CastLike",
            "Where",
        }
        if not (element_wise or here & kinds or any(kind.startswith("Reduce") for kind in here)):
            continue
        given, expected = case.data_sets[0]
        plain = [
            numpy_helper.to_array(one) if hasattr(one, "raw_data") else one for one in (*given, *expected)
        ]
        values = {one.name: np.asarray(value) for one, value in zip(graph.input, plain, strict=False)}
        values |= {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        for strategy in ("none", "vertical"):
            got = results(case.model, dict(values), names, strategy)
            if got is None:
                break
            tried += 1
            for one, truth in zip(got, map(np.asarray, plain[len(given) :]), strict=True):
                tolerance = 3e-3 if truth.dtype == np.float16 else 3e-5
                np.testing.assert_allclose(
                    one.astype(np.float64),
                    truth.astype(np.float64),
                    rtol=max(tolerance, case.rtol or 0),
                    atol=tolerance,
                    err_msg=case.name,
                )
    assert tried > 200
