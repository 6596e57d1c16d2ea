"""Where each value lives on its way from its operator to the one that reads it: in registers, in
shared memory, in global memory (and then perhaps still in L2), or nowhere because the reader is a view.

Inside a kernel the answer is read off its program: the operands of every instruction name their tensors. L2
by chance is an estimate by capacity: what is moved from the write to the read fits. Which sectors really hit
only a replay tells.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hwmodels.operations import Operation, Space, space_of
from simulator.workload.apart import Separations
from simulator.workload.dataflow import Edge, analyse
from simulator.workload.plan import Plan, Planned

REGISTERS, SHARED, VIEW = "registers", "shared memory", "view"
GLOBAL, CHANCE = "global memory", "L2 by chance"


@dataclass(frozen=True, slots=True)
class Residence:
    """One producer–consumer edge: where the value lives, and why the two do not share a kernel (empty where
    they do). `lives_in` is registers, shared memory, global memory, L2 by chance, or view.
    """

    edge: Edge
    lives_in: str
    kernel: str
    why_apart: str

    @property
    def fused(self) -> bool:
        """Whether writer and reader share a kernel."""
        return bool(self.kernel)


def residence(
    plan: Plan, l2_bytes: int = 0, reason: Callable[[Edge], str] | None = None
) -> tuple[Residence, ...]:
    """The residence of every edge of a plan's graph, on a card with so much L2. `reason` says why an edge is
    between kernels; left out, the plain rules do.
    """
    if reason is None:
        views = frozenset(text.partition(":")[0] for text in plan.views)
        reason = Separations(plan.graph, plan.strategy, list(plan.groups), views).reason
    made: dict[str, list[int]] = {}
    for at, kernel in enumerate(plan.kernels):
        for operator in kernel.group.operators:
            made.setdefault(operator.name, []).append(at)
    moved = [bytes_moved(kernel) for kernel in plan.kernels]
    found = []
    for edge in analyse(plan.graph).edges:
        writers, readers = made.get(edge.producer, []), made.get(edge.consumer, [])
        if not writers or not readers:
            found.append(Residence(edge, VIEW, "", reason(edge)))
        elif set(readers) <= set(writers):
            kernels = [plan.kernels[at] for at in readers]
            found.append(Residence(edge, inside(edge.tensor, kernels), kernels[0].trace.name, ""))
        else:
            between = sum(moved[writers[-1] : readers[0] + 1])
            place = CHANCE if between <= l2_bytes else GLOBAL
            found.append(Residence(edge, place, "", reason(edge)))
    return tuple(found)


def inside(tensor: str, kernels: list[Planned]) -> str:
    """Where a value lives between operators of one group: the furthest place that an instruction takes it
    to and from. A kernel that writes it for others outside still hands it on in registers.
    """
    found = REGISTERS
    for kernel in kernels:
        ids = [at for at, info in enumerate(kernel.trace.tensors) if info.name == tensor]
        for op in kernel.allocation.liveness.ops:
            if op.dst_tensor not in ids:
                continue
            space = space_of(op.operation)
            if space is Space.GLOBAL and op.operation is not Operation.STG:
                return GLOBAL
            if space is Space.SHARED:
                found = SHARED
    return found


def bytes_moved(kernel: Planned) -> int:
    """Bytes of the tensors that a kernel loads or stores, each once."""
    infos = kernel.trace.tensors
    touched = {
        op.dst_tensor
        for op in kernel.allocation.liveness.ops
        if op.dst_tensor >= 0 and space_of(op.operation) is Space.GLOBAL
    }
    return sum(infos[at].bytes for at in touched)
