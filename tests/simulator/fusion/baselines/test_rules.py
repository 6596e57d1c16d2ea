"""Each published rule on small graphs whose answer can be told by hand."""

from dataclasses import replace

import pytest

from hwmodels import Gpu
from simulator.fusion.baselines import inductor, inductor_style, tvm_style, xla_style
from simulator.fusion.baselines.clusters import ordered
from simulator.fusion.groups import Group, planned_of
from simulator.fusion.planner import Planner
from simulator.fusion.store import Store
from simulator.workload.operator_list import operator_list

IMAGE = [1, 64, 28, 28]
WIDE = [512, 4096]


def op(kind, inputs, output, shape, **more):
    return {"op": kind, "inputs": inputs.split(), "output": output, "shape": shape, **more}


def conv(source, output, weights):
    return op("Conv", f"{source} {weights}", output, IMAGE, input_shapes={weights: [64, 64, 1, 1]})


def norm(source, output):
    return op("BatchNormalization", f"{source} {output}g {output}b {output}m {output}v", output, IMAGE)


def planner_of(items):
    graph = operator_list(items, None, "float16")
    planner = Planner.of(graph, Gpu.from_card("a100-sxm-40gb"))
    planner.store = Store(on_disk=False)
    return graph, planner


def groups(strategy, items):
    """Groups by the names of the values that their operators make, in launch order; each can be built."""
    graph, planner = planner_of(items)
    names = {operator.name: operator.outputs[0] for operator in graph.operators}
    partition = strategy(graph, planner)
    for group in partition:
        assert planned_of(graph, group, planner.maker)
    return [" ".join(names[name] for name in group.operators) for group in partition]


CONV_BLOCK = [conv("x", "c", "w"), norm("c", "n"), op("Relu", "n", "y", IMAGE)]
RESIDUAL = [
    conv("x", "c1", "w1"),
    norm("c1", "n1"),
    conv("x", "c2", "w2"),
    norm("c2", "n2"),
    op("Add", "n1 n2", "s", IMAGE),
    op("Relu", "s", "y", IMAGE),
]
DIAMOND = [
    op("Relu", "x", "a", WIDE),
    op("Sigmoid", "a", "b", WIDE),
    op("Tanh", "a", "c", WIDE),
    op("Mul", "b c", "y", WIDE),
]
REDUCED = [
    op("Exp", "x", "e", WIDE),
    op("ReduceSum", "e", "r", [512, 1], attributes={"axes": [1], "keepdims": 1}),
    op("Relu", "r", "y", [512, 1]),
]
TWO_READERS = [
    op("Relu", "x", "a", WIDE),
    op("ReduceSum", "a", "r", [512, 1], attributes={"axes": [1], "keepdims": 1}),
    op("Sigmoid", "a", "y", WIDE),
]
SIBLINGS = [
    op("Relu", "x", "a", WIDE),
    op("Sigmoid", "x", "b", WIDE),
    op("Tanh", "z", "c", WIDE),
]
SOFTMAX = [op("Exp", "x", "e", WIDE), op("Softmax", "e", "s", WIDE), op("Relu", "s", "y", WIDE)]


def broadcast(depth):
    rows = [op("Exp", "x", "z1", [4096, 1])]
    rows += [op("Exp", f"z{at}", f"z{at + 1}", [4096, 1]) for at in range(1, depth)]
    last = op("Add", f"b z{depth}", "y", [4096, 4096])
    return [*rows, last]


def test_tvm_puts_element_wise_work_behind_a_convolution():
    assert groups(tvm_style, CONV_BLOCK) == ["c n y"]


def test_tvm_joins_the_sum_of_two_convolutions_with_the_first():
    """The sum is then complex, and the second convolution may not join it."""
    assert groups(tvm_style, RESIDUAL) == ["c2 n2", "c1 n1 s y"]


def test_tvm_joins_a_diamond_at_its_post_dominator():
    assert groups(tvm_style, DIAMOND) == ["a b c y"]


def test_tvm_feeds_a_reduction_and_stops_behind_it():
    assert groups(tvm_style, REDUCED) == ["e r", "y"]


def test_tvm_leaves_values_that_leave_where_they_are():
    """`a` has readers that meet nowhere, so no post-dominator."""
    assert groups(tvm_style, TWO_READERS) == ["a", "r", "y"]


def test_tvm_takes_a_softmax_as_closed():
    assert groups(tvm_style, SOFTMAX) == ["e", "s", "y"]


