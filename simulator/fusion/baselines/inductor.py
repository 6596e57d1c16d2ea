"""Greedy fusion by shared bytes: after J. Ansel et al., PyTorch 2: Faster Machine Learning Through Dynamic
Python Bytecode Transformation and Graph Compilation, ASPLOS 2024, section 4.4, and the scheduler's source.

In each round all pairs of clusters that one kernel could compute, one feeding the other or both reading the
same value, are scored by the bytes of the tensors that both touch, near ones first among equals. They are
joined from the best score down, each judged again on the clusters as they then are; a cluster has at most 64
operators. Rounds go on until nothing changes. Contractions and windows take what follows them, nothing else.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from simulator.fusion.baselines.clusters import Clusters, Names
from simulator.fusion.groups import Partition
from simulator.workload.graph import Graph

if TYPE_CHECKING:
    from simulator.fusion.legality import Legality
    from simulator.fusion.planner import Planner

MOST_OPERATORS = 64
MOST_ROUNDS = 10
FARTHEST = 64
"""Clusters that pass nothing to each other are not joined over a greater distance in the graph's order."""


def inductor_style(_graph: Graph, planner: Planner) -> Partition:
    """The partition by the rule."""
    clusters = Clusters(planner)
    for _ in range(MOST_ROUNDS):
        if not joined_in_a_round(planner, clusters):
            break
    return clusters.partition()


def joined_in_a_round(planner: Planner, clusters: Clusters) -> bool:
    """One round; whether anything was joined."""
    legality = planner.legality
    touched = {cluster: tensors_of(legality, cluster) for cluster in clusters.all()}
    scored = []
    for left, right in combinations(clusters.all(), 2):
        score = sum(planner.graph.tensors[name].bytes for name in touched[left] & touched[right])
        far = distance(legality, left, right)
        if score and (far <= FARTHEST or feeds(legality, left, right)):
            first = min(legality.number[name] for name in left | right)
            scored.append((-score, far, first, left, right))
    changed = False
    for _, _, _, left, right in sorted(scored, key=lambda one: one[:3]):
        now = {clusters.of[next(iter(left))], clusters.of[next(iter(right))]}
        if len(now) == 2 and sum(map(len, now)) <= MOST_OPERATORS and clusters.can_join(now):
            clusters.join(now)
            changed = True
    return changed


def tensors_of(legality: Legality, cluster: Names) -> frozenset[str]:
    """Tensors that a cluster reads from memory or writes to it."""
    operators = [legality.operators[name] for name in cluster]
    made = {name for operator in operators for name in operator.outputs if name}
    read = {name for operator in operators for name in operator.inputs if name} - made
    return frozenset(read | legality.leaving(operators))


def feeds(legality: Legality, left: Names, right: Names) -> bool:
    """Whether one of two clusters reads a value of the other."""
    ours, theirs = legality.mask(left), legality.mask(right)
    return any(legality.readers[legality.number[name]] & theirs for name in left) or any(
        legality.readers[legality.number[name]] & ours for name in right
    )


def distance(legality: Legality, left: Names, right: Names) -> int:
    """Operators between two clusters in the graph's order."""
    ours = [legality.number[name] for name in left]
    theirs = [legality.number[name] for name in right]
    return max(0, min(theirs) - max(ours), min(ours) - max(theirs))
