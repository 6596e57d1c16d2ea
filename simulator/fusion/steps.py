"""What each rung of the cost ladder says of the same groups, and its error against the next dearer one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.fusion.price import FS_PER_NS, Price


@dataclass(frozen=True, slots=True)
class Step:
    """One rung over all groups of a partition: the sum of kernel times, the same with launch gaps, and how
    far the kernels are below (negative) or above the next dearer rung, in all and for the worst group.
    """

    rung: str
    kernel_ns: int
    total_ns: int
    error_pct: float | None
    worst_pct: float | None


def steps(prices: Mapping[str, Sequence[Price]]) -> list[Step]:
    """The ladder's account of itself; `prices` of the same groups by rung, cheap to dear."""
    found = []
    names = list(prices)
    for at, name in enumerate(names):
        mine = [price.kernel_fs for price in prices[name]]
        total = worst = None
        if at + 1 < len(names):
            theirs = [price.kernel_fs for price in prices[names[at + 1]]]
            total = 100 * (sum(mine) - sum(theirs)) / max(1, sum(theirs))
            each = [100 * (a - b) / b for a, b in zip(mine, theirs, strict=True) if b]
            worst = max(each, key=abs, default=0.0)
        whole = sum(price.total_fs for price in prices[name]) // FS_PER_NS
        found.append(Step(name, sum(mine) // FS_PER_NS, whole, total, worst))
    return found
