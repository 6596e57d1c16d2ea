"""What a strategy may ask while it plans: is a group legal, what does it cost, what are its kernels.

One planner is for one graph on one card with one cap on registers. Prices come from a cost model (a rung of
the ladder in `cost`), in femtoseconds with the launch gap, and are kept by the group's signature.
"""

from __future__ import annotations

from dataclasses import dataclass

from hwmodels import Gpu
from simulator.workload.build import KernelMaker
from simulator.workload.graph import Graph


@dataclass(slots=True)
class Planner:
    """Graph, card and maker. Methods to come: `refused(operators)`, `price(group)`, `kernels(group)`."""

    graph: Graph
    gpu: Gpu
    maker: KernelMaker
    cap: int | None = None
