"""Why writer and reader of a value are in different kernels of a plan: the rule that forbids it, with its
number and limit, or what it would cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.fusion.groups import VERTICAL, Group, Partition, operators_of
from simulator.fusion.order import in_order
from simulator.fusion.planner import Planner
from simulator.fusion.price import FS_PER_NS, Price
from simulator.workload.apart import Separations
from simulator.workload.dataflow import Edge
from simulator.workload.groups import Group as WorkloadGroup


@dataclass(frozen=True, slots=True)
class Why:
    """One reason. `loses_ns`: how much longer one kernel takes than two, where it is legal."""

    rule: str
    sentence: str
    number: int | None = None
    limit: int | None = None
    loses_ns: int | None = None


class Reasons:
    """Answers for the edges of one partition."""

    def __init__(self, planner: Planner, partition: Partition, strategy: str) -> None:
        self.planner = planner
        self.partition = partition
        self.strategy = strategy
        self.homes: dict[str, list[Group]] = {}
        kept = [WorkloadGroup(tuple(operators_of(planner.graph, group))) for group in partition]
        self.words = Separations(planner.graph, strategy, kept, frozenset())
        for group in partition:
            for name in dict.fromkeys(group.operators):
                self.homes.setdefault(name, []).append(group)

    def why(self, edge: Edge) -> Why:
        """The reason for one edge."""
        if self.strategy == "none":
            return Why("strategy", "no fusion asked for")
        legality = self.planner.legality
        pair = legality.refusal((edge.producer, edge.consumer))
        if pair is not None and pair.rule not in {"several readers", "shape"}:
            words = self.needs(edge) if pair.rule in {"two contractions", "chain", "row"} else ""
            return Why(pair.rule, words or pair.sentence, pair.number, pair.limit)
        writer, reader = self.homes[edge.producer][-1], self.homes[edge.consumer][0]
        if writer.form != VERTICAL or reader.form != VERTICAL:
            return Why(
                "launch", f"{edge.producer} or {edge.consumer} shares a launch with operators beside it"
            )
        names = sorted({*writer.operators, *reader.operators}, key=legality.number.__getitem__)
        whole = legality.refusal(names)
        if whole is not None:
            return Why(whole.rule, whole.sentence, whole.number, whole.limit)
        together = Group(tuple(names))
        left = [group for group in self.partition if group not in (writer, reader)]
        if in_order(legality, [together, *left]) is None:
            return Why(
                "cycle", f"{edge.producer} and {edge.consumer} in one kernel would wait for themselves"
            )
        return self.priced(together, writer, reader)

    def needs(self, edge: Edge) -> str:
        """What the reader would need of other threads or blocks, if that is what keeps it apart."""
        operators = self.planner.legality.operators
        return self.words.reach(operators[edge.producer], operators[edge.consumer], edge.tensor)

    def priced(self, together: Group, writer: Group, reader: Group) -> Why:
        """A legal kernel that was not chosen, by its price."""
        one = self.planner.price(together)
        if one.refusal is not None:
            return Why(one.refusal.rule, one.refusal.sentence, one.refusal.number, one.refusal.limit)
        apart = [self.planner.price(writer), self.planner.price(reader)]
        loses = (one.total_fs - sum(price.total_fs for price in apart)) // FS_PER_NS
        if loses <= 0:
            return Why("search", "another grouping of its operators saves more", loses_ns=loses)
        return Why("cost", f"one kernel takes {loses:,} ns longer: {changes(one, apart)}", loses_ns=loses)


def changes(one: Price, apart: list[Price]) -> str:
    """What differs between one kernel and two."""
    most = [max((kernel.registers for price in apart for kernel in price.kernels), default=0)]
    most += [max((kernel.spill_bytes for price in apart for kernel in price.kernels), default=0)]
    words = []
    kernel = one.kernels[0] if one.kernels else None
    if kernel is not None:
        words.append(f"{kernel.registers} registers against {most[0]}")
        if kernel.spill_bytes > most[1]:
            words.append(f"{kernel.spill_bytes} bytes spilled")
        least = min((each.occupancy_pct for price in apart for each in price.kernels), default=0.0)
        words.append(f"occupancy {kernel.occupancy_pct:.0f} % against {least:.0f} %")
    saved = sum(price.dram_bytes for price in apart) - one.dram_bytes
    words.append(f"{abs(saved):,} bytes of DRAM {'saved' if saved >= 0 else 'more'}")
    return ", ".join(words)
