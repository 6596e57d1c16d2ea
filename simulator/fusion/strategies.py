"""The strategies by name: each makes a partition of a graph with the help of a planner that knows what is
legal and what it costs. `best` is the cheapest of ours by the planner's dear rung; baselines after published
fusers are compared with it and never seed it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hwmodels.errors import InputError, unknown
from simulator.fusion.baselines import BASELINES
from simulator.fusion.belief import Belief
from simulator.fusion.candidates import Part, parts_of
from simulator.fusion.forms import in_form
from simulator.fusion.groups import BLOCK_SPLIT, THREAD_SPLIT, Group, Partition, vertical
from simulator.fusion.in_a_row import settled
from simulator.fusion.ladder import ANALYTIC
from simulator.fusion.price import Price
from simulator.fusion.search_graph import Found, plan_graph
from simulator.fusion.sideways import grown, merged
from simulator.workload.graph import Graph

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner

Strategy = Callable[[Graph, "Planner"], Partition]


def none(graph: Graph, _planner: Planner) -> Partition:
    """Each operator alone."""
    return tuple(vertical(operator.name) for operator in graph.operators)


def by_chains(_graph: Graph, planner: Planner) -> Partition:
    """The cheapest vertical groups."""
    return search(planner, parts_of(planner.legality)).partition


def by_levels(graph: Graph, planner: Planner) -> Partition:
    """Operators of one level side by side."""
    return merged(planner, none(graph, planner))


def levels_then_chains(graph: Graph, planner: Planner) -> Partition:
    """Operators of one level side by side, then both these launches and what is left grown along chains."""
    wide = by_levels(graph, planner)
    launches = [group for group in grown(planner, wide) if len(group.operators) > 1]
    taken = planner.legality.mask(name for launch in launches for name in launch.operators)
    return search(planner, parts_of(planner.legality), taken, launches).partition


def chains_then_levels(graph: Graph, planner: Planner) -> Partition:
    """The cheapest vertical groups, then those of one level side by side."""
    return merged(planner, by_chains(graph, planner))


def best(graph: Graph, planner: Planner) -> Partition:
    """The cheapest of the others, priced by the dear rung; where that is a simulator's, it also decides
    between them, and what arithmetic would choose, piece by piece in a row with their neighbours.
    """
    before = planner.rung
    try:
        planner.rung = ANALYTIC
        by_arithmetic = by_chains(graph, planner)
        planner.rung = planner.dear_rung
        choices = [make(graph, planner) for make in (chains_then_levels, levels_then_chains, by_chains)]
        cheapest = min([*choices, none(graph, planner)], key=planner.total)
        if not planner.simulates:
            return cheapest
        return settled(planner, cheapest, [*choices, by_arithmetic])
    finally:
        planner.rung = before


def fewest(_graph: Graph, planner: Planner) -> Partition:
    """What the article's toy assumes: whatever may share a kernel does, whatever it costs."""

    def cost(group: Group) -> int | None:
        return None if is_refused(group, planner.price(group, ANALYTIC)) else 1

    planner.found = plan_graph(planner.legality, cost)
    return planner.found.partition


def whole(graph: Graph, planner: Planner) -> Partition:
    """All operators in one kernel, whatever it costs: for windows that somebody cut by hand."""
    names = [operator.name for operator in graph.operators]
    refusal = planner.legality.refusal(names)
    if refusal is not None:
        raise InputError(
            "fusion", f"{names[0]} to {names[-1]} can't be one kernel: {refusal.sentence}", "cut it"
        )
    return (vertical(*names),)


STRATEGIES: dict[str, Strategy] = {
    "none": none,
    "vertical": by_chains,
    "horizontal": by_levels,
    "horizontal-then-vertical": levels_then_chains,
    "vertical-then-horizontal": chains_then_levels,
    "best": best,
    **BASELINES,
    **{form: in_form(form) for form in (BLOCK_SPLIT, THREAD_SPLIT)},
    "whole": whole,
    "analytic-toy": fewest,
}


def partition_for(name: str, planner: Planner) -> Partition:
    """The partition of a strategy."""
    if name not in STRATEGIES:
        raise unknown("fusion", "strategy", name, STRATEGIES)
    return STRATEGIES[name](planner.graph, planner)


def search(planner: Planner, parts: list[Part], taken: int = 0, launches: list[Group] | None = None) -> Found:
    """The cheapest partition into the parts' groups; operators `taken` by launches stay with these."""
    belief = Belief(planner)

    def cost(group: Group) -> int | None:
        price = planner.price(group)
        if planner.simulates:
            belief.learn(group, price)
        return None if is_refused(group, price) else price.total_fs

    def lower(group: Group) -> int | None:
        return None if is_refused(group, belief.facts(group)[1]) else belief.cost(group)

    fixed = [without(part, taken) for part in parts] if taken else parts
    found = plan_graph(
        planner.legality,
        cost,
        lower if planner.simulates else None,
        [part for part in fixed if part.operators],
        launches=launches or [],
        prepare=planner.prepare if planner.simulates else None,
    )
    planner.found = found
    return found


def is_refused(group: Group, price: Price) -> bool:
    """Whether a group can't be built or launched; an InputError where that leaves an operator without a
    kernel.
    """
    if price.refusal is None:
        return False
    if len(group.operators) == 1:
        raise InputError(group.operators[0], price.refusal.sentence, "use another card or another cap")
    return True


def without(part: Part, taken: int) -> Part:
    """A part without some operators and their groups."""
    choices = tuple(choice for choice in part.choices if not choice.members & taken)
    return Part(part.operators & ~taken, choices, part.copied & ~taken, part.complete)
