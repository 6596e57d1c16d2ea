"""A comparison as one document in plain values, and as sentences: what moved, by how much, and what explains
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.compare import Difference, KernelDifference, Latency, difference_of, matched
from experiments.comparison import sized
from experiments.folder import CONFIG, read
from hwmodels.errors import InputError, unknown
from simulator.statistics.result import Result

DRAM_BYTES = ("dram_read_bytes", "dram_write_bytes", "dirty_bytes_left")
"""What a kernel moves between L2 and DRAM, with what others have to write back for it."""
WAITED_FOR = {
    "long_scoreboard": ("global load", "local load", "global async_copy", "global atomic"),
    "lg_throttle": ("global load", "local load", "global store", "local store", "global async_copy"),
    "short_scoreboard": ("shared load", "shared atomic"),
    "mio_throttle": ("shared load", "shared store", "shared atomic"),
    "drain": ("global store", "local store", "global reduction"),
}
"""States in which warps wait for memory, with the requests they wait for, whose phases say more."""


def compare_folders(
    folder_a: Path, folder_b: Path, variants: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The document for two folders of results, or for one variant of each."""
    results_a, results_b = read(folder_a), read(folder_b)
    if variants is not None:
        results_a = _chosen(results_a, variants[0], folder_a)
        results_b = _chosen(results_b, variants[1], folder_b)
    pairs, only_a, only_b = matched(results_a, results_b)
    if not pairs:
        raise InputError(
            f"{folder_a}, {folder_b}",
            f"have no card and variant in common ({_names(results_a)}; {_names(results_b)})",
            "name a variant of each, such as --variants none,vertical",
        )
    return {
        "a": str(folder_a),
        "b": str(folder_b),
        "changed": _changed(folder_a, folder_b),
        "results": [_result(difference_of(a, b)) for a, b in pairs],
        "only_in_a": [f"{one.card.name}/{one.variant}" for one in only_a],
        "only_in_b": [f"{one.card.name}/{one.variant}" for one in only_b],
    }


def _chosen(results: Sequence[Result], variant: str, folder: Path) -> list[Result]:
    chosen = [one for one in results if one.variant == variant]
    if not chosen:
        raise unknown(str(folder), "variant", variant, {one.variant for one in results})
    return chosen


def _names(results: Sequence[Result]) -> str:
    return ", ".join(f"{one.card.name}/{one.variant}" for one in results)


def _changed(folder_a: Path, folder_b: Path) -> list[dict[str, Any]]:
    """Keys of the configs and cards whose values differ: what was done differently."""
    import yaml

    changed = []
    files = {
        path.relative_to(folder): None
        for folder in (folder_a, folder_b)
        for path in (folder / CONFIG, *sorted((folder / "cards").glob("*.yaml")))
        if path.is_file()
    }
    for file in files:
        if not ((folder_a / file).is_file() and (folder_b / file).is_file()):
            continue
        try:
            before, after = (
                _flat(yaml.safe_load((folder / file).read_text(encoding="utf-8")))
                for folder in (folder_a, folder_b)
            )
        except (yaml.YAMLError, UnicodeDecodeError):
            raise InputError(
                str(file), "cannot be read in both folders", "give folders that were not edited"
            ) from None
        prefix = "" if file.name == CONFIG else f"{file.stem}: "
        changed += [
            {"key": f"{prefix}{key}", "a": before.get(key), "b": after.get(key)}
            for key in dict.fromkeys([*before, *after])
            if before.get(key) != after.get(key)
        ]
    return changed


