"""MatMul and Gemm from the graph to kernels: operator lists planned, run on values against NumPy's matmul."""

import numpy as np
import pytest

from hwmodels.errors import InputError
from simulator.workload.build import KernelMaker
from simulator.workload.build_products import bias_values
from simulator.workload.builders.product import Product
from simulator.workload.groups import groups_for
from simulator.workload.layout import Placement
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.products import product_of
from simulator.workload.target import AMPERE, VOLTA


def graph_of(op, shapes, result, dtype="float32", after=(), **attributes):
    items = [
        {
            "op": op,
            "inputs": list(shapes),
            "output": "y0",
            "shape": list(result),
            "input_shapes": {name: list(shape) for name, shape in shapes.items()},
            "attributes": attributes,
        }
    ]
    for number, (kind, others) in enumerate(after):
        items.append(
            {"op": kind, "inputs": [f"y{number}", *others], "output": f"y{number + 1}", "shape": list(result)}
        )
    return operator_list(items, dtype=dtype)


def run_graph(run_kernels, graph, strategy, target, values):
    placement = Placement()
    maker = KernelMaker(graph, target, placement)
    groups = groups_for(graph, strategy)
    kernels = [maker.kernel(group) for group in groups]
    for operator in graph.operators:
        if operator.kind == "Gemm" and maker.column_bias(operator):
            values = values | bias_values(operator, values[operator.inputs[2]])
    last = graph.operators[-1].outputs[0]
    (got,), _ = run_kernels(kernels, placement, values, [last])
    return got, kernels


MATMULS = [
    ((2, 3, 20, 12), (2, 3, 12, 9), (2, 3, 20, 9)),
    ((2, 10, 24), (24, 16), (2, 10, 16)),
    ((1, 3, 5, 8), (4, 1, 8, 7), (4, 3, 5, 7)),
    ((8,), (3, 8, 16), (3, 16)),
    ((3, 6, 8), (8,), (3, 6)),
]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("left", "right", "result"), MATMULS)
def test_matmul_is_numpys(run_kernels, left, right, result, dtype):
    graph = graph_of("MatMul", {"a": left, "b": right}, result, dtype)
    rng = np.random.default_rng(1)
    values = {name: rng.standard_normal(shape).astype(dtype) for name, shape in (("a", left), ("b", right))}
    got, _ = run_graph(run_kernels, graph, "none", AMPERE, values)
    true = np.matmul(*(values[name].astype(np.float64) for name in "ab"))
    np.testing.assert_allclose(got.astype(np.float64), true, rtol=4e-3, atol=1e-2)


@pytest.mark.parametrize("target", [AMPERE, VOLTA], ids=["ampere", "volta"])
@pytest.mark.parametrize(
    ("swap", "bias", "factors"),
    [((0, 1), (24,), (1.0, 1.0)), ((1, 0), (1, 24), (0.5, 2.0)), ((0, 0), (20, 24), (2.0, 1.0))],
)
def test_gemm_with_its_factors_and_bias_and_a_chain(run_kernels, swap, bias, factors, target):
    a, b = ((12, 20) if swap[0] else (20, 12)), ((24, 12) if swap[1] else (12, 24))
    after = [("Relu", []), ("Add", ["r"])]
    shapes = {"a": a, "b": b, "c": bias}
    graph = graph_of(
        "Gemm", shapes, (20, 24), "float16", after,
        transA=swap[0], transB=swap[1], alpha=factors[0], beta=factors[1],
    )  # fmt: skip
    rng = np.random.default_rng(2)
    values = {name: rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}
    values["r"] = rng.standard_normal((20, 24)).astype(np.float16)
    wide = {name: value.astype(np.float64) for name, value in values.items()}
    left, right = (wide[n].T if flip else wide[n] for n, flip in zip("ab", swap, strict=True))
    true = np.maximum(factors[0] * (left @ right) + factors[1] * wide["c"], 0) + wide["r"]
    for strategy, count in (("vertical", 1), ("none", 3)):
        got, kernels = run_graph(run_kernels, graph, strategy, target, values)
        assert len(kernels) == count
        np.testing.assert_allclose(got.astype(np.float64), true, rtol=4e-3, atol=2e-2)


def test_what_has_no_program_is_opaque_with_its_reason():
    graph = graph_of("Gemm", {"a": (4, 8), "b": (8, 6), "c": (4, 1)}, (4, 6))
    assert "adds [4, 1]" in plan_for(graph, "vertical", AMPERE).opaque[0]


def test_operands_that_do_not_fit_are_refused():
    graph = graph_of("MatMul", {"a": (4, 8), "b": (7, 6)}, (4, 6))
    with pytest.raises(InputError, match="8 columns times 7 rows"):
        plan_for(graph, "none", AMPERE)
    graph = graph_of("MatMul", {"a": (2, 4, 8), "b": (3, 8, 6)}, (3, 4, 6))
    with pytest.raises(InputError, match="do not broadcast"):
        plan_for(graph, "none", AMPERE)
    graph = graph_of("MatMul", {"a": (4, 8), "b": (8, 6)}, (4, 7))
    with pytest.raises(InputError, match=r"it is \[4, 6\]"):
        plan_for(graph, "none", AMPERE)
    with pytest.raises(InputError, match="32-bit indices"):
        Product(1 << 20, 1 << 12, 8)
    with pytest.raises(InputError, match="in a batch"):
        Product(1, 1, 1, (1 << 17,))
    with pytest.raises(InputError, match="empty"):
        Product(0, 1, 1)


def test_batch_over_one_weight_is_one_product_of_more_rows():
    graph = graph_of("MatMul", {"a": (2, 10, 24), "b": (24, 16)}, (2, 10, 16))
    maker = KernelMaker(graph, AMPERE)
    plan, _ = product_of(graph, graph.operators[0], maker.layout)
    assert (plan.rows, plan.batch) == (20, ())
