"""What `stallscope plan` knows of a model: its data flow, its kernels under a strategy with registers and
spills, where each intermediate lives, and why operators stayed apart, as one document.

Nothing is replayed unless it is asked for: registers, spills and shared memory follow from the programs
alone. Cycles are those of the rung that planned, or of a dearer one or of a replay if that is asked for; each
group says which.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hwmodels.errors import InputError

FS_PER_US = 10**9

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.config import Config
    from experiments.planner import PartPlan
    from hwmodels import Gpu
    from simulator.fusion.why import Why
    from simulator.trace.schema import KernelTrace
    from simulator.workload.dataflow import Edge
    from simulator.workload.groups import Group
    from simulator.workload.plan import Plan, Planned
    from simulator.workload.residence import Residence


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a plan should say beyond its groups: the rung that prices them, a dearer one that prices the
    chosen ones again, every window, what flips it.
    """

    rung: str | None = None
    check: str | None = None
    windows: bool = False
    sensitivity: bool = False


def plan_document(
    config: Config, strategy: str, gpu: Gpu, wishes: Wishes | None = None
) -> tuple[dict[str, Any], list[KernelTrace]]:
    """The whole plan in plain values, and its kernels. Parts of the graph stand one after another."""
    wishes = wishes or Wishes()
    from experiments.workload import plans_of

    if config.source not in {"onnx", "operators"}:
        raise InputError(
            f"{config.place}:workload", f"{config.source} have no operators to plan", "name a model"
        )
    parts = plans_of(config, strategy, gpu, wishes.rung or ("analytic" if strategy == "none" else None))
    plans = [part.plan for part in parts]
    explained = [_edges(part, strategy, gpu) for part in parts]
    edges = [found for found, _ in explained]
    groups = [group for plan in plans for group in _groups(plan)]
    document = {
        "model": config["workload.onnx"] or config["name"],
        "gpu": gpu.name,
        "scale": gpu.scale,
        "strategy": strategy,
        "batch": config["workload.batch"],
        "dtype": config["workload.dtype"],
        "parts": [list(part) for part in config.parts],
        "registers_cap": config["registers.cap"],
        "nodes": sum(len(plan.graph.operators) for plan in plans),
        "groups": groups,
        "kernels_before": sum(_kernels_apart(plan, gpu) for plan in plans),
        "kernels_after": sum(len(group["kernels"]) for group in groups),
        "why_not": [
            _why_not(one, reasons.get(one.edge))
            for part, reasons in explained
            for one in part
            if not one.fused
        ],
        "search": [_search(part) for part in parts],
        "ladder": _ladder(parts, wishes.check),
        **_wished(parts, strategy, wishes),
        "opaque": [reason for plan in plans for reason in plan.opaque],
        "dataflow": _dataflow(plans, edges),
    }
    _with_prices(document, parts, wishes.check)
    return document, [trace for plan in plans for trace in plan.traces]


def _with_prices(document: dict[str, Any], parts: list[PartPlan], check: str | None) -> None:
    """Cycles of each group by itself, by the rung that planned it or a dearer one."""
    priced = []
    for part in parts:
        if part.planner is not None:
            rung = check or part.rung
            part.planner.prepare(part.partition, rung)
            priced += [(rung, part.planner.price(group, rung)) for group in part.partition]
    for group, (rung, price) in zip(document["groups"], priced, strict=True):
        if price.refusal is None:
            _set_cycles(group, [kernel.cycles for kernel in price.kernels], rung)


def _set_cycles(group: dict[str, Any], cycles: Sequence[int], source: str) -> None:
    """Cycles of a group's kernels and their sum, none for a view; `source` is a rung of the cost ladder, or
    "replay".
    """
    for kernel, count in zip(group["kernels"], cycles, strict=True):
        kernel["cycles"] = count
    group["cycles"] = sum(cycles)
    group["cycles_by"] = source