def _flat(document: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(document, dict):
        return {prefix.rstrip("."): document}
    return {
        key: value
        for name, below in document.items()
        for key, value in _flat(below, f"{prefix}{name}.").items()
    }


def _result(found: Difference) -> dict[str, Any]:
    a, b = found.a, found.b
    return {
        "gpu_a": a.card.name,
        "gpu_b": b.card.name,
        "variant_a": a.variant,
        "variant_b": b.variant,
        "cycles": _pair(a.cycles, b.cycles),
        "launch_cycles": _pair(a.launch_cycles, b.launch_cycles),
        "time_us": _pair(a.time_us, b.time_us),
        "dram_bytes": _pair(a.dram_bytes, b.dram_bytes),
        "warp_instructions": _pair(a.warp_instructions, b.warp_instructions),
        "reasons": [{"reason": reason, "cycles": cycles} for reason, cycles in found.reasons.items()],
        "kernels": [_kernel(one, a.record.sm_period_fs, b.record.sm_period_fs) for one in found.kernels],
        "only_in_a": [{"kernel": kernel, "cycles": cycles} for kernel, cycles in found.only_a],
        "only_in_b": [{"kernel": kernel, "cycles": cycles} for kernel, cycles in found.only_b],
        "explanation": _explanation(found.difference, found.reasons),
    }


def _kernel(found: KernelDifference, period_a_fs: int, period_b_fs: int) -> dict[str, Any]:
    reasons = dict(found.reasons)
    words = _explanation(found.difference, reasons)
    top = _top(found.difference, reasons)
    latencies = [_latency(one, period_a_fs, period_b_fs) for one in found.latencies]
    numbers = {name: _pair(before, after) for name, before, after in found.numbers}
    waited = [one for one in latencies if f"{one['space']} {one['operation']}" in WAITED_FOR.get(top, ())]
    if waited:
        words += _phase_words(waited)
    if len(found.kernels[0]) != len(found.kernels[1]):
        words += _moved_words(numbers)
    return {
        "kernel": found.kernel,
        "kernels_a": list(found.kernels[0]),
        "kernels_b": list(found.kernels[1]),
        "cycles": _pair(*found.cycles),
        **numbers,
        "reasons": [{"reason": reason, "cycles": cycles} for reason, cycles in found.reasons],
        "latency": latencies,
        "explanation": words,
    }


def _latency(found: Latency, period_a_fs: int, period_b_fs: int) -> dict[str, Any]:
    """In SM cycles of each card where both have one clock, and in nanoseconds where they have not."""
    period = period_a_fs if period_a_fs == period_b_fs else 10**6
    return {
        "space": found.space,
        "operation": found.operation,
        "unit": "SM cycles" if period_a_fs == period_b_fs else "ns",
        "requests": _pair(*found.requests),
        "mean": _pair(*(float(mean / period) for mean in found.mean_fs)),
        "phases": [{"phase": phase, "difference": float(part / period)} for phase, part in found.phases],
    }


def _pair(a: float, b: float) -> dict[str, float | None]:
    return {"a": a, "b": b, "difference": b - a, "pct": 100 * (b - a) / a if a else None}


def _top(difference: int, reasons: Mapping[str, int]) -> str:
    """The reason that did most in the direction of the difference; empty where there is none."""
    if not difference:
        return ""
    sign = 1 if difference > 0 else -1
    name = max(reasons, key=lambda reason: sign * reasons[reason])
    return name if sign * reasons[name] > 0 else ""


def _explanation(difference: int, reasons: Mapping[str, int]) -> str:
    top = _top(difference, reasons)
    if not top:
        return "no difference in cycles"
    against = {name: cycles for name, cycles in reasons.items() if cycles * difference < 0}
    words = f"{top} {reasons[top]:+,} of {difference:+,} cycles"
    if against:
        other = max(against, key=lambda name: abs(against[name]))
        if abs(against[other]) >= abs(difference) / 10:
            words += f", against it {other} {against[other]:+,}"
    return words


def _moved_words(numbers: Mapping[str, dict[str, Any]]) -> str:
    """What kernels that became more or fewer moved and waited at launch: the reasons have none of both."""
    before, after = (sum(int(numbers[name][side]) for name in DRAM_BYTES) for side in ("a", "b"))
    loads, gaps = numbers["global_load_requests"], numbers["launch_cycles"]["difference"]
    return (
        f"; global loads {loads['a']:,} → {loads['b']:,}; DRAM traffic {sized(before)} → {sized(after)}; "
        f"launch gaps {gaps:+,} cycles"
    )


def _phase_words(latencies: Sequence[dict[str, Any]]) -> str:
    """Of the kind of request that there is most of, the phase that moved most."""
    kind = max(latencies, key=lambda one: one["requests"]["a"] + one["requests"]["b"])
    moved = kind["mean"]["difference"]
    phase = max(kind["phases"], key=lambda one: one["difference"] * (1 if moved > 0 else -1))
    if not moved or phase["difference"] * moved <= 0:
        return ""
    return (
        f"; {kind['space']} {kind['operation']}s took {moved:+,.0f} {kind['unit']} each, "
        f"{phase['phase']} {phase['difference']:+,.0f} of them"
    )
