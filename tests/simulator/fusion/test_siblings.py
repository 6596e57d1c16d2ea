"""Element-wise operators of one shape that read the same tensor: one launch that loads it once."""

import numpy as np
import pytest

from hwmodels import Gpu
from simulator.fusion.groups import Group, planned_of
from simulator.fusion.planner import Planner
from simulator.fusion.siblings import are_siblings, joined_siblings
from simulator.fusion.store import Store
from simulator.fusion.strategies import partition_for
from simulator.workload.interpret import GlobalMemory, interpret
from simulator.workload.layout import Placement
from simulator.workload.operator_list import operator_list

SHAPE = [48, 1000]


def op(kind, inputs, output, shape=SHAPE, **more):
    return {"op": kind, "inputs": inputs.split(), "output": output, "shape": shape, **more}


def planner_of(items, place=None):
    graph = operator_list(items, None, "float32")
    return Planner.of(
        graph,
        Gpu.from_card("a100-sxm-40gb"),
        None,
        place,
    )


@pytest.fixture(autouse=True)
def no_kept_prices(monkeypatch):
    monkeypatch.setattr(Store, "__init__", lambda self, *_, **__: self.__dict__.update(known={}, path=None))


READERS = [op("Relu", "x", "a"), op("Sigmoid", "x", "b"), op("Add", "x z", "c")]


def test_a_shared_input_is_loaded_once_and_all_results_are_right():
    place = Placement()
    planner = planner_of(READERS, place)
    rng = np.random.default_rng(2)
    values = {name: rng.standard_normal(SHAPE).astype(np.float32) for name in ("x", "z")}

    def run(groups):
        memory = GlobalMemory()
        for name, info in place.infos.items():
            content = place.layouts[name].pack(values[name]) if name in values else info.bytes
            memory.place(name, info.base_address, content)
        for group in groups:
            for planned in planned_of(planner.graph, group, planner.maker):
                interpret(planned.allocation, memory)
        return memory, {name: place.layouts[name].unpack(memory.content(name)) for name in "abc"}

    together, made = run([Group(("n0", "n1", "n2"))])
    apart, expected = run([Group((name,)) for name in ("n0", "n1", "n2")])
    size = 4 * SHAPE[0] * SHAPE[1]
    assert (apart.read_bytes, together.read_bytes) == (4 * size, 2 * size)
    assert together.written_bytes == apart.written_bytes == 3 * size
    for name in "abc":
        np.testing.assert_array_equal(made[name], expected[name])
    np.testing.assert_array_equal(made["a"], np.maximum(values["x"], 0))
    np.testing.assert_array_equal(made["c"], values["x"] + values["z"])


def test_the_horizontal_strategy_joins_them():
    partition = partition_for("horizontal", planner_of(READERS))
    assert [group.operators for group in partition] == [("n0", "n1", "n2")]


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([op("Relu", "x", "a"), op("Relu", "y", "b", [7, 3])], "another shape"),
        ([op("Relu", "x", "a"), op("Softmax", "x", "b")], "a row"),
        ([op("Relu", "x", "a"), op("Softmax", "a", "s"), op("Add", "a s", "b")], "between them"),
    ],
)
def test_others_are_no_siblings(items, why):
    planner = planner_of(items)
    names = [operator.name for operator in planner.graph.operators]
    assert not are_siblings(planner, (names[0], names[-1])), why


def test_without_a_shared_operand_nothing_is_saved_by_one_region():
    planner = planner_of([op("Relu", "x", "a"), op("Relu", "y", "b")])
    assert are_siblings(planner, ("n0", "n1"))
    assert joined_siblings(planner, Group(("n0",)), Group(("n1",))) is None
