"""Where values live and why operators stay apart, on small graphs whose answers follow from the rules of
fusion by hand; accesses by level add up to those of the data-flow analysis.
"""

import pytest

from simulator.workload.access import LEVELS, accesses, bytes_by_level
from simulator.workload.dataflow import analyse
from simulator.workload.operator_list import operator_list
from simulator.workload.plan import plan_for
from simulator.workload.residence import residence
from simulator.workload.target import AMPERE

IMAGE = [1, 16, 12, 12]
CONV = {
    "op": "Conv",
    "inputs": ["x", "w"],
    "output": "a",
    "shape": IMAGE,
    "input_shapes": {"x": [1, 8, 12, 12], "w": [16, 8, 3, 3]},
    "attributes": {"pads": [1, 1, 1, 1]},
}


def step(kind, inputs, output, shape=IMAGE, **rest):
    return {"op": kind, "inputs": inputs.split(), "output": output, "shape": shape, **rest}


def edges(items, strategy="vertical", l2_bytes=0):
    plan = plan_for(operator_list(items), strategy, AMPERE)
    found = residence(plan, l2_bytes)
    return plan, {(one.edge.tensor, one.edge.consumer): one for one in found}


def test_an_epilogue_gets_its_value_through_shared_memory_then_in_registers():
    items = [CONV, step("Relu", "a", "b"), step("Sigmoid", "b", "c")]
    plan, found = edges(items)
    assert len(plan.kernels) == 1
    assert [one.lives_in for one in found.values()] == ["shared memory", "registers"]
    assert all(one.fused and not one.why_apart for one in found.values())


def test_a_row_keeps_its_values_in_registers():
    shape = [4, 64]
    plan, found = edges([step("Exp", "x", "a", shape), step("Softmax", "a", "b", shape)])
    assert len(plan.kernels) == 1
    assert found["a", "n1"].lives_in == "registers"


def test_without_fusion_everything_goes_through_global_memory():
    _, found = edges([CONV, step("Relu", "a", "b")], "none")
    assert found["a", "n1"].lives_in == "global memory"
    assert found["a", "n1"].why_apart == "no fusion asked for"


@pytest.mark.parametrize(("spare", "place"), [(0, "L2 by chance"), (-1, "global memory")])
def test_l2_by_chance_is_what_fits_from_write_to_read(spare, place):
    """Two kernels: one reads x and writes a, the other reads a and writes b, 9,216 bytes each."""
    tensor = 16 * 12 * 12 * 4
    _, found = edges([step("Relu", "x", "a"), step("Sigmoid", "a", "b")], "none", 4 * tensor + spare)
    assert found["a", "n1"].lives_in == place


SEPARATE = [
    (
        "halo",
        [CONV, step("MaxPool", "a", "b", attributes={"kernel_shape": [1, 1]})],
        "a",
        "n1",
        "a halo of a",
    ),
    (
        "rows of a product",
        [
            step("Exp", "x", "a", [8, 16]),
            step("MatMul", "a w", "b", [8, 8], input_shapes={"w": [16, 8]}),
        ],
        "a",
        "n1",
        "whole rows or columns of a",
    ),
    (
        "several readers",
        [CONV, step("Relu", "a", "b"), step("Sigmoid", "a", "c")],
        "a",
        "n1",
        "a has 2 readers",
    ),
    (
        "an operand of later",
        [
            CONV,
            {
                **CONV,
                "inputs": ["y", "v"],
                "output": "b",
                "input_shapes": {"y": [1, 8, 12, 12], "v": [16, 8, 3, 3]},
            },
            step("Add", "a b", "c"),
        ],
        "a",
        "n2",
        "n2 also needs b, which is written later",
    ),
    (
        "opaque",
        [step("Relu", "x", "a"), step("Strange", "a", "b")],
        "a",
        "n1",
        "n1 is opaque: Strange has no kernel program",
    ),
    (
        "behind a row",
        [
            step("Exp", "x", "a", [4, 64]),
            step("Softmax", "a", "b", [4, 64]),
            step("Mul", "b a", "c", [4, 64]),
        ],
        "b",
        "n2",
        "n2 reads a, which n1 (Softmax) has used up",
    ),
]


@pytest.mark.parametrize(
    ("items", "tensor", "consumer", "reason"),
    [case[1:] for case in SEPARATE],
    ids=[case[0] for case in SEPARATE],
)
def test_operators_stay_apart_for_a_reason(items, tensor, consumer, reason):
    _, found = edges(items)
    assert not found[tensor, consumer].fused
    assert reason in found[tensor, consumer].why_apart


def test_every_edge_apart_has_a_reason_and_no_other():
    for _, items, *_ in SEPARATE:
        for strategy in ("none", "vertical"):
            plan, found = edges(items, strategy)
            together = {
                (writer.name, reader.name)
                for kernel in plan.kernels
                for writer in kernel.group.operators
                for reader in kernel.group.operators
            }
            for one in found.values():
                assert one.fused == ((one.edge.producer, one.edge.consumer) in together)
                assert bool(one.why_apart) != one.fused


def test_accesses_by_level_add_up_to_the_data_flow():
    items = [
        CONV,
        step("Relu", "a", "b"),
        step("Sigmoid", "b", "c"),
        step("Exp", "c", "d"),
        step("Neg", "c", "e"),
    ]
    for strategy in ("none", "vertical"):
        plan, found = edges(items, strategy)
        flow = analyse(plan.graph)
        counted = accesses(plan.graph, flow, tuple(found.values()))
        assert [sum(one.reads) for one in counted] == [life.reads for life in flow.lives]
        levels = bytes_by_level(counted)
        assert sum(both["read"] for both in levels.values()) == flow.bytes_read
        if strategy == "none":
            assert set(levels) == {"global memory"}
            assert levels["global memory"]["written"] == flow.bytes_written
        else:
            tensor = 16 * 12 * 12 * 4
            assert levels["shared memory"] == {"read": tensor, "written": tensor}
            one = next(one for one in counted if one.tensor == "c")
            assert one.writes[LEVELS.index("global memory")] == 1
