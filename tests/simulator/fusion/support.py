"""Small graphs and planners that keep nothing on disk."""

import random
from collections.abc import Callable, Iterator

from hwmodels import Gpu
from simulator.fusion.candidates import Choice, Part, parts_of
from simulator.fusion.groups import Group
from simulator.fusion.ladder import Means
from simulator.fusion.order import sound
from simulator.fusion.planner import Planner
from simulator.fusion.problem import Candidate, bits, is_sound
from simulator.fusion.search_graph import problem_of
from simulator.fusion.store import Store
from simulator.workload.graph import Graph
from simulator.workload.operator_list import operator_list

UNARY = ("Relu", "Sigmoid", "Tanh", "Exp", "Neg", "Abs")
BINARY = ("Add", "Mul", "Sub")


def small_card(scale: str = "1/16", card: str = "v100-sxm2-16gb") -> Gpu:
    return Gpu.from_card(card).scaled(scale)


def planner_of(
    graph: Graph, gpu: Gpu | None = None, rung: str = "analytic", cap: int | None = None
) -> Planner:
    planner = Planner.of(graph, gpu or small_card(), cap)
    planner.store = Store(on_disk=False)
    planner.rung = planner.dear_rung = rung
    planner.means = Means(sample=0.1)
    return planner


def chain(length: int, chance: random.Random, shape: list[int]) -> Graph:
    """Element-wise operators one behind another, some with a second operand from outside."""
    items, value = [], "x"
    for at in range(length):
        binary = chance.random() < 0.4
        inputs = [value, f"w{at}"] if binary else [value]
        items.append(
            {
                "op": chance.choice(BINARY if binary else UNARY),
                "inputs": inputs,
                "output": f"t{at}",
                "shape": shape,
            }
        )
        value = f"t{at}"
    return operator_list(items)


def web(count: int, chance: random.Random, shape: list[int]) -> Graph:
    """Element-wise operators and a softmax here and there, wired by chance."""
    items: list[dict[str, object]] = []
    values = ["x", "y"]
    for at in range(count):
        kind = chance.choice(("unary", "unary", "binary", "binary", "row"))
        inputs = [chance.choice(values[-4:])]
        if kind == "binary":
            inputs.append(chance.choice(values[-4:]))
        name = {"unary": UNARY, "binary": BINARY, "row": ("Softmax",)}[kind]
        items.append({"op": chance.choice(name), "inputs": inputs, "output": f"t{at}", "shape": shape})
        values.append(f"t{at}")
    return operator_list(items)


def partitions(legality_parts: list[Part]) -> Iterator[list[Choice]]:
    """Every set of choices that holds each operator exactly once, by plain recursion."""
    choices = [choice for part in legality_parts for choice in part.choices]
    everything = 0
    for part in legality_parts:
        everything |= part.operators

    def rest(left: int, chosen: list[Choice]) -> Iterator[list[Choice]]:
        if not left:
            yield chosen
            return
        first = left & -left
        for choice in choices:
            if choice.members & first and not choice.members & ~left:
                yield from rest(left & ~choice.members, [*chosen, choice])

    yield from rest(everything, [])


def cheapest_of_all(planner: Planner, cost: Callable[[Group], int | None]) -> int:
    """The cost of the best sound partition of a small graph, copies included, found by trying all."""
    parts = parts_of(planner.legality)
    total = 0
    for part in parts:
        prices = {choice: cost(choice.group) for choice in part.choices}
        known = {choice: price for choice, price in prices.items() if price is not None}
        problem, _ = problem_of(planner.legality, part, known)
        total += every_choice(
            problem.candidates, problem.copied, lambda picked, of=problem: is_sound(of, picked)
        )
    return total


def every_choice(
    candidates: tuple[Candidate, ...], copied: int, good: Callable[[list[Candidate]], bool]
) -> int:
    """The least cost over all sets of candidates that compute each operator once, those that may be copied
    as often as anybody likes.
    """
    best: list[int] = []
    operators = 0
    for one in candidates:
        operators |= one.members

    def rest(left: int, chosen: list[Candidate], cost: int) -> None:
        if left:
            first = left & -left
            for one in candidates:
                mine = one.members & ~copied
                if mine & first and not mine & ~left:
                    rest(left & ~mine, [*chosen, one], cost + one.cost)
            return
        extra = [one for one in candidates if not one.members & ~copied]
        for number in range(1 << len(extra)):
            more = [extra[at] for at in bits(number)]
            total = cost + sum(one.cost for one in more)
            if (not best or total < best[0]) and good([*chosen, *more]):
                best[:] = [total]

    rest(operators & ~copied, [], 0)
    return best[0]


__all__ = ["chain", "cheapest_of_all", "partitions", "planner_of", "small_card", "sound", "web"]
