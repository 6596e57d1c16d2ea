"""A plan in words: summary, data flow, kernels with pressure along their programs, where each value lives and
why.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

BARS = "▁▂▃▄▅▆▇█"
CURVE_CHARACTERS = 60
MOST_CURVES = 12
"""Kernels of a plan that each get their own curve; of more, one of each kind."""
MOST_NAMES = 12
MOST_PAIRS = 4
SOURCES = {
    "bytes": "the byte bound",
    "analytic": "arithmetic, each kernel by itself",
    "sampled": "sampled replays, each group by itself",
    "full": "replays, each group by itself",
    "replay": "a replay of all kernels in a row",
}
"""Where a group's cycles are from."""


def words(document: dict[str, Any]) -> str:
    """The whole text, a line end at its end."""
    parts = [_summary(document), _dataflow(document), _kernels(document), _pressure(document)]
    parts += [_edges(document), _levels(document), _search(document), _ladder(document)]
    parts += [_windows(document), _sensitivity(document), _notes(document)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _summary(document: dict[str, Any]) -> list[str]:
    scale = "" if document["scale"] == "1/1" else f", a slice of {document['scale']}"
    kinds = Counter(kind for group in document["groups"] for kind in group["kinds"])
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    views = sum(group["view"] for group in document["groups"])
    renamed = f" ({views} {'is a view' if views == 1 else 'are views'} without a kernel)" if views else ""
    batch = document["batch"] or "of the model"
    before, after = document["kernels_before"], document["kernels_after"]
    return [
        f"{document['model']}: {document['nodes']} operators{renamed}: {listed}",
        f"{document['gpu']}{scale}, batch {batch}, {document['dtype']}",
        f"Strategy {document['strategy']}: {before} kernels before, {after} after",
    ]


def _dataflow(document: dict[str, Any]) -> list[str]:
    flow = document["dataflow"]
    inner = [life for life in flow["lives"] if life["kind"] == "intermediate"]
    alone = sum(len(life["consumers"]) == 1 for life in inner)
    read, written, peak = (_size(flow[key]) for key in ("bytes_read", "bytes_written", "peak_live_bytes"))
    return [
        f"Data flow: {len(flow['edges'])} producer-consumer pairs",
        f"{len(inner)} intermediates: {alone} with one reader, {len(inner) - alone} with several or none",
        f"operator by operator {read} are read and {written} written; intermediates hold {peak} at most",
    ]


def _kernels(document: dict[str, Any]) -> list[str]:
    rows = []
    for group in document["groups"]:
        for number, kernel in enumerate(group["kernels"]):
            cycles = "-" if kernel["cycles"] is None else f"{kernel['cycles']:,}"
            rows.append(
                (
                    kernel["kernel"],
                    " ".join(group["operators"]) if not number else "the same",
                    f"{kernel['grid_blocks']:,}",
                    kernel["threads_per_block"],
                    kernel["registers_per_thread"],
                    kernel["spill_bytes_per_thread"],
                    f"{kernel['shared_bytes_per_block']:,}",
                    cycles,
                )
            )
    headers = ["kernel", "operators", "blocks", "threads", "registers", "spill B", "shared B", "cycles"]
    by = {group["cycles_by"]: None for group in document["groups"] if group["cycles"]}
    source = f"; cycles by {' and '.join(SOURCES[one] for one in by)}" if by else ""
    return [f"Kernels{source}", *_aligned(headers, rows)]


def _pressure(document: dict[str, Any]) -> list[str]:
    lines = ["Live registers along each program, and what is live at the peak"]
    kernels = [kernel for group in document["groups"] for kernel in group["kernels"]]
    for kernel, like_it in drawn(kernels):
        lines += _curve_lines(kernel)
        if like_it:
            peaks = sorted(one["pressure_peak"] for one in like_it)
            span = str(peaks[0]) if peaks[0] == peaks[-1] else f"{peaks[0]} to {peaks[-1]}"
            more = "kernel" if len(like_it) == 1 else "kernels"
            lines.append(f"  and {len(like_it)} more {more} of this kind with peaks of {span}")
    return lines


def drawn(kernels: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The kernels whose curve is worth lines of its own, each with those that it stands for: where there are
    many, the highest peak of each kind, and every one that spills or computes something again.
    """
    if len(kernels) <= MOST_CURVES:
        return [(kernel, []) for kernel in kernels]
    kinds: dict[str, list[dict[str, Any]]] = {}
    for kernel in kernels:
        special = kernel["spilled"] or kernel["recomputed"]
        kinds.setdefault(kernel["kernel"] if special else kernel["kernel"].split(":")[0], []).append(kernel)
    highest = [(max(own, key=lambda one: one["pressure_peak"]), own) for own in kinds.values()]
    return [(first, [one for one in own if one is not first]) for first, own in highest]


def _curve_lines(kernel: dict[str, Any]) -> list[str]:
    live = [f"{name} {words}" for name, words in kernel["live_words_at_peak"].items()]
    more = f" and {len(live) - MOST_NAMES} more" if len(live) > MOST_NAMES else ""
    peak, place, length = kernel["pressure_peak"], kernel["pressure_peak_operation"], len(kernel["pressure"])
    lines = [
        f"{kernel['kernel']}: {peak} at operation {place} of {length}",
        f"  {curve(kernel['pressure'])}",
        f"  {', '.join(live[:MOST_NAMES])}{more}",
    ]
    for key in ("recomputed", "spilled"):
        if kernel[key]:
            counts = Counter(kernel[key])
            listed = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.items())
            lines.append(f"  {key}: {listed}")
    return lines


def curve(values: Sequence[int], width: int = CURVE_CHARACTERS) -> str:
    """A line of bars from 0 to the peak; each stands for the most of its share of the program."""
    if not values:
        return ""
    count = min(width, len(values))
    top = max(1, *values)
    edges = [len(values) * at // count for at in range(count + 1)]
    peaks = [max(values[low:high]) for low, high in pairwise(edges)]
    return "".join(BARS[(len(BARS) - 1) * peak // top] for peak in peaks)


def _edges(document: dict[str, Any]) -> list[str]:
    reasons = {
        (one["producer"], one["consumer"], one["tensor"]): one["reason"] for one in document["why_not"]
    }
    rows = []
    for edge in document["dataflow"]["edges"]:
        pair = (edge["producer"], edge["consumer"], edge["tensor"])
        why = reasons.get(pair, f"fused in {edge['kernel']}")
        rows.append((f"{pair[0]} → {pair[1]}", pair[2], _size(edge["bytes"]), edge["lives_in"], why))
    if not rows:
        return []
    return [
        "Where each value lives, and why",
        *_aligned(["edge", "tensor", "bytes", "lives in", "why"], rows),
    ]


def _levels(document: dict[str, Any]) -> list[str]:
    rows = [
        (level, _size(both["read"]), _size(both["written"]))
        for level, both in document["dataflow"]["bytes_by_level"].items()
    ]
    return ["Operators' accesses by level", *_aligned(["level", "read", "written"], rows)]


def _search(document: dict[str, Any]) -> list[str]:
    """How the plan was found."""
    lines = []
    for found in document["search"]:
        if not found:
            continue
        exact = "exact" if not found["gap_pct"] else f"within {found['gap_pct']:.2f} % of the bound"
        cut = "" if found["complete"] else ", of the groups looked at"
        lines.append(
            f"Planned by {found['rung']} cost: {found['planned_us']:,.1f} µs with launches, {exact}{cut}; "
            f"{found['groups_legal']:,} legal groups"
        )
    return lines


def _ladder(document: dict[str, Any]) -> list[str]:
    """Each rung's kernel time for the chosen groups, and its error against the next."""
    rows = []
    for step in document["ladder"]:
        errors = ("-", "-")
        if step["error_pct"] is not None:
            errors = (f"{step['error_pct']:+.0f} %", f"{step['worst_pct']:+.0f} %")
        times = [f"{step[key] / 1000:,.1f}" for key in ("kernel_ns", "total_ns")]
        rows.append((step["rung"], *times, *errors))
    return rows and [
        "Cost ladder over the chosen groups",
        *_aligned(["rung", "µs in kernels", "with launches", "against the next", "worst group"], rows),
    ]


def _windows(document: dict[str, Any]) -> list[str]:
    """Every window, the Pareto-optimal ones starred, with both marks."""
    rows = []
    for one in document.get("windows", []):
        hits = ["-" if one[key] is None else f"{one[key]:.0f} %" for key in ("l1_hit_pct", "l2_hit_pct")]
        rows.append(
            (
                "*" if one["pareto"] else "",
                f"{one['operators'][0]} +{len(one['operators']) - 1}",
                one["registers"],
                one["spill_bytes"],
                f"{one['occupancy_pct']:.0f} %",
                *hits,
                _size(one["saved_bytes"]),
                f"{one['cycles']:,}",
                f"{one['saved_ns']:,}",
                ", ".join(one["marks"]),
            )
        )
    headers = ["", "window", "registers", "spill B", "occupancy", "L1 hit", "L2 hit", "kept inside"]
    headers += ["cycles", "saves ns", "mark"]
    return rows and ["Windows (*: no other is better in size, registers, occupancy and time)", *_aligned(
        headers, rows
    )]  # fmt: skip


def _sensitivity(document: dict[str, Any]) -> list[str]:
    """What flips when the card changes."""
    rows = []
    for one in document.get("sensitivity", []):
        if one["refused"]:
            rows.append((one["what"], f"{one['factor']}×", "-", "-", one["refused"]))
            continue
        words = [f"joins {_pairs(one['joined'])}"] if one["joined"] else []
        words += [f"parts {_pairs(one['parted'])}"] if one["parted"] else []
        rows.append(
            (
                one["what"],
                f"{one['factor']}×",
                f"{one['total_ns'] / 1000:,.1f}",
                one["kernels"],
                "; ".join(words) or "-",
            )
        )
    return rows and [
        "Planned again on changed cards",
        *_aligned(["property", "factor", "µs", "kernels", "what flips"], rows),
    ]


def _pairs(pairs: Sequence[Sequence[str]]) -> str:
    listed = ", ".join(f"{writer} → {reader}" for writer, reader in pairs[:MOST_PAIRS])
    return listed + (f" and {len(pairs) - MOST_PAIRS} more" if len(pairs) > MOST_PAIRS else "")


def _notes(document: dict[str, Any]) -> list[str]:
    return [f"Only its bytes are moved: {reason}." for reason in document["opaque"]]


def _size(count: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"


def _aligned(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    table = [list(headers), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
