"""From a part of a graph to the kernel traces of a fusion strategy: the door of the workload room.

Strategies here are `none` and `vertical`. What had no kernel program is listed with its reason: its kernel
only moves its bytes.
"""

from dataclasses import dataclass

from hwmodels import Gpu
from simulator.trace.schema import KernelTrace
from simulator.workload.allocate import Allocation, allocate
from simulator.workload.build import KernelMaker
from simulator.workload.graph import Graph
from simulator.workload.groups import Group, groups_for
from simulator.workload.layout import Placement
from simulator.workload.lower import trace_of
from simulator.workload.target import Target


@dataclass(frozen=True, slots=True)
class Planned:
    """One kernel: its operators, its program with registers, its trace, and why it is opaque (empty: it is
    not).
    """

    group: Group
    allocation: Allocation
    trace: KernelTrace
    opaque: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All kernels of a graph part under one strategy, in launch order; views are operators without a kernel
    because they move nothing. `groups` are the operators of each launch, views too.
    """

    graph: Graph
    strategy: str
    kernels: tuple[Planned, ...]
    views: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()

    @property
    def traces(self) -> list[KernelTrace]:
        """What the machine replays."""
        return [kernel.trace for kernel in self.kernels]

    @property
    def opaque(self) -> list[str]:
        """Operators without a kernel program, each with the reason."""
        return [kernel.opaque for kernel in self.kernels if kernel.opaque]


def plan_for(
    graph: Graph,
    strategy: str,
    target: Target,
    cap: int | None = None,
    placement: Placement | None = None,
) -> Plan:
    """The plan of a graph part. A placement that is shared between calls keeps tensors where they are."""
    maker = KernelMaker(graph, target, placement)
    planned = []
    views = []
    groups = groups_for(graph, strategy)
    for group in groups:
        made = maker.kernels(group)
        if not made:
            views.append(f"{group.operators[0].name}: {group.operators[0].kind} is a view")
        for kernel in made:
            allocation = allocate(kernel, cap)
            reason = dict(kernel.notes).get("opaque", "")
            planned.append(Planned(group, allocation, trace_of(allocation), reason))
    return Plan(graph, strategy, tuple(planned), tuple(views), tuple(groups))


def kernels_for(
    graph: Graph,
    strategy: str,
    gpu: Gpu,
    cap: int | None = None,
    placement: Placement | None = None,
) -> list[KernelTrace]:
    """The kernel traces of a graph part on a card."""
    return plan_for(graph, strategy, Target.of(gpu), cap, placement).traces