def test_tvm_asks_for_no_cost():
    """It inlines a chain on 4,096 numbers into 16 million sums."""
    assert groups(tvm_style, broadcast(8)) == ["z1 z2 z3 z4 z5 z6 z7 z8 y"]


def test_xla_keeps_a_dear_chain_out_of_a_broadcast():
    assert groups(xla_style, broadcast(8)) == ["z1 z2 z3 z4 z5 z6 z7 z8", "y"]


def test_xla_joins_a_chain():
    chain = [op("Relu", "x", "a", WIDE), op("Sigmoid", "a", "b", WIDE), op("Tanh", "b", "y", WIDE)]
    assert groups(xla_style, chain) == ["a b y"]


def test_xla_computes_a_cheap_producer_in_each_reader():
    assert groups(xla_style, TWO_READERS) == ["a r", "a y"]


def test_xla_keeps_what_leaves_the_graph():
    """A second reader outside, here the graph's own output, keeps the producer's kernel."""
    graph, planner = planner_of(TWO_READERS)
    kept = graph.tensors["a"]
    changed = replace(graph, tensors={**graph.tensors, "a": replace(kept, kind="output")})
    planner = Planner.of(changed, planner.gpu)
    planner.store = Store(on_disk=False)
    assert [len(group.operators) for group in xla_style(changed, planner)] == [1, 1, 1]


def test_xla_takes_the_greatest_saving_first():
    """Both producers could go into the sum of two convolutions, one only can: the larger saving wins."""
    items = [
        conv("x", "c1", "w1"),
        op("Conv", "x2 w2", "c2", IMAGE, input_shapes={"x2": IMAGE, "w2": [64, 64, 1, 1]}),
        op("Add", "c1 c2", "y", IMAGE),
    ]
    graph, planner = planner_of(items)
    partition = xla_style(graph, planner)
    joined = next(group for group in partition if len(group.operators) == 2)
    alone = {name: planner.price(Group((name,))).total_fs for name in ("n0", "n1")}
    savings = {
        name: alone[name]
        + planner.price(Group(("n2",))).total_fs
        - planner.price(Group((name, "n2"), writes=("y",))).total_fs
        for name in ("n0", "n1")
    }
    assert joined.operators[0] == max(savings, key=savings.__getitem__)


def test_inductor_joins_siblings_that_read_the_same():
    assert groups(inductor_style, SIBLINGS) == ["a b", "c"]


def test_inductor_joins_producers_with_readers():
    assert groups(inductor_style, DIAMOND) == ["a b c y"]
    assert groups(inductor_style, CONV_BLOCK) == ["c n y"]


def test_inductor_joins_the_pair_with_most_bytes_first(monkeypatch):
    """With two operators a cluster at most, `b` goes with the reader of the larger value."""
    monkeypatch.setattr(inductor, "MOST_OPERATORS", 2)
    items = [
        op("Relu", "x", "a", [512, 1]),
        op("Add", "a v", "b", WIDE, input_shapes={"v": WIDE}),
        op("Tanh", "b", "y", WIDE),
    ]
    assert groups(inductor_style, items) == ["a", "b y"]


def test_inductor_never_holds_more_than_its_limit(monkeypatch):
    monkeypatch.setattr(inductor, "MOST_OPERATORS", 3)
    chain = [op("Relu", "x" if at == 0 else f"v{at}", f"v{at + 1}", WIDE) for at in range(8)]
    assert max(len(group.split()) for group in groups(inductor_style, chain)) == 3


@pytest.mark.parametrize("strategy", [tvm_style, xla_style, inductor_style])
@pytest.mark.parametrize("items", [CONV_BLOCK, RESIDUAL, DIAMOND, REDUCED, TWO_READERS, SIBLINGS, SOFTMAX])
def test_every_operator_is_computed_and_in_order(strategy, items):
    graph, planner = planner_of(items)
    partition = strategy(graph, planner)
    stored: set[str] = {name for name, one in graph.tensors.items() if one.kind in {"input", "weight"}}
    for group in partition:
        inside = set()
        for name in group.operators:
            operator = planner.legality.operators[name]
            assert set(operator.inputs) <= stored | inside
            inside |= set(operator.outputs)
        stored |= inside if group.writes is None else set(group.writes)
    assert {name for name, one in graph.tensors.items() if one.kind == "output"} <= stored


def test_clusters_that_wait_for_each_other_have_no_order():
    graph, planner = planner_of(DIAMOND)
    names = [operator.name for operator in graph.operators]
    assert ordered(planner, [frozenset((names[0], names[3])), frozenset(names[1:3])]) is None
