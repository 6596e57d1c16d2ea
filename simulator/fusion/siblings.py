"""Siblings: element-wise operators of one shape that need not pass anything to each other. They are one
region, hence a vertical group that does not hang together: a tensor that several of them read is loaded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simulator.fusion.groups import VERTICAL, Group
from simulator.fusion.problem import is_convex

if TYPE_CHECKING:
    from simulator.fusion.planner import Planner


def are_siblings(planner: Planner, names: Iterable[str]) -> bool:
    """Whether one element-wise region of one shape can compute these operators."""
    legality, chosen = planner.legality, set(names)
    members = [operator for operator in planner.graph.operators if operator.name in chosen]
    if not all(legality.is_elements(operator) for operator in members):
        return False
    shapes = {planner.graph.tensors[operator.outputs[0]].shape for operator in members}
    if len(shapes) > 1 or legality.refused_region(members, legality.leaving(members)):
        return False
    return is_convex(legality.mask(chosen), legality.reach)


def share_operand(planner: Planner, left: Group, right: Group) -> bool:
    """Whether two groups read the same tensor from memory."""
    operators = planner.legality.operators

    def read(group: Group) -> set[str]:
        made = {name for one in group.operators for name in operators[one].outputs}
        return {name for one in group.operators for name in operators[one].inputs if name} - made

    return bool(read(left) & read(right))


def joined_siblings(planner: Planner, left: Group, right: Group) -> Group | None:
    """The region of two groups that read the same tensor; None where they are none."""
    if left.form != VERTICAL or right.form != VERTICAL or left.writes or right.writes:
        return None
    names = {*left.operators, *right.operators}
    if not share_operand(planner, left, right) or not are_siblings(planner, names):
        return None
    return Group(tuple(sorted(names, key=planner.legality.number.__getitem__)))
