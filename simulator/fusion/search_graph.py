"""Planning a whole graph: parts that only meet through memory are planned one by one, then put together;
parts whose groups would wait for each other are planned again as one.

On a chain the choice is exact by dynamic programming, elsewhere by branch and bound with the gap reported.
Where prices are dear, groups stand with a cheap lower one until the best choice so far would use them; so all
that is chosen in the end has its dear price, and the choice is exact if the cheap prices are true bounds. The
cheap ones are asked for again in every round, since they may rise with what the dear ones tell. The dear
prices that all parts need next are asked for together, so that they can be found side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from simulator.fusion.candidates import Choice, Part, parts_of
from simulator.fusion.chains import plan_chain
from simulator.fusion.groups import Group, Partition
from simulator.fusion.legality import Legality
from simulator.fusion.order import stores_of
from simulator.fusion.problem import Candidate, Problem, bits, needs_of
from simulator.fusion.search import NODES, Outcome, cheapest

TIE = 1 << 20
Cost = Callable[[Group], int | None]
"""The cost of a group; None where it can't be built."""


@dataclass(frozen=True, slots=True)
class Found:
    """A planned graph: its groups in launch order, their cost, a bound below every choice, nodes of the
    search, groups that were looked at and priced, parts that were planned by intervals, and whether every
    legal group was looked at.
    """

    partition: Partition
    cost: int
    bound: int
    nodes: int
    groups: int
    priced: int
    chains: int
    complete: bool

    @property
    def gap_ppm(self) -> int:
        """What a better choice could save at most, in millionths of the cost."""
        return 0 if self.cost <= 0 else max(0, 1_000_000 * (self.cost - self.bound) // self.cost)


@dataclass(slots=True)
class Planned:
    """A part with what was chosen for it."""

    part: Part
    chosen: list[Choice]
    outcome: Outcome
    priced: int
    by_intervals: bool


def plan_graph(
    legality: Legality,
    cost: Cost,
    lower: Cost | None = None,
    parts: Sequence[Part] | None = None,
    most_nodes: int = NODES,
    launches: Sequence[Group] = (),
    prepare: Callable[[list[Group]], None] | None = None,
) -> Found:
    """The cheapest partition of a graph into the groups of its parts, beside launches that are given."""
    waiting = list(parts_of(legality) if parts is None else parts)
    given = [
        Choice(group, legality.mask(dict.fromkeys(group.operators)), stores_of(legality, group))
        for group in launches
    ]
    done: list[Planned] = []
    while True:
        done += plan_parts(legality, waiting, cost, lower, most_nodes, prepare)
        order, stuck = launched(legality, given + [choice for one in done for choice in one.chosen])
        if not stuck:
            break
        tangled = [one for one in done if any(choice in stuck for choice in one.chosen)]
        done = [one for one in done if one not in tangled]
        parts_again = [one.part for one in tangled]
        if len(tangled) == 1 or any(choice in stuck for choice in given):
            # A given launch is not taken apart, so what is tangled with it stays in single operators.
            waiting = [alone(part) for part in parts_again]
        else:
            waiting = [joined(parts_again)]
    return Found(
        tuple(choice.group for choice in order),
        sum(one.outcome.cost for one in done) + sum(cost(group) or 0 for group in launches),
        sum(one.outcome.bound for one in done) + sum(cost(group) or 0 for group in launches),
        sum(one.outcome.nodes for one in done),
        sum(len(one.part.choices) for one in done),
        sum(one.priced for one in done),
        sum(one.by_intervals for one in done),
        all(one.part.complete for one in done),
    )


@dataclass(slots=True)
class Open:
    """A part on its way: the prices of its choices so far, and which of them are the dear ones."""

    part: Part
    prices: dict[Choice, int]
    known: set[Choice]
    done: Planned | None = None

    @classmethod
    def start(cls, part: Part, cost: Cost, lower: Cost | None) -> Open:
        """A part with the cheapest prices that there are."""
        cheap = cost if lower is None else lower
        prices: dict[Choice, int] = {}
        for choice in part.choices:
            found = cheap(choice.group)
            if found is not None:
                prices[choice] = ranked(choice, found)
        return cls(part, prices, set(prices) if lower is None else set())

    def unknown(self, legality: Legality, most_nodes: int) -> list[Choice]:
        """Plan with what is known: the choices whose dear price is needed now, or none and it is done."""
        problem, choices = problem_of(legality, self.part, self.prices)
        by_intervals = plan_chain(problem)
        outcome = by_intervals or cheapest(problem, most_nodes)
        chosen = [choices[one] for one in outcome.chosen]
        unknown = [choice for choice in chosen if choice not in self.known]
        if not unknown:
            plain = replace(outcome, cost=outcome.cost // TIE, bound=outcome.bound // TIE)
            self.done = Planned(self.part, chosen, plain, len(self.known), by_intervals is not None)
        return unknown

    def refresh(self, lower: Cost) -> None:
        """The cheap prices as they are now believed."""
        for choice in self.prices.keys() - self.known:
            found = lower(choice.group)
            assert found is not None, "what could be built at the start can be built now"
            self.prices[choice] = ranked(choice, found)

    def learn(self, choice: Choice, cost: int | None) -> None:
        """A dear price; None where the group can't be built."""
        self.known.add(choice)
        if cost is None:
            del self.prices[choice]
        else:
            self.prices[choice] = ranked(choice, cost)


def plan_parts(
    legality: Legality,
    parts: Sequence[Part],
    cost: Cost,
    lower: Cost | None,
    most_nodes: int,
    prepare: Callable[[list[Group]], None] | None,
) -> list[Planned]:
    """The best groups of some parts, round by round."""
    made = [Open.start(part, cost, lower) for part in parts]
    while waiting := [one for one in made if one.done is None]:
        asked = [(one, choice) for one in waiting for choice in one.unknown(legality, most_nodes)]
        if prepare is not None and asked:
            prepare([choice.group for _, choice in asked])
        for one, choice in asked:
            one.learn(choice, cost(choice.group))
        if lower is not None:
            for one in waiting:
                if one.done is None:
                    one.refresh(lower)
    return [one.done for one in made if one.done is not None]


def ranked(choice: Choice, cost: int) -> int:
    """A cost that makes equal ones differ: operators of the graph's order that stand between a group's own
    count against it, since its values wait for them.
    """
    span = choice.members.bit_length() - ((choice.members & -choice.members).bit_length() - 1)
    return cost * TIE + min(TIE - 1, span - choice.members.bit_count())


def problem_of(
    legality: Legality, part: Part, prices: dict[Choice, int]
) -> tuple[Problem, dict[Candidate, Choice]]:
    """A part as a problem over its own operators; what is outside shows as waits and values that leave."""
    names = list(bits(part.operators))
    local = {at: place for place, at in enumerate(names)}

    def narrowed(mask: int) -> int:
        return sum(1 << local[at] for at in bits(mask & part.operators))

    readers, waits, leaves = [], [0] * len(names), 0
    for place, at in enumerate(names):
        direct = legality.readers[at]
        readers.append(narrowed(direct))
        operator = legality.graph.operators[at]
        asked = any(legality.graph.tensors[name].kind == "output" for name in operator.outputs if name)
        if direct & ~part.operators or not direct or asked:
            leaves |= 1 << place
        after = 0
        for outside in bits(direct & ~part.operators):
            after |= legality.reach[outside]
        for other in bits(narrowed(after)):
            waits[other] |= 1 << place
    choices: dict[Candidate, Choice] = {}
    for choice, price in prices.items():
        candidate = Candidate(narrowed(choice.members), narrowed(choice.stores), price)
        choices.setdefault(candidate, choice)
    copied = narrowed(part.copied)
    return Problem(tuple(readers), tuple(waits), leaves, copied, tuple(choices)), choices


def launched(legality: Legality, chosen: Sequence[Choice]) -> tuple[list[Choice], set[Choice]]:
    """Groups in launch order, each as soon as its operands are there and as the graph's order has it; and
    those that wait for each other.
    """
    count = len(legality.graph.operators)
    producers = [0] * count
    for writer, readers in enumerate(legality.readers):
        for reader in bits(readers):
            producers[reader] |= 1 << writer
    nothing = [0] * count
    left = sorted(chosen, key=lambda one: (one.members.bit_length(), one.members))
    needs = {one: needs_of(producers, nothing, one.members) for one in left}
    order: list[Choice] = []
    stored = 0
    while left:
        ready = next((one for one in left if not needs[one] & ~stored), None)
        if ready is None:
            return order, knot(left, needs)
        left.remove(ready)
        order.append(ready)
        stored |= ready.stores
    return order, set()


def knot(left: Sequence[Choice], needs: dict[Choice, int]) -> set[Choice]:
    """Of groups that can't be launched those that wait for themselves: a cycle, found by going backwards."""
    path = [left[0]]
    while True:
        before = next(one for one in left if one.stores & needs[path[-1]])
        if before in path:
            return set(path[path.index(before) :])
        path.append(before)


def alone(part: Part) -> Part:
    """A part with single operators only."""
    choices = tuple(choice for choice in part.choices if not choice.members & choice.members - 1)
    return Part(part.operators, choices, part.copied, complete=False)


def joined(parts: Sequence[Part]) -> Part:
    """Parts as one, whose groups stay what they were."""
    operators = copied = 0
    for part in parts:
        operators |= part.operators
        copied |= part.copied
    choices = tuple(choice for part in parts for choice in part.choices)
    return Part(operators, choices, copied, all(part.complete for part in parts))
