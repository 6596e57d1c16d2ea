"""Branch and bound over candidates: the cheapest sound choice, with a bound that is never above it.

Items are what must be covered: each operator, and for one that may be copied each use of it. The bound is a
price for each item such that no candidate costs less than its items together (a solution of the dual linear
program, made in one pass from the last operator to the first; on a chain it is exact). A search that is cut
short keeps the best choice found and states the gap to the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.fusion.problem import Candidate, Problem, bits, is_sound, launch_order

NODES = 200_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The best choice, its cost, a cost that no choice goes below, and how many nodes were looked at."""

    chosen: tuple[Candidate, ...]
    cost: int
    bound: int
    nodes: int

    @property
    def gap_ppm(self) -> int:
        """How much of the cost a better choice could save at most, in millionths."""
        return 0 if self.cost <= 0 else max(0, 1_000_000 * (self.cost - self.bound) // self.cost)


@dataclass(slots=True)
class Search:
    """One search on its way."""

    problem: Problem
    most_nodes: int
    covers: list[int] = field(default_factory=list)
    items: int = 0
    single: int = 0
    prices: list[int] = field(default_factory=list)
    by_item: list[list[int]] = field(default_factory=list)
    best: tuple[int, ...] | None = None
    best_cost: int = 0
    nodes: int = 0
    open_bound: int | None = None
    producers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.producers = self.problem.producers
        self.number_items()
        self.price_items()
        candidates = self.problem.candidates
        self.by_item = [[] for _ in range(self.items)]
        for at, cover in enumerate(self.covers):
            for item in bits(cover):
                self.by_item[item].append(at)
        reduced = [
            one.cost - sum(self.prices[item] for item in bits(cover))
            for one, cover in zip(candidates, self.covers, strict=True)
        ]
        for places in self.by_item:
            places.sort(key=lambda at: (reduced[at], self.covers[at].bit_count(), at))

    def number_items(self) -> None:
        """One item an operator, or one a use where it may be copied; which of them each candidate covers."""
        problem = self.problem
        whole: list[int] = []
        uses: list[dict[int, int]] = []
        for operator in range(problem.count):
            first = self.items
            mine: dict[int, int] = {}
            if problem.copied >> operator & 1:
                for reader in bits(problem.readers[operator]):
                    mine[reader] = self.items
                    self.items += 1
                if problem.leaves >> operator & 1 or self.items == first:
                    self.items += 1
            else:
                self.single |= 1 << self.items
                self.items += 1
            whole.append((1 << self.items) - (1 << first))
            uses.append(mine)
        for one in problem.candidates:
            cover = 0
            for operator in bits(one.members):
                if not problem.copied >> operator & 1 or one.stores >> operator & 1:
                    cover |= whole[operator]
                else:
                    for reader, item in uses[operator].items():
                        if one.members >> reader & 1:
                            cover |= 1 << item
            self.covers.append(cover)

    def price_items(self) -> None:
        """Prices such that no candidate is dearer in items than in cost, as high as one pass makes them."""
        prices = [0] * self.items
        begins: list[list[int]] = [[] for _ in range(self.items)]
        for at, cover in enumerate(self.covers):
            if cover:
                begins[next(bits(cover))].append(at)
        for item in reversed(range(self.items)):
            places, mine = begins[item], 1 << item
            room = min(
                (
                    self.problem.candidates[at].cost
                    - sum(prices[other] for other in bits(self.covers[at] & ~mine))
                    for at in places
                ),
                default=0,
            )
            if room < 0 and not mine & self.single:
                # What may be covered twice must not have a price below nothing: later ones give way.
                self.give_way(places, mine, prices)
                room = 0
            prices[item] = room
        self.prices = prices

    def give_way(self, places: Sequence[int], mine: int, prices: list[int]) -> None:
        """Lower the prices of later items until each of these candidates can pay for them."""
        for at in places:
            others = list(bits(self.covers[at] & ~mine))
            missing = sum(prices[other] for other in others) - self.problem.candidates[at].cost
            for other in reversed(others):
                if missing <= 0:
                    break
                floor = 0 if not self.single >> other & 1 else prices[other] - missing
                less = min(missing, prices[other] - floor)
                prices[other] -= less
                missing -= less

    def run(self) -> Outcome:
        """Look until nothing better is left or the nodes are used up."""
        everything = (1 << self.items) - 1
        root = sum(self.prices)
        self.visit((), 0, everything, root)
        if self.best is None:
            raise ValueError("no choice of these candidates is sound")
        chosen = tuple(self.problem.candidates[at] for at in self.best)
        bound = self.best_cost if self.open_bound is None else min(self.best_cost, self.open_bound)
        return Outcome(chosen, self.best_cost, max(root, bound), self.nodes)

    def visit(self, chosen: tuple[int, ...], spent: int, left: int, rest: int) -> None:
        """All choices that start with these; `rest` is the price of what is left to cover."""
        if self.best is not None and spent + rest >= self.best_cost:
            return
        if self.nodes >= self.most_nodes and self.best is not None:
            bound = spent + rest
            self.open_bound = bound if self.open_bound is None else min(self.open_bound, bound)
            return
        self.nodes += 1
        if not left:
            self.complete(chosen, spent)
            return
        item = (left & -left).bit_length() - 1
        for at in self.by_item[item]:
            cover = self.covers[at]
            if cover & self.single & ~left or not self.can_go_on((*chosen, at)):
                continue
            paid = sum(self.prices[one] for one in bits(cover & left))
            self.visit((*chosen, at), spent + self.problem.candidates[at].cost, left & ~cover, rest - paid)

    def complete(self, chosen: tuple[int, ...], spent: int) -> None:
        """Everything is covered: keep it if it can be launched, else let somebody store what is missing."""
        problem = self.problem
        picked = [problem.candidates[at] for at in chosen]
        if is_sound(problem, picked):
            self.best, self.best_cost = chosen, spent
            return
        stored = 0
        for one in picked:
            stored |= one.stores
        for at, one in enumerate(problem.candidates):
            adds = one.stores & problem.copied & ~stored
            if adds and not one.members & ~problem.copied:
                self.visit((*chosen, at), spent + one.cost, 0, 0)

    def can_go_on(self, chosen: tuple[int, ...]) -> bool:
        """Whether the groups chosen so far can be launched when all others are operators alone; values that
        may be copied are taken to be there.
        """
        problem = self.problem
        pairs = []
        taken = 0
        for at in chosen:
            one = problem.candidates[at]
            pairs.append((one.members, one.stores))
            taken |= one.members
        if all(members & members - 1 == 0 for members, _ in pairs):
            return True
        alone = ((1 << problem.count) - 1) & ~taken & ~problem.copied
        pairs += [(1 << operator, 1 << operator) for operator in bits(alone)]
        return launch_order(pairs, self.producers, problem.waits, problem.copied) is not None


def cheapest(problem: Problem, most_nodes: int = NODES) -> Outcome:
    """The cheapest sound choice. Every operator alone should be a candidate, or there may be none."""
    return Search(problem, most_nodes).run()
