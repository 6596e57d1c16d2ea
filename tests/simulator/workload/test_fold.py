"""Batch normalisation folded into convolutions: fewer operators, the same values."""

import numpy as np
import pytest

from simulator.workload.build import KernelMaker, folded
from simulator.workload.fold import fold_batch_norms, fold_values
from simulator.workload.groups import groups_for
from simulator.workload.layout import Placement
from simulator.workload.onnx_import import import_onnx
from simulator.workload.operator_list import operator_list
from simulator.workload.target import AMPERE


def graph_of(bias, *, second_reader=False):
    shape = [1, 16, 5, 6]
    inputs = ["x", "w", *(["c"] if bias else [])]
    shapes = {"x": [1, 8, 5, 6], "w": [16, 8, 3, 3], "c": [16]}
    items = [
        {
            "op": "Conv",
            "inputs": inputs,
            "output": "y",
            "shape": shape,
            "input_shapes": {name: shapes[name] for name in inputs},
            "attributes": {"pads": [1, 1, 1, 1]},
        },
        {"op": "BatchNormalization", "inputs": ["y", "g", "b", "m", "v"], "output": "n", "shape": shape},
        {"op": "Relu", "inputs": ["n"], "output": "r", "shape": shape},
    ]
    if second_reader:
        items.append({"op": "Relu", "inputs": ["y"], "output": "s", "shape": shape})
    return operator_list(items, dtype="float16")


@pytest.mark.parametrize("bias", [False, True])
def test_values_stay_the_same(run_kernels, bias):
    graph = graph_of(bias)
    rng = np.random.default_rng(6)
    values = {
        name: rng.standard_normal(tensor.shape).astype(np.float16)
        for name, tensor in graph.tensors.items()
        if tensor.kind in {"input", "weight"}
    }
    values["v"] = np.abs(values["v"]) + np.float16(0.5)
    smaller, folds = fold_batch_norms(graph)
    assert [operator.kind for operator in smaller.operators] == ["Conv", "Relu"]
    assert not {"g", "b", "m", "v", "w", "c", "y"} & set(smaller.tensors)
    results = []
    for part in (graph, smaller):
        placement = Placement()
        maker = KernelMaker(part, AMPERE, placement)
        kernels = [kernel for group in groups_for(part, "vertical") for kernel in maker.kernels(group)]
        assert len(kernels) == 1
        given = dict(values)
        for operator in part.operators:
            if operator.kind == "BatchNormalization":
                given.update(folded(operator, values))
        for fold in folds:
            given.update(fold_values(fold, values))
            given[f"{fold.bias}.shift"] = given[fold.bias][None, :]
        if bias:
            given["c.shift"] = values["c"][None, :]
        (got,), _ = run_kernels(kernels, placement, given, ["r"])
        results.append(got.astype(np.float64))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-2, atol=2e-2)
    assert np.abs(results[0]).max() > 1


def test_what_others_read_stays():
    graph = graph_of(bias=False, second_reader=True)
    assert fold_batch_norms(graph) == (graph, ())


def test_every_batch_normalisation_of_resnet_50_folds():
    graph = import_onnx("light_resnet50", 1, "float16")
    smaller, folds = fold_batch_norms(graph)
    assert len(folds) == 53
    assert len(smaller.operators) == len(graph.operators) - 53
