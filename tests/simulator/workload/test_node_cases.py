"""ONNX's own node test cases: graphs of functions written out (attention, normalisations, softmax, GELU,
SwiGLU) and data movement, imported, lowered and run, against the outputs that the cases carry.

What does not lower is named in the plan; a few cases run always, all of them in the long tests.
"""

import re
import warnings

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases

from hwmodels.errors import InputError
from simulator.trace.check import check
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement
from simulator.workload.onnx_fold import fold, small_constants
from simulator.workload.onnx_import import graph_of
from simulator.workload.plan import plan_for
from simulator.workload.target import AMPERE

FUNCTIONS = ("attention", "gelu", "layer_normalization", "rms_normalization", "softmax", "swiglu", "swish")
MOVEMENT = (
    "averagepool",
    "concat",
    "depthtospace",
    "expand",
    "flatten",
    "maxpool",
    "pad",
    "reshape",
    "slice",
    "spacetodepth",
    "split",
    "squeeze",
    "tile",
    "transpose",
    "unsqueeze",
)
SAMPLE = {
    "test_attention_4d_expanded",
    "test_attention_3d_gqa_causal_expanded",
    "test_attention_4d_softcap_expanded",
    "test_layer_normalization_3d_axis1_epsilon_expanded",
    "test_layer_normalization_default_axis_expanded_ver18",
    "test_rms_normalization_2d_axis0_expanded",
    "test_softmax_axis_1_expanded_ver18",
    "test_logsoftmax_large_number_expanded_ver18",
    "test_gelu_default_1_expanded",
    "test_gelu_tanh_2_expanded",
    "test_swish_expanded",
    "test_slice_neg_steps",
    "test_depthtospace_crd_mode_example",
    "test_constant_pad_axes",
}


@pytest.fixture(scope="module")
def cases():
    """All cases by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def infer(model):
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def run_case(case):
    """Whether a case lowers in full; if so its outputs are those that it carries."""
    graph = graph_of(case.model, case.name)
    placement = Placement()
    plan = plan_for(graph, "vertical", AMPERE, None, placement)
    for trace in plan.traces:
        check(trace)
    if plan.opaque:
        assert all(reason.partition(": ")[2] for reason in plan.opaque)
        return False
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    constants = small_constants(fold(model, infer))
    for inputs, outputs in case.data_sets:
        given = zip((one.name for one in case.model.graph.input), inputs, strict=False)
        values = {**constants, **{name: np.asarray(value) for name, value in given}}
        memory = GlobalMemory()
        for name, place in placement.infos.items():
            content = placement.layouts[name].pack(values[name]) if name in values else place.bytes
            memory.place(name, place.base_address, content)
        for kernel in plan.kernels:
            interpret(kernel.allocation, memory)
        for output, truth in zip(case.model.graph.output, outputs, strict=True):
            root = placement.roots.get(output.name, output.name)
            got = placement.layouts[root].unpack(memory.content(root)).reshape(truth.shape)
            loose = 1e-2 if truth.dtype == np.float16 else 1e-3
            np.testing.assert_allclose(
                got.astype(np.float64), truth.astype(np.float64), rtol=loose, atol=loose
            )
    return True


def chosen(cases):
    """Names of the cases of the two families."""
    functions = [name for name in cases if "expanded" in name and any(part in name for part in FUNCTIONS)]
    starts = tuple(f"test_{part}" for part in MOVEMENT)
    return functions + [name for name in cases if "expanded" not in name and name.startswith(starts)]


def test_a_sample_of_cases(cases):
    lowered = {name for name in SAMPLE & set(cases) if run_case(cases[name])}
    assert set(cases) >= SAMPLE
    assert SAMPLE - lowered == {"test_slice_neg_steps", "test_constant_pad_axes"}  # places that are inputs


@pytest.mark.slow
def test_all_cases_of_functions_and_movement(cases):
    """Cases with a graph of their own (Scan), sequences or strings are refused by name; the rest lower or say
    why not.
    """
    outcomes, refusals = [], []
    for name in chosen(cases):
        try:
            outcomes.append(run_case(cases[name]))
        except InputError as error:
            refusals.append(str(error))
    assert sum(outcomes) / len(outcomes) > 0.75
    assert len(refusals) < len(outcomes) / 10
    assert [one for one in refusals if not re.search("Scan|Sequence|string", one)] == []
