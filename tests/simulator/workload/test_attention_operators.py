"""The Attention operator from the graph to kernels, in one kernel and in three, run on values against
onnx.reference.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from simulator.workload.build import KernelMaker
from simulator.workload.groups import groups_for
from simulator.workload.layout import Placement
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE, VOLTA

ONNX_TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT}


def graph_of(shapes, dtype, **attributes):
    item = {
        "op": "Attention",
        "inputs": ["q", "k", "v"],
        "output": "y",
        "shape": shapes["y"],
        "input_shapes": {name: shapes[name] for name in "qkv"},
        "attributes": attributes,
    }
    return operator_list([item], dtype=dtype)


def truth(shapes, dtype, values, attributes):
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], **attributes)
    sides = [
        [helper.make_tensor_value_info(name, ONNX_TYPES[dtype], shapes[name]) for name in names]
        for names in ("qkv", "y")
    ]
    model = helper.make_model(
        helper.make_graph([node], "g", *sides), opset_imports=[helper.make_opsetid("", 23)]
    )
    return ReferenceEvaluator(model).run(None, values)[0]


APART = {"q": [1, 4, 18, 32], "k": [1, 4, 35, 32], "v": [1, 4, 35, 32], "y": [1, 4, 18, 32]}
SHARED = {"q": [2, 4, 9, 16], "k": [2, 2, 24, 16], "v": [2, 2, 24, 16], "y": [2, 4, 9, 16]}
ODD = {"q": [1, 2, 7, 10], "k": [1, 2, 9, 10], "v": [1, 2, 9, 6], "y": [1, 2, 7, 6]}
TOGETHER = {"q": [2, 10, 48], "k": [2, 12, 48], "v": [2, 12, 48], "y": [2, 10, 48]}
CASES = [
    (APART, "float16", AMPERE, {}, 1),
    (APART, "float16", VOLTA, {"scale": 0.5}, 3),
    (SHARED, "float16", AMPERE, {}, 1),
    (SHARED, "float32", AMPERE, {}, 3),
    (ODD, "float16", AMPERE, {}, 3),
    (TOGETHER, "float16", AMPERE, {"q_num_heads": 3, "kv_num_heads": 3}, 1),
    (TOGETHER, "float32", VOLTA, {"q_num_heads": 3, "kv_num_heads": 3}, 3),
]


@pytest.mark.parametrize(("shapes", "dtype", "target", "attributes", "count"), CASES)
def test_attention_is_onnxs(run_kernels, shapes, dtype, target, attributes, count):
    rng = np.random.default_rng(4)
    values = {name: rng.standard_normal(shapes[name]).astype(dtype) for name in "qkv"}
    graph, placement = graph_of(shapes, dtype, **attributes), Placement()
    maker = KernelMaker(graph, target, placement)
    made = [kernel for group in groups_for(graph, "none") for kernel in maker.kernels(group)]
    assert len(made) == count
    (got,), _ = run_kernels(made, placement, values, ["y"])
    wide = {name: value.astype(np.float32) for name, value in values.items()}
    true = truth(shapes, "float32", wide, attributes)
    tolerance = (1e-2, 4e-3) if dtype == "float16" else (1e-4, 1e-5)
    np.testing.assert_allclose(got.astype(np.float64), true, *tolerance)


@pytest.mark.parametrize(
    ("attributes", "reason"), [({"is_causal": 1}, "is_causal"), ({"softcap": 2.0}, "softcap")]
)
def test_what_has_no_program_is_opaque(attributes, reason):
    assert reason in plan_for(graph_of(APART, "float16", **attributes), "none", AMPERE).opaque[0]
