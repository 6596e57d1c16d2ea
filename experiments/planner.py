"""The planner of a config's part: from keys (cap, launch, L2 at the start, sample) to a strategy's plan.

Strategy `none` asks nobody unless a rung is named; all others are planned by the prices of
`simulator.fusion`, which are kept in the user's cache folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.config import Config
    from hwmodels import Gpu
    from simulator.fusion.groups import Partition
    from simulator.fusion.planner import Planner
    from simulator.workload.graph import Graph
    from simulator.workload.layout import Placement
    from simulator.workload.plan import Plan

NONE, BEST, TOY = "none", "best", "analytic-toy"
TOLERANCE = 0.02
"""Of the samples by which groups are priced, where a config asks for none."""


@dataclass(frozen=True, slots=True)
class PartPlan:
    """A plan; with the planner and the partition behind it, but for strategy `none`."""

    plan: Plan
    planner: Planner | None = None
    partition: Partition = field(default=())
    rung: str = ""
    """The rung of the cost ladder that decided."""


def part_plan(
    config: Config, part: Graph, strategy: str, gpu: Gpu, placement: Placement, rung: str | None = None
) -> PartPlan:
    """The plan of one part of a graph, by a rung of the cost ladder: left out, by arithmetic, and `best` by
    samples.
    """
    if strategy == NONE and rung is None:
        from simulator.workload.plan import plan_for
        from simulator.workload.target import Target

        return PartPlan(plan_for(part, strategy, Target.of(gpu), config["registers.cap"], placement))
    from simulator.fusion.plans import plan_of
    from simulator.fusion.strategies import partition_for

    planner = planner_for(config, part, gpu)
    if rung is not None:
        planner.rung = planner.dear_rung = rung
    partition = partition_for(strategy, planner)
    plan = plan_of(_placed(planner, placement), strategy, partition)
    return PartPlan(plan, planner, partition, planner.dear_rung if strategy == BEST else planner.rung)


def planner_for(config: Config, part: Graph, gpu: Gpu, placement: Placement | None = None) -> Planner:
    """The planner that a config asks for."""
    from simulator.fusion.ladder import Means
    from simulator.fusion.planner import Planner

    planner = Planner.of(part, gpu, config["registers.cap"], placement)
    planner.launch = config["launch"]
    planner.l2_state = config["workload.l2_state"]
    planner.means = Means(sample=config["sample"] or TOLERANCE)
    return planner


def _placed(planner: Planner, placement: Placement) -> Planner:
    """The same planner with its kernels still to be made, in this placement.

    Tensors get addresses as they are first mentioned, so the kernels of a plan must not share theirs with the
    candidates that a search happened to make: which ones depends on the prices that earlier runs have kept.
    """
    from simulator.workload.build import KernelMaker

    return replace(planner, maker=KernelMaker(planner.graph, planner.maker.target, placement), made={})


def notes_of(plan: Plan) -> list[str]:
    """What should be said beside a plan's result."""
    if plan.strategy != TOY or not plan.graph.operators:
        return []
    from simulator.fusion.toy import toy_of

    return [f"{toy_of(plan.graph).sentence()}."]
