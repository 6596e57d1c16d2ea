"""Fusion by kinds and post-dominators, without a cost: after T. Chen et al., TVM: An Automated End-to-End
Optimizing Compiler for Deep Learning, OSDI 2018, section 3, and the documentation of its FuseOps pass.

Operators are element-wise, broadcast, injective, reduction, complex (a contraction or a window that takes
element-wise work behind it) or opaque. In topological order each looks at its immediate post-dominator, the
first operator that all its readers' ways meet in, and joins it with everything between where the kinds allow:

- complex: all on the ways and the end are element-wise or broadcast, the edges to it of equal shape;
- element-wise and broadcast: all on the ways are injective at most, the end that, a reduction, or complex;
- injective, in a second pass: all are injective at most.

A cluster has the highest kind of its members, so it never holds two of the higher ones. What our kernels
cannot express stays apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.baselines.clusters import Clusters
from simulator.fusion.groups import Partition
from simulator.fusion.legality import BROADCAST, CONTRACTION, ELEMENTS, INJECTIVE, VIEW, WINDOW
from simulator.fusion.problem import bits
from simulator.workload.graph import Graph, Operator
from simulator.workload.row_operators import REDUCTIONS

if TYPE_CHECKING:
    from simulator.fusion.legality import Legality
    from simulator.fusion.planner import Planner

ELEMENT_WISE, SPREADING, MOVING, REDUCING, COMPLEX, CLOSED = range(6)
KINDS = {
    ELEMENTS: ELEMENT_WISE,
    BROADCAST: SPREADING,
    INJECTIVE: MOVING,
    VIEW: MOVING,
    CONTRACTION: COMPLEX,
    WINDOW: COMPLEX,
}
ENDS = frozenset({ELEMENT_WISE, SPREADING, MOVING, REDUCING, COMPLEX})


def tvm_style(graph: Graph, planner: Planner) -> Partition:
    """The partition by the rule."""
    legality, clusters = planner.legality, Clusters(planner)
    own = {operator.name: kind_of(legality, operator) for operator in graph.operators}
    dominators = post_dominators(legality)
    for later in (False, True):
        for source, operator in enumerate(graph.operators):
            end = dominators[source]
            if end is None or clusters.of[operator.name] == clusters.of[graph.operators[end].name]:
                continue
            ways = between(legality, source, end)
            kinds = [max(own[one] for one in clusters.of[other.name]) for other in graph.operators]
            if not wanted(legality, kinds, source, ways, end, later=later):
                continue
            joined = {clusters.of[graph.operators[at].name] for at in (source, *bits(ways), end)}
            if clusters.can_join(joined):
                clusters.join(joined)
    return clusters.partition()


def kind_of(legality: Legality, operator: Operator) -> int:
    """An operator's kind. A softmax or a normalisation is several operators in one, hence closed."""
    if operator.kind in REDUCTIONS:
        return REDUCING
    return KINDS.get(legality.kinds[operator.name], CLOSED)


def wanted(legality: Legality, kinds: list[int], source: int, ways: int, end: int, *, later: bool) -> bool:
    """Whether the rule joins an operator with its post-dominator and the operators between."""
    kind, inner = kinds[source], [kinds[at] for at in bits(ways)]
    if kind == COMPLEX:
        plain = all(one <= SPREADING for one in (*inner, kinds[end]))
        return not later and plain and same_shape(legality, source, ways, end)
    if kind <= SPREADING:
        return not later and all(one <= MOVING for one in inner) and kinds[end] in ENDS
    return later and kind == MOVING and all(one <= MOVING for one in (*inner, kinds[end]))


def same_shape(legality: Legality, source: int, ways: int, end: int) -> bool:
    """Whether every operator on the ways makes the shape of the source's value."""
    operators, tensors = legality.graph.operators, legality.graph.tensors
    shapes = {tensors[operators[at].outputs[0]].shape for at in (source, *bits(ways), end)}
    return len(shapes) == 1


def post_dominators(legality: Legality) -> list[int | None]:
    """For each operator the first one that all ways from it to the graph's results pass; None where there is
    none, as for a result itself.
    """
    operators = legality.graph.operators
    found: list[int | None] = [None] * len(operators)
    depth = [0] * len(operators)
    for at in range(len(operators) - 1, -1, -1):
        leaves = any(legality.graph.tensors[name].kind == "output" for name in operators[at].outputs if name)
        readers = list(bits(legality.readers[at]))
        if leaves or not readers:
            continue
        meet: int | None = readers[0]
        for reader in readers[1:]:
            meet = common(found, depth, meet, reader)
        found[at] = meet
        depth[at] = 0 if meet is None else depth[meet] + 1
    return found


def common(parents: list[int | None], depth: list[int], left: int | None, right: int | None) -> int | None:
    """The nearest common ancestor in the tree of post-dominators."""
    while left != right:
        if left is None or right is None:
            return None
        if depth[left] >= depth[right] and depth[left]:
            left = parents[left]
        elif depth[right]:
            right = parents[right]
        else:
            return None
    return left


def between(legality: Legality, source: int, end: int) -> int:
    """The operators on the ways from one to another, both left out."""
    found = 0
    for at in bits(legality.reach[source]):
        if legality.reach[at] >> end & 1:
            found |= 1 << at
    return found
