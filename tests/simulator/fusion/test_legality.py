"""What may share a kernel: each refusal with its number and limit; every legal set of small graphs builds."""

import random
from itertools import combinations

import pytest

from simulator.fusion.candidates import parts_of
from simulator.fusion.groups import Group, vertical
from simulator.fusion.legality import Legality
from simulator.fusion.order import in_order, sound, stores_of
from simulator.fusion.problem import bits
from simulator.fusion.search_graph import plan_graph
from simulator.workload.element_groups import MOST_OPERANDS
from simulator.workload.graph import Graph
from simulator.workload.onnx_import import import_onnx
from simulator.workload.operator_list import operator_list
from tests.simulator.fusion.support import planner_of, web

IMAGE = [1, 16, 8, 8]


def conv(name: str, source: str, filters: str) -> dict[str, object]:
    return {
        "op": "Conv",
        "inputs": [source, filters],
        "output": name,
        "shape": IMAGE,
        "input_shapes": {filters: [16, 16, 1, 1], source: IMAGE},
    }


def graph_of(*items: dict[str, object]) -> Graph:
    return operator_list(list(items), dtype="float16")


def relu(source: str, output: str, shape: list[int] | None = None) -> dict[str, object]:
    return {"op": "Relu", "inputs": [source], "output": output, "shape": shape or IMAGE}


def add(left: str, right: str, output: str, shape: list[int] | None = None) -> dict[str, object]:
    return {"op": "Add", "inputs": [left, right], "output": output, "shape": shape or IMAGE}


CASES = [
    ((conv("a", "x", "f"), conv("b", "a", "g")), ("n0", "n1"), "two contractions", 2, 1),
    ((conv("a", "x", "f"), relu("a", "b"), add("a", "b", "c")), ("n0", "n1", "n2"), "chain", None, None),
    ((relu("x", "a"), conv("b", "a", "f")), ("n0", "n1"), "chain", None, None),
    ((relu("x", "a"), relu("a", "b"), relu("b", "c")), ("n0", "n2"), "apart", None, None),
    (
        (relu("x", "a"), conv("b", "a", "f"), add("a", "b", "c"), relu("a", "d")),
        ("n0", "n2"),
        "convexity",
        None,
        None,
    ),
    (
        ({"op": "Transpose", "inputs": ["x"], "output": "t", "shape": IMAGE}, relu("t", "a")),
        ("n0", "n1"),
        "kind",
        None,
        None,
    ),
    (
        tuple(add("x" if at == 0 else f"t{at - 1}", f"w{at}", f"t{at}") for at in range(9)),
        tuple(f"n{at}" for at in range(9)),
        "operands",
        10,
        MOST_OPERANDS,
    ),
]


@pytest.mark.parametrize(("items", "names", "rule", "number", "limit"), CASES)
def test_a_refusal_names_rule_number_and_limit(items, names, rule, number, limit) -> None:
    found = Legality(graph_of(*items)).refusal(names)
    assert found is not None
    assert (found.rule, found.number, found.limit) == (rule, number, limit)
    assert found.sentence


def test_an_epilogue_takes_the_sum_and_the_activation_behind_it() -> None:
    graph = graph_of(conv("a", "x", "f"), conv("b", "x", "g"), add("a", "b", "c"), relu("c", "d"))
    legality = Legality(graph)
    assert legality.refusal(("n0", "n2", "n3")) is None
    assert legality.refusal(("n1", "n2", "n3")) is None
    assert legality.refusal(("n0", "n1", "n2")) is not None


@pytest.mark.parametrize("seed", range(6))
def test_candidates_are_the_legal_sets_and_each_of_them_builds(seed: int) -> None:
    chance = random.Random(seed)
    graph = web(6, chance, [2, 64])
    planner = planner_of(graph)
    legality = planner.legality
    names = [operator.name for operator in graph.operators]
    legal = {
        frozenset(picked)
        for size in range(1, len(names) + 1)
        for picked in combinations(names, size)
        if legality.refusal(picked) is None
    }
    choices = [choice for part in parts_of(legality) for choice in part.choices]
    assert {frozenset(one.group.operators) for one in choices if one.group.writes is None} == legal
    for choice in choices:
        (kernel,) = planner.kernels(choice.group)
        stored = {name for at in bits(choice.stores) for name in graph.operators[at].outputs}
        written = {info.name for info in kernel.trace.tensors} & {
            name for operator in graph.operators for name in operator.outputs
        }
        # What is stored is in the kernel's tensors; what is not is there at most to label a register.
        assert stored <= written
        assert stores_of(legality, choice.group) == choice.stores


def by_bytes(graph: Graph) -> dict[str, int]:
    return {name: tensor.bytes for name, tensor in graph.tensors.items()}


@pytest.mark.parametrize(
    "model", ["light_densenet121", "light_inception_v1", "light_inception_v2", "light_resnet50"]
)
def test_every_group_of_a_model_is_convex_and_the_plan_can_be_launched(model: str) -> None:
    graph = import_onnx(model, 1, "float16")
    legality = Legality(graph)
    sizes = by_bytes(graph)

    def cost(group: Group) -> int:
        # Bytes that go out and in, and a launch: enough to make large groups attractive.
        stored = stores_of(legality, group)
        inside = {name for one in group.operators for name in legality.operators[one].outputs}
        read = {name for one in group.operators for name in legality.operators[one].inputs if name} - inside
        written = {name for at in bits(stored) for name in graph.operators[at].outputs if name}
        return 100_000 + sum(sizes[name] for name in read | written)

    found = plan_graph(legality, cost)
    assert found.gap_ppm == 0
    assert found.complete
    assert sound(legality, found.partition)
    assert len(found.partition) < len(graph.operators)
    if model == "light_resnet50":
        assert len(found.partition) <= 60
    reach = legality.reach
    for group in found.partition:
        mask = legality.mask(group.operators)
        after = 0
        for at in bits(mask):
            after |= reach[at]
        assert not any(reach[outside] & mask for outside in bits(after & ~mask)), group


def test_groups_in_a_circle_have_no_order() -> None:
    graph = graph_of(relu("x", "a"), relu("y", "b"), add("a", "y", "c"), add("b", "x", "d"))
    legality = Legality(graph)
    crossed = [vertical("n0", "n3"), vertical("n1", "n2")]
    assert in_order(legality, crossed) is None
    assert not sound(legality, crossed)
    fine = [vertical("n1", "n3"), vertical("n0", "n2")]
    assert sound(legality, fine)
    assert not sound(legality, fine[:1])