def _edges(part: PartPlan, strategy: str, gpu: Gpu) -> tuple[tuple[Residence, ...], dict[Edge, Why]]:
    """Where each value of a part lives, and the reasons of the planner for edges between kernels."""
    from simulator.workload.residence import residence

    room = gpu.l2.size_kib * 1024
    if part.planner is None:
        return residence(part.plan, room), {}
    from simulator.fusion.why import Reasons

    reasons = Reasons(part.planner, part.partition, strategy)
    kept: dict[Edge, Why] = {}

    def sentence(edge: Edge) -> str:
        kept[edge] = reasons.why(edge)
        return kept[edge].sentence

    return residence(part.plan, room, sentence), kept


def _ladder(parts: list[PartPlan], check: str | None) -> list[dict[str, Any]]:
    """What each rung up to the one that planned says of the chosen groups, and its error against the next."""
    from simulator.fusion.ladder import ANALYTIC, BYTES, RUNG_NAMES
    from simulator.fusion.steps import steps

    planned = [part for part in parts if part.planner is not None]
    if not planned:
        return []
    asked = {part.rung for part in planned} | {check}
    names = [name for name in RUNG_NAMES if name in {BYTES, ANALYTIC} | asked]
    for part in planned:
        if check and part.planner is not None:
            part.planner.prepare(part.partition, check)
    prices = {
        name: [
            part.planner.price(group, name)
            for part in planned
            for group in part.partition
            if part.planner is not None
        ]
        for name in names
    }
    return [asdict(step) for step in steps(prices)]


def _wished(parts: list[PartPlan], strategy: str, wishes: Wishes) -> dict[str, Any]:
    """Windows and sensitivity, where asked for and planned."""
    found: dict[str, Any] = {}
    planned = [part for part in parts if part.planner is not None]
    if wishes.windows:
        from simulator.fusion.windows import windows_of

        found["windows"] = [
            asdict(one) for part in planned if part.planner is not None for one in windows_of(part.planner)
        ]
    if wishes.sensitivity:
        from simulator.fusion.sensitivity import sensitivity

        found["sensitivity"] = [
            asdict(one)
            for part in planned
            if part.planner is not None
            for one in sensitivity(part.planner, part.partition, strategy)
        ]
    return found


def _why_not(one: Residence, why: Why | None) -> dict[str, Any]:
    """One edge between kernels; rule, number and limit where the planner gave them."""
    edge = one.edge
    return {
        "producer": edge.producer,
        "consumer": edge.consumer,
        "tensor": edge.tensor,
        "reason": one.why_apart,
        "rule": None if why is None else why.rule,
        "number": None if why is None else why.number,
        "limit": None if why is None else why.limit,
        "loses_ns": None if why is None else why.loses_ns,
    }


def _search(part: PartPlan) -> dict[str, Any]:
    """What the planner looked at, its cost and how far from the bound it is; empty where nobody searched."""
    if part.planner is None or part.planner.found is None:
        return {}
    found, planner = part.planner.found, part.planner
    return {
        "rung": part.rung,
        "planned_us": planner.total(part.partition, part.rung) / FS_PER_US,
        "gap_pct": found.gap_ppm / 10_000,
        "nodes": found.nodes,
        "groups_legal": found.groups,
        "groups_priced_anew": dict(planner.looked),
        "complete": found.complete,
    }


def _groups(plan: Plan) -> list[dict[str, Any]]:
    made: dict[tuple[str, ...], list[Planned]] = {}
    for kernel in plan.kernels:
        made.setdefault(_names(kernel.group), []).append(kernel)
    return [_group(group, made.get(_names(group), [])) for group in plan.groups]


def _names(group: Group) -> tuple[str, ...]:
    return tuple(operator.name for operator in group.operators)


