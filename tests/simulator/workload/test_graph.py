"""Graphs, their parts, their refusals, operator lists, and data flow against counts by hand."""

import pytest

from hwmodels.errors import InputError
from simulator.workload import dataflow
from simulator.workload.graph import MAX_ELEMENTS, Operator, Tensor
from simulator.workload.graph_check import make_graph
from simulator.workload.groups import groups_for
from simulator.workload.operator_list import operator_list


def tensors(*names, shape=(2, 8, 4, 4)):
    return {
        name: Tensor(name, shape, "float16", "input" if name == "x" else "intermediate") for name in names
    }


def diamond():
    """relu → (two readers) → sum."""
    operators = [
        Operator("c", "Relu", ("a",), ("c",)),
        Operator("top", "Relu", ("x",), ("a",)),
        Operator("b", "Relu", ("a",), ("b",)),
        Operator("end", "Sum", ("b", "c"), ("d",)),
    ]
    found = tensors("x", "a", "b", "c", "d")
    found["d"] = Tensor("d", (2, 8, 4, 4), "float16", "output")
    return make_graph("diamond", operators, found)


def test_writers_come_before_readers():
    assert [operator.name for operator in diamond().operators] == ["top", "c", "b", "end"]


def test_a_cycle_is_refused_by_name():
    operators = [Operator("p", "Relu", ("b",), ("a",)), Operator("q", "Relu", ("a",), ("b",))]
    with pytest.raises(InputError, match="operator p waits for itself"):
        make_graph("loop", operators, tensors("a", "b"))


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ([], "no operators"),
        ([Operator("p", "Relu", ("x",), ("a",)), Operator("p", "Relu", ("a",), ("b",))], "two operators"),
        ([Operator("p", "Relu", ("x",), ("a",)), Operator("q", "Relu", ("x",), ("a",))], "both write a"),
        ([Operator("p", "Relu", ("nowhere",), ("a",))], "shape of tensor nowhere is unknown"),
    ],
)
def test_unsound_graphs_are_refused(operators, message):
    with pytest.raises(InputError, match=message):
        make_graph("bad", operators, tensors("x", "a", "b"))


@pytest.mark.parametrize("shape", [(-1, 4), (MAX_ELEMENTS, 2)])
def test_absurd_shapes_are_refused(shape):
    with pytest.raises(InputError, match="out of range"):
        Tensor("t", shape, "float16", "input")


def test_a_part_knows_what_enters_and_leaves():
    part = diamond().subgraph("a", "n2")
    assert [operator.name for operator in part.operators] == ["top", "c", "b"]
    assert {name: tensor.kind for name, tensor in part.tensors.items()} == {
        "x": "input",
        "a": "intermediate",
        "b": "output",
        "c": "output",
    }
    assert [len(one.operators) for one in diamond().parts([("top", "c"), ("n3", "d")])] == [2, 1]
    assert diamond().subgraph("x", "a").operators[0].name == "top"


def test_names_that_do_not_exist_get_the_nearest():
    with pytest.raises(InputError, match="did you mean 'end'"):
        diamond().subgraph("top", "ende")
    with pytest.raises(InputError, match="exchange first and last"):
        diamond().subgraph("end", "top")
    with pytest.raises(InputError, match="vertical"):
        groups_for(diamond(), "verticle")


def test_data_flow_of_the_diamond():
    flow = dataflow.analyse(diamond())
    size = 2 * 8 * 4 * 4 * 2
    assert [(edge.producer, edge.consumer, edge.single_consumer) for edge in flow.edges] == [
        ("top", "c", False),
        ("top", "b", False),
        ("c", "end", True),
        ("b", "end", True),
    ]
    lives = {life.tensor: (life.first_write, life.last_read, life.reads) for life in flow.lives}
    assert lives == {"x": (-1, 0, 1), "a": (0, 2, 2), "b": (2, 3, 1), "c": (1, 3, 1), "d": (3, 4, 0)}
    # a while top runs; a, c; a, b, c; b, c.
    assert flow.live_bytes == (size, 2 * size, 3 * size, 2 * size)
    assert flow.peak_live_bytes == 3 * size
    assert (flow.bytes_read, flow.bytes_written) == (5 * size, 4 * size)


def test_operator_list_makes_a_chain():
    graph = operator_list(
        [
            {
                "op": "Conv",
                "inputs": ["x", "w"],
                "output": "a",
                "shape": [1, 64, 8, 8],
                "input_shapes": {"x": [4, 16, 8, 8], "w": [64, 16, 3, 3]},
                "attributes": {"pads": [1, 1, 1, 1]},
            },
            {
                "op": "BatchNormalization",
                "inputs": ["a", "g", "b", "m", "v"],
                "output": "c",
                "shape": [1, 64, 8, 8],
            },
            {"op": "Relu", "inputs": ["c"], "output": "d", "shape": [1, 64, 8, 8]},
        ],
        batch=4,
        dtype="float16",
    )
    assert graph.tensors["d"].shape == (4, 64, 8, 8)
    assert graph.tensors["g"] == Tensor("g", (64,), "float16", "weight")
    assert [len(group.operators) for group in groups_for(graph, "vertical")] == [3]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"op": "Relu", "inputs": ["x"], "output": "y"}, "lacks shape"),
        ({"op": "Relu", "inputs": ["x"], "output": "y", "shape": [0]}, "positive whole numbers"),
        ({"op": "Relu", "inputs": ["x"], "output": "y", "shape": [1], "shap": 1}, "did you mean 'shape'"),
    ],
)
def test_operator_list_refuses(item, message):
    with pytest.raises(InputError, match=message):
        operator_list([item])
