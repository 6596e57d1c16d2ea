"""What a strategy may ask while it plans: is a group legal, what does it cost, what are its kernels.

One planner is for one graph on one card with one cap on registers and one way to launch. Prices come from a
rung of the cost ladder and are kept by the group's signature, in memory and on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from hwmodels import Gpu
from hwmodels.errors import InputError
from simulator.fusion.groups import Group, Partition, planned_of
from simulator.fusion.ladder import ANALYTIC, BYTES, FULL, RUNGS, SAMPLED, Means
from simulator.fusion.legality import VIEW, Legality, Refusal
from simulator.fusion.price import Price, total_of
from simulator.fusion.search_graph import Found
from simulator.fusion.side_by_side import side_by_side
from simulator.fusion.signature import signature, version
from simulator.fusion.store import Store
from simulator.workload.build import KernelMaker
from simulator.workload.graph import Graph
from simulator.workload.layout import Placement
from simulator.workload.plan import Planned
from simulator.workload.target import Target


@dataclass(slots=True)
class Planner:
    """The answers for one graph. `rung` is the one that `price` uses when it is not told, `dear_rung` the one
    that the strategy `best` decides by.
    """

    graph: Graph
    gpu: Gpu
    maker: KernelMaker
    cap: int | None = None
    launch: str = "stream"
    l2_state: str = "cold"
    rung: str = ANALYTIC
    dear_rung: str = SAMPLED
    means: Means = field(default_factory=Means)
    store: Store = field(default_factory=Store)
    legality: Legality = field(init=False)
    made: dict[Group, list[Planned]] = field(default_factory=dict)
    looked: dict[str, int] = field(default_factory=dict)
    """How many groups each rung has priced anew."""
    found: Found | None = None
    """What the last search says of itself."""

    def __post_init__(self) -> None:
        self.legality = Legality(self.graph)

    @classmethod
    def of(
        cls, graph: Graph, gpu: Gpu, cap: int | None = None, placement: Placement | None = None
    ) -> Planner:
        """A planner with a maker of its own."""
        return cls(graph, gpu, KernelMaker(graph, Target.of(gpu), placement), cap)

    def on(self, gpu: Gpu) -> Planner:
        """The same questions about another card; kernels are the same where builders see no difference."""
        target = Target.of(gpu)
        if target == self.maker.target:
            return replace(self, gpu=gpu, looked={})
        return replace(self, gpu=gpu, maker=KernelMaker(self.graph, target), made={}, looked={})

    def refused(self, operators: Iterable[str]) -> Refusal | None:
        """Why these can't share one vertical kernel."""
        return self.legality.refusal(operators)

    def kernels(self, group: Group) -> list[Planned]:
        """The kernels of a group, made once; empty for a view."""
        if group not in self.made:
            self.made[group] = planned_of(self.graph, group, self.maker, self.cap)
        return self.made[group]

    def price(self, group: Group, rung: str | None = None) -> Price:
        """What a group costs by a rung. A group that can't be built or launched has a refusal instead."""
        name = rung or self.rung
        key = self.key(group, name)
        known = self.store.get(key)
        if known is None:
            known = self.priced(group, name, self.resident(group))
            self.keep(key, name, known)
        return known

    def keep(self, key: str, rung: str, price: Price) -> None:
        """Keep a new price, and count it."""
        self.looked[rung] = self.looked.get(rung, 0) + 1
        self.store.put(key, price)

    def key(self, group: Group, rung: str) -> str:
        """The signature under which a group's price is kept."""
        facts: tuple[object, ...] = (
            *(version(), self.gpu.digest(), rung, self.cap, self.launch),
            self.means if rung not in {BYTES, ANALYTIC} else "",
        )
        return signature(self.graph, group, self.maker, self.resident(group), *facts)

    def prepare(self, groups: Iterable[Group], rung: str | None = None) -> None:
        """Find prices that will be asked for, side by side where there are several cores."""
        name = rung or self.rung
        missing: dict[str, Group] = {}
        for group in groups:
            key = self.key(group, name)
            if self.store.get(key) is None:
                missing.setdefault(key, group)
        # The first is priced before the others begin, so it is the shortest; then long ones come first, so
        # that no core waits for one that began last.
        ranked = sorted(missing, key=lambda key: -self.price(missing[key], ANALYTIC).total_fs)
        keys = ranked[-1:] + ranked[:-1]
        prices = side_by_side(self.priced_by(name), [missing[key] for key in keys])
        for key, price in zip(keys, prices, strict=True):
            self.keep(key, name, price)

    def priced_by(self, rung: str) -> Callable[[Group], Price]:
        """Pricing as a function of the group alone."""
        return lambda group: self.priced(group, rung, self.resident(group))

    def priced(self, group: Group, rung: str, resident: frozenset[str]) -> Price:
        """A price made anew."""
        try:
            traces = [one.trace for one in self.kernels(group)]
            kernels = RUNGS[rung](traces, self.gpu, resident, self.means) if traces else []
        except InputError as error:
            return Price(rung, 0, (), Refusal("card", f"{error.place}: {error.problem}"))
        return Price(rung, total_of(kernels, self.gpu, self.launch), tuple(kernels))

    def resident(self, group: Group) -> frozenset[str]:
        """Operands that are in L2 before a group: what the graph, operator by operator, has moved from their
        writing to here fits.
        """
        room = self.gpu.l2.size_kib * 1024
        names = set(group.operators)
        first = min(self.legality.number[name] for name in group.operators)
        inside = {out for name in names for out in self.legality.operators[name].outputs}
        found = set()
        for name in names:
            for tensor in self.legality.operators[name].inputs:
                if not tensor or tensor in inside:
                    continue
                root = self.root(tensor)
                writer = self.legality.producers.get(root)
                if writer is None:
                    if self.l2_state == "warm" and self.graph.tensors[root].bytes <= room:
                        found.add(self.maker.place(root).name)
                elif self.moved(self.legality.number[writer.name], first, names) <= room:
                    found.add(self.maker.place(root).name)
        return frozenset(found)

    def root(self, tensor: str) -> str:
        """The tensor whose memory this one is a view of."""
        writer = self.legality.producers.get(tensor)
        while writer is not None and self.legality.kinds[writer.name] == VIEW:
            tensor = writer.inputs[0]
            writer = self.legality.producers.get(tensor)
        return tensor

    def moved(self, writer: int, reader: int, group: set[str]) -> int:
        """Bytes of what is written at `writer` and of what operators between it and `reader` touch."""
        operators = self.graph.operators
        touched = set(operators[writer].outputs)
        for operator in operators[writer + 1 : reader]:
            if operator.name not in group:
                touched |= {*operator.inputs, *operator.outputs}
        return sum(self.graph.tensors[name].bytes for name in touched if name)

    def total(self, partition: Partition, rung: str | None = None) -> int:
        """The cost of a partition: the sum of its groups'."""
        return sum(self.price(group, rung).total_fs for group in partition)

    @property
    def simulates(self) -> bool:
        """Whether prices are asked of the simulator."""
        return self.rung in {SAMPLED, FULL}