def _group(group: Group, kernels: list[Planned]) -> dict[str, Any]:
    traces = [kernel.trace for kernel in kernels]
    return {
        "operators": [operator.name for operator in group.operators],
        "kinds": [operator.kind for operator in group.operators],
        "registers_per_thread": max((trace.registers_per_thread for trace in traces), default=0),
        "spill_bytes_per_thread": max((trace.local_bytes_per_thread for trace in traces), default=0),
        "shared_bytes_per_block": max((trace.shared_bytes_per_block for trace in traces), default=0),
        "form": _form(kernels),
        "cycles": None,
        "cycles_by": None,
        "view": not kernels,
        "kernels": [_kernel(kernel) for kernel in kernels],
    }


def _form(kernels: list[Planned]) -> str:
    """Vertical, or how a horizontal kernel is split."""
    return next(
        (dict(one.trace.meta)["form"] for one in kernels if "form" in dict(one.trace.meta)), "vertical"
    )


def _kernel(kernel: Planned) -> dict[str, Any]:
    trace, allocation = kernel.trace, kernel.allocation
    words, place, names = allocation.liveness.peak()
    return {
        "kernel": trace.name,
        "grid_blocks": trace.blocks,
        "threads_per_block": trace.threads_per_block,
        "registers_per_thread": trace.registers_per_thread,
        "spill_bytes_per_thread": trace.local_bytes_per_thread,
        "shared_bytes_per_block": trace.shared_bytes_per_block,
        "cycles": None,
        "spilled": list(allocation.spilled_names),
        "recomputed": list(allocation.recomputed_names),
        "pressure": allocation.liveness.pressure(),
        "pressure_peak": words,
        "pressure_peak_operation": place,
        "live_at_peak": list(names),
        "live_words_at_peak": allocation.liveness.words_at(place),
        "opaque": kernel.opaque or None,
    }


def _kernels_apart(plan: Plan, gpu: Gpu) -> int:
    """Kernels of the same operators, each alone."""
    from simulator.workload.build import KernelMaker
    from simulator.workload.groups import groups_for
    from simulator.workload.target import Target

    if plan.strategy == "none":
        return len(plan.kernels)
    maker = KernelMaker(plan.graph, Target.of(gpu))
    return sum(len(maker.kernels(group)) for group in groups_for(plan.graph, "none"))


def _dataflow(plans: list[Plan], edges: list[tuple[Residence, ...]]) -> dict[str, Any]:
    from simulator.workload.access import LEVELS, accesses, bytes_by_level
    from simulator.workload.dataflow import analyse

    flows = [analyse(plan.graph) for plan in plans]
    counted = [accesses(plan.graph, flow, part) for plan, flow, part in zip(plans, flows, edges, strict=True)]
    levels = {one.tensor: one for part in counted for one in part}
    lives = []
    for life in (life for flow in flows for life in flow.lives):
        row = asdict(life)
        found = levels[life.tensor]
        row["reads_by_level"] = {level: n for level, n in zip(LEVELS, found.reads, strict=True) if n}
        row["writes_by_level"] = {level: n for level, n in zip(LEVELS, found.writes, strict=True) if n}
        lives.append(row)
    return {
        "edges": [
            {**asdict(one.edge), "lives_in": one.lives_in, "kernel": one.kernel or None}
            for part in edges
            for one in part
        ],
        "lives": lives,
        "live_bytes": [size for flow in flows for size in flow.live_bytes],
        "peak_live_bytes": max(flow.peak_live_bytes for flow in flows),
        "bytes_read": sum(flow.bytes_read for flow in flows),
        "bytes_written": sum(flow.bytes_written for flow in flows),
        "bytes_by_level": bytes_by_level(tuple(one for part in counted for one in part)),
    }


def with_cycles(document: dict[str, Any], cycles: list[int]) -> None:
    """Write replayed cycles, one a kernel in launch order, into the groups; a group's are the sum."""
    left = iter(cycles)
    for group in document["groups"]:
        _set_cycles(group, [next(left) for _ in group["kernels"]], "replay")
