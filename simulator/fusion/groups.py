"""Groups of operators by name, partitions of a graph, and the kernels that a group becomes.

A vertical group is one program over its operators; a horizontal one runs the programs of its parts in one
launch, block beside block or warp beside warp. A group may compute an operator that another group computes
too (a duplicate); `writes` then says which of its values it stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

from hwmodels.errors import InputError
from simulator.trace.schema import KernelTrace
from simulator.workload import groups as workload_groups
from simulator.workload.allocate import allocate
from simulator.workload.build import KernelMaker
from simulator.workload.graph import Graph, Operator
from simulator.workload.ir import Kernel
from simulator.workload.lower import trace_of
from simulator.workload.plan import Planned

VERTICAL, BLOCK_SPLIT, THREAD_SPLIT = "vertical", "block-split", "thread-split"


@dataclass(frozen=True, slots=True)
class Group:
    """Operators of one launch, in the graph's order. `form` is vertical, block-split or thread-split; the
    last two have `parts`, vertical groups that hold the same operators together. `writes` are the values
    that leave a vertical group; None: all that anybody outside reads.
    """

    operators: tuple[str, ...]
    form: str = VERTICAL
    parts: tuple[Group, ...] = ()
    writes: tuple[str, ...] | None = None

    def leaves(self) -> Iterator[Group]:
        """The vertical groups inside, itself if it is one."""
        if self.form == VERTICAL:
            yield self
        for part in self.parts:
            yield from part.leaves()


Partition = tuple[Group, ...]
"""The kernels of a graph in launch order."""


def vertical(*operators: str) -> Group:
    """A group over these operators."""
    return Group(tuple(operators))


def horizontal(form: str, parts: Sequence[Group]) -> Group:
    """Parts in one launch."""
    return Group(tuple(name for part in parts for name in part.operators), form, tuple(parts))


def planned_of(graph: Graph, group: Group, maker: KernelMaker, cap: int | None = None) -> list[Planned]:
    """The kernels of a group with registers and traces; empty where its only operator is a view. `maker` is
    the one of the whole graph, so that tensors lie where they lie for every other group.
    """
    members = tuple(operators_of(graph, group))
    made = []
    for kernel in programs_of(graph, group, maker):
        allocation = allocate(kernel, cap)
        reason = dict(kernel.notes).get("opaque", "")
        made.append(Planned(workload_groups.Group(members), allocation, trace_of(allocation), reason))
    return made


def kernels_of(graph: Graph, group: Group, maker: KernelMaker, cap: int | None = None) -> list[KernelTrace]:
    """The traces of a group's kernels, in launch order."""
    return [planned.trace for planned in planned_of(graph, group, maker, cap)]


def programs_of(graph: Graph, group: Group, maker: KernelMaker) -> list[Kernel]:
    """The programs of a group before registers are chosen."""
    if group.form == VERTICAL:
        members = tuple(operators_of(graph, group))
        return maker_for(graph, group, members, maker).kernels(workload_groups.Group(members))
    from simulator.workload.horizontal import block_split, thread_split

    programs = [kernel for part in group.parts for kernel in programs_of(graph, part, maker)]
    if len(programs) != len(group.parts):
        raise InputError(
            group.operators[0],
            f"{len(group.parts)} parts are {len(programs)} kernels",
            "parts of one kernel each",
        )
    merge = {BLOCK_SPLIT: block_split, THREAD_SPLIT: thread_split}[group.form]
    return [merge(programs)]


def operators_of(graph: Graph, group: Group) -> Iterator[Operator]:
    """The operators of a group, in the graph's order."""
    chosen = set(group.operators)
    return (operator for operator in graph.operators if operator.name in chosen)


def maker_for(graph: Graph, group: Group, members: tuple[Operator, ...], maker: KernelMaker) -> KernelMaker:
    """The maker itself, or one that sees only this group, where the group stores other values than those that
    are read outside.
    """
    if group.writes is None:
        return maker
    part = graph.cut(members)
    kept = set(group.writes)
    made = {name for operator in members for name in operator.outputs if name}
    tensors = {
        name: replace(tensor, kind="output" if name in kept else "intermediate") if name in made else tensor
        for name, tensor in part.tensors.items()
    }
    narrow = copy(maker)
    narrow.graph = replace(part, tensors=tensors)
    return narrow
