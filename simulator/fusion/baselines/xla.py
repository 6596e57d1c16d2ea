"""Greedy fusion by modelled time: after XLA's priority fusion for GPUs, as its documentation describes it,
and D. Snider and R. Liang, Operator Fusion in XLA: Analysis and Evaluation, 2023.

A producer is fused into all its readers at once, so that it is computed in each of them and its own kernel
falls away. A queue holds the producers for which that can be built; the one that saves most modelled time
goes first, then the savings around it are modelled anew, until none saves any. Values that leave the graph
keep their kernel. The model of time is the planner's (its rung of the cost ladder).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.fusion.groups import Group, Partition
from simulator.workload.graph import Graph

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner

Names = frozenset[str]


def xla_style(graph: Graph, planner: Planner) -> Partition:
    """The partition by the rule."""
    queue = Queue(planner, {operator.name: frozenset((operator.name,)) for operator in graph.operators})
    for operator in graph.operators:
        queue.look_at(operator.name)
    while queue.savings:
        producer = max(queue.savings, key=lambda name: (queue.savings[name], -planner.legality.number[name]))
        queue.fuse(producer)
    found = ordered_duplicates(planner, queue.fusions)
    return tuple(queue.group(result) for result in found)


@dataclass(slots=True)
class Queue:
    """Fusions by the operator whose value they store, with the saving of each producer that may be fused
    into its readers.
    """

    planner: Planner
    fusions: dict[str, Names]
    savings: dict[str, int] = field(default_factory=dict)

    def group(self, result: str, members: Names | None = None) -> Group:
        """A fusion as a group that stores one operator's values."""
        legality = self.planner.legality
        names = tuple(sorted(members or self.fusions[result], key=legality.number.__getitem__))
        if len(names) == 1:
            return Group(names)
        return Group(names, writes=tuple(name for name in legality.operators[result].outputs if name))

    def readers(self, producer: str) -> list[str]:
        """The fusions that read a producer's value from memory."""
        made = set(self.planner.legality.operators[producer].outputs)
        return [
            result
            for result, members in self.fusions.items()
            if result != producer and any(self.reads(name, made) for name in members)
        ]

    def reads(self, name: str, values: set[str]) -> bool:
        """Whether an operator reads one of some values."""
        return bool(values & set(self.planner.legality.operators[name].inputs))

    def look_at(self, producer: str) -> None:
        """Model what fusing a producer into all its readers saves; out of the queue where it can't be built
        or saves nothing.
        """
        self.savings.pop(producer, None)
        planner, legality = self.planner, self.planner.legality
        tensors = planner.graph.tensors
        if any(tensors[name].kind == "output" for name in legality.operators[producer].outputs if name):
            return
        readers = self.readers(producer)
        if not readers or legality.refused_kind(legality.operators[producer]):
            return
        before = planner.price(self.group(producer)).total_fs
        after = 0
        for reader in readers:
            group = self.group(reader, self.fusions[reader] | self.fusions[producer])
            if legality.refusal(group.operators, group.writes) is not None:
                return
            price = planner.price(group)
            if price.refusal is not None:
                return
            before += planner.price(self.group(reader)).total_fs
            after += price.total_fs
        if before > after:
            self.savings[producer] = before - after

    def fuse(self, producer: str) -> None:
        """Fuse a producer into its readers and look at everything around them again."""
        readers = self.readers(producer)
        members = self.fusions.pop(producer)
        self.savings.pop(producer, None)
        around = set(readers)
        for reader in readers:
            self.fusions[reader] |= members
            for name in self.fusions[reader]:
                for tensor in self.planner.legality.operators[name].inputs:
                    writer = self.planner.legality.producers.get(tensor)
                    if writer is not None and writer.name in self.fusions:
                        around.add(writer.name)
        for name in sorted(around):
            self.look_at(name)


def ordered_duplicates(planner: Planner, fusions: dict[str, Names]) -> list[str]:
    """The results of fusions in an order in which each finds its operands stored."""
    legality = planner.legality
    done: set[str] = set()
    waiting = sorted(fusions, key=legality.number.__getitem__)
    found: list[str] = []
    while waiting:
        for result in waiting:
            outside = {
                legality.producers[tensor].name
                for name in fusions[result]
                for tensor in legality.operators[name].inputs
                if tensor in legality.producers
            } - fusions[result]
            if outside <= done:
                break
        else:
            raise AssertionError("fusions into all readers keep an order")
        waiting.remove(result)
        done.add(result)
        found.append(result)
    return found
