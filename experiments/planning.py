"""What `stallscope plan` knows of a model: its data flow, its kernels under a strategy with registers and
spills, where each intermediate lives, and why operators stayed apart, as one document.

Nothing is replayed unless it is asked for: registers, spills and shared memory follow from the programs
alone. Cycles are null then.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.config import Config
    from hwmodels import Gpu
    from simulator.trace.schema import KernelTrace
    from simulator.workload.groups import Group
    from simulator.workload.plan import Plan, Planned
    from simulator.workload.residence import Residence


def plan_document(config: Config, strategy: str, gpu: Gpu) -> tuple[dict[str, Any], list[KernelTrace]]:
    """The whole plan in plain values, and its kernels. Parts of the graph stand one after another."""
    from experiments.workload import plans_of
    from simulator.workload.residence import residence

    if config.source not in {"onnx", "operators"}:
        raise InputError(
            f"{config.place}:workload", f"{config.source} have no operators to plan", "name a model"
        )
    plans = plans_of(config, strategy, gpu)
    edges = [residence(plan, gpu.l2.size_kib * 1024) for plan in plans]
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
            {
                "producer": one.edge.producer,
                "consumer": one.edge.consumer,
                "tensor": one.edge.tensor,
                "reason": one.why_apart,
            }
            for part in edges
            for one in part
            if not one.fused
        ],
        "opaque": [reason for plan in plans for reason in plan.opaque],
        "dataflow": _dataflow(plans, edges),
    }
    return document, [trace for plan in plans for trace in plan.traces]


def _groups(plan: Plan) -> list[dict[str, Any]]:
    from simulator.workload.groups import groups_for

    made: dict[str, list[Planned]] = {}
    for kernel in plan.kernels:
        made.setdefault(kernel.group.operators[0].name, []).append(kernel)
    return [
        _group(group, made.get(group.operators[0].name, []))
        for group in groups_for(plan.graph, plan.strategy)
    ]


def _group(group: Group, kernels: list[Planned]) -> dict[str, Any]:
    traces = [kernel.trace for kernel in kernels]
    return {
        "operators": [operator.name for operator in group.operators],
        "kinds": [operator.kind for operator in group.operators],
        "registers_per_thread": max((trace.registers_per_thread for trace in traces), default=0),
        "spill_bytes_per_thread": max((trace.local_bytes_per_thread for trace in traces), default=0),
        "shared_bytes_per_block": max((trace.shared_bytes_per_block for trace in traces), default=0),
        "cycles": None,
        "view": not kernels,
        "kernels": [_kernel(kernel) for kernel in kernels],
    }


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
        if group["kernels"]:
            group["cycles"] = sum(next(left) for _ in group["kernels"])
