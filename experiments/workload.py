"""From a config's workload to kernel traces: a model's part under a fusion strategy, files of traces, or
named kernels.

Only a graph of operators has anything to fuse; traces and named kernels are replayed as they are, as one
variant. The sentences that come with the kernels say what is replayed and what is not, and are printed and
kept with the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.config import Config
from experiments.keys import KEYS
from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.planner import PartPlan
    from hwmodels import Gpu
    from simulator.trace.schema import KernelTrace
    from simulator.workload.graph import Graph

AS_GIVEN = "as-given"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute the workload: its name and its kernels in order."""

    name: str
    kernels: tuple[KernelTrace, ...]
    notes: tuple[str, ...] = ()
    """What a person should know of it, such as operators that only move their bytes."""
    copied: tuple[tuple[int, int], ...] = ()
    """(address, bytes) of what is in L2 before the first kernel, beside what `workload.l2_state` says."""


def variant_names(config: Config) -> tuple[str, ...]:
    """The variants of a config: its fusion strategies, or the one that traces and named kernels are."""
    if config.source in {"onnx", "operators"}:
        strategies: tuple[str, ...] = config["fusion"]
        return strategies
    return (AS_GIVEN,)


def make_variant(config: Config, name: str, gpu: Gpu) -> Variant:
    """The kernels of one variant for a card."""
    if config.source in {"onnx", "operators"}:
        return _fused(config, name, gpu)
    if config.source == "traces":
        from simulator.trace.sources import traces_from

        return _given(
            name, [kernel for text in config["workload.traces"] for kernel in traces_from(text)], gpu
        )
    kernels = [kernel for spec in config["workload.kernels"] for kernel in _named(spec, config.place)]
    return Variant(name, tuple(kernels))


def _given(name: str, kernels: list[KernelTrace], gpu: Gpu) -> Variant:
    """Traces as they are; what a traced run copied to the card is in L2 as far as it fits."""
    from simulator.trace.accelsim import remarks, resident

    copied = resident(kernels, gpu.l2.size_kib * 1024)
    notes = remarks(kernels, gpu)
    if copied:
        held = sum(size for _, size in copied)
        notes.append(f"Copies of the traced run leave {held} bytes in L2 before the first kernel.")
    return Variant(name, tuple(kernels), tuple(notes), copied)


def _fused(config: Config, strategy: str, gpu: Gpu) -> Variant:
    from experiments.planner import notes_of

    plans = [planned.plan for planned in plans_of(config, strategy, gpu)]
    notes = [f"Only its bytes are moved: {reason}." for plan in plans for reason in plan.opaque]
    notes += [note for plan in plans for note in notes_of(plan)]
    return Variant(strategy, tuple(trace for plan in plans for trace in plan.traces), tuple(notes))


def plans_of(config: Config, strategy: str, gpu: Gpu, rung: str | None = None) -> list[PartPlan]:
    """The plan of each part of the config's graph under a strategy, priced by a rung of the cost ladder."""
    try:
        return _plans(config, strategy, gpu, rung)
    except InputError as error:
        if config.source != "operators":
            raise
        raise InputError(_place_in_list(config, error.place), error.problem, error.remedy) from None


def _plans(config: Config, strategy: str, gpu: Gpu, rung: str | None) -> list[PartPlan]:
    from experiments.planner import part_plan
    from simulator.workload.layout import Placement

    # One placement for all parts: a tensor that two of them touch has one address, and no two share one.
    placement = Placement()
    return [part_plan(config, part, strategy, gpu, placement, rung) for part in parts_of(config)]


def parts_of(config: Config) -> list[Graph]:
    """The parts of the config's graph, before anything is fused."""
    graph = replace(_graph(config), rounding=config["workload.rounding"])
    parts = [graph.subgraph(first, last) for first, last in config.parts]
    if config["workload.fold"] == "batch_norm":
        from simulator.workload.fold import fold_batch_norms

        parts = [fold_batch_norms(part)[0] for part in parts]
    return parts if config["workload.window"] is None else _windows(parts, config["workload.window"])


def _windows(parts: list[Graph], size: int) -> list[Graph]:
    """Each part in pieces of so many operators; strategies fuse within a piece only."""
    return [
        part.cut(part.operators[at : at + size])
        for part in parts
        for at in range(0, len(part.operators), size)
    ]


def _graph(config: Config) -> Graph:
    batch, dtype = config["workload.batch"], config["workload.dtype"]
    if config.source == "onnx":
        from simulator.workload.onnx_import import import_onnx

        return import_onnx(config["workload.onnx"], batch, dtype)
    from simulator.workload.operator_list import operator_list

    return operator_list(config["workload.operators"], batch, dtype, place=_list_place(config))


def _list_place(config: Config) -> str:
    return f"{config.place}:workload.operators"


def _place_in_list(config: Config, place: str) -> str:
    """Where an error about an operator list is to be mended: the item, if its operator is named."""
    from simulator.workload.operator_list import label_of

    above = _list_place(config)
    if place.startswith(above):
        return place
    if place in KEYS:
        return f"{config.place}:{place}"
    for index, item in enumerate(config["workload.operators"]):
        if place == label_of(index, item):
            return f"{above}[{index}]"
    return f"{above}: {place}" if place else above


def description(config: Config, gpu: Gpu) -> list[str]:
    """What is replayed on a card, in sentences for a person."""
    slice_of = "the whole card" if gpu.scale == "1/1" else f"a slice of {gpu.scale} of the card"
    card = (
        f"{gpu.name}: {slice_of} ({gpu.sm_count} SMs, {gpu.l2.size_kib} KiB of L2, "
        f"{gpu.dram.bandwidth_gb_s:.0f} GB/s of {gpu.dram.standard}), "
        f"L2 {config['workload.l2_state']} at the start"
    )
    sampled = config["sample"]
    part = "" if sampled is None else f", of long kernels only the first, within {100 * sampled:g} %"
    return [f"{_what(config)}{part}.", f"{card}."]


def _what(config: Config) -> str:
    if config.source == "traces":
        return f"Replayed: {', '.join(config['workload.traces'])}"
    if config.source == "kernels":
        names = ", ".join(str(one.get("name")) for one in config["workload.kernels"])
        return f"Replayed: the named kernels {names}"
    model = config["workload.onnx"] or "the operator list of the config"
    folded = ", batch norms folded into filters" if config["workload.fold"] == "batch_norm" else ""
    parts = [f"{first or 'the first node'} to {last or 'the last'}" for first, last in config.parts]
    return (
        f"Replayed: {model}, {' and '.join(parts)}, batch {config['workload.batch'] or 'of the model'}, "
        f"{config['workload.dtype']}{folded}"
        + (", every block of every kernel" if config["sample"] is None else "")
    )


def _named(spec: Mapping[str, Any], place: str) -> list[KernelTrace]:
    from simulator.trace.kernels import from_spec

    if not isinstance(spec.get("name"), str):
        raise InputError(
            f"{place}:workload.kernels", "a kernel without a name", "write {name: copy, megabytes: 4}"
        )
    parameters = "".join(f",{key}={value}" for key, value in spec.items() if key != "name")
    return list(from_spec(f"kernel:{spec['name']}{parameters}"))
