"""The accuracy page: what the model was compared with, how far it is off, and for what nothing was compared.

`python -m experiments.validation.page` (`make accuracy`) replays what is not kept and writes the page and
the table of validated cards beside it. Every number on the page is that of `stallscope validate`; a test
compares a part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.validation.judge import BY_SIGN, CONTRADICTS, COVERED, Judged, document, groups
from experiments.validation.measurements import PUBLISHED, read_measurements
from experiments.validation.relations import CAP, FUSED, Relation, relations, summary
from experiments.validation.request import NOT_REPLAYED
from experiments.validation.run import validate
from experiments.validation.store import model_version
from experiments.validation.transfer import transfer_section
from hwmodels import Gpu
from simulator.statistics.files import write_text

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ACCURACY.md"
VALIDATED = Path(__file__).resolve().parents[1] / "data" / "validated.json"
INTRODUCTION = """\
# How accurate the model is

Written by `make accuracy` from `stallscope validate`, which replays published measurements as they were
made: what a row measures, on which card, by which method. Do not edit: a test compares a part of it with the
command.

Rows of one die, quantity and method form a group, judged by its median. A row that is more than 15 % from
the median of three or more contradicts its group: it is listed, not counted. Mean and worst stand side by
side everywhere.

A snapshot of the model whose sources and cards have the digest `{version}`; a later model has other numbers.
"""
KINDS = ("groups", "mean_abs_error_pct", "median_abs_error_pct", "p90_abs_error_pct", "worst_abs_error_pct")


def page(judged: Sequence[Judged], transfer: str = "") -> str:
    """The whole page."""
    parts = [
        INTRODUCTION.format(version=snapshot(judged)),
        _glance(judged),
        _related(relations(judged)),
        _coverage(judged),
        _calibrated(sorted({one.card for one in judged if one.status == COVERED})),
        transfer,
        *(_card(card, judged) for card in dict.fromkeys(one.card for one in judged) if card),
    ]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def snapshot(judged: Sequence[Judged]) -> str:
    """A digest of the model's sources and of the cards that were replayed."""
    cards = sorted({one.card for one in judged if one.status == COVERED})
    text = " ".join((model_version(), *(Gpu.from_card(card).digest() for card in cards)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def figure(value: float | None) -> str:
    """Four digits that count."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def _glance(judged: Sequence[Judged]) -> str:
    made = document(judged)
    rows = [
        (kind, one["groups"], *(f"{one[name]:.1f}" for name in KINDS[1:]), one["worst_group"])
        for kind, one in made["kinds"].items()
    ]
    if not rows:
        return "## At a glance\n\nNothing was compared.\n"
    worst = made["worst"]
    every = (
        f"All {made['covered']} compared rows together: mean {made['mean_abs_error_pct']:.1f} %, "
        f"median {made['median_abs_error_pct']:.1f} %, 90th percentile {made['p90_abs_error_pct']:.1f} %, "
        f"worst {abs(worst['error_pct']):.1f} % ({worst['gpu']}, `{worst['quantity']}`).\n"
    )
    headers = ("groups of", "groups", "mean %", "median %", "90th %", "worst %", "worst group")
    return f"## At a glance\n\n{table(headers, rows)}\n{every}"


def _related(found: Sequence[Relation]) -> str:
    """Ratios of rows that belong together."""
    if not found:
        return ""
    made = summary(found)
    text = []
    if FUSED in made:
        one = made[FUSED]
        text.append(
            f"Fused over unfused: {one['pairs']} pairs, the ratio off by {one['mean_abs_error_pct']:.1f} % "
            f"on average, at worst {one['worst_error_pct']:+.1f} % ({one['worst_pair']}).\n"
        )
    if CAP in made:
        one = made[CAP]
        text.append(
            f"A cap on registers: in {one['same_sign']} of {one['pairs']} pairs the model says as silicon "
            "whether it helps, harms, or does less than 2 %. How much was spilled under a cap is not "
            "published; spills are ours, so the size of the effect is shown but not judged.\n"
        )
    rows = [
        (one.kind, one.card, one.name, figure(one.ours), figure(one.theirs), f"{one.error_pct:+.1f}")
        for one in found
    ]
    headers = ("what", "card", "of", "ours", "theirs", "error %")
    return "## Rows that belong together\n\n" + "\n".join(text) + "\n" + table(headers, rows)


def _coverage(judged: Sequence[Judged]) -> str:
    rows = []
    ours = [one for one in judged if one.card]
    for prefix in ("lat.", "bw.", "kernel.", "tput.", "derived.", "time."):
        chosen = [one for one in ours if one.row.quantity.startswith(prefix)]
        if not chosen:
            continue
        compared = sum(one.status == COVERED for one in chosen)
        without = [one for one in chosen if one.ours is None]
        reasons: dict[str, int] = {}
        for one in without:
            reason = one.why.partition(":")[0]
            reasons[reason] = reasons.get(reason, 0) + 1
        why = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        counts = [sum(one.status == status for one in chosen) for status in (CONTRADICTS, BY_SIGN)]
        rows.append((f"`{prefix}`", len(chosen), compared, *counts, len(without), why or "–"))
    headers = (
        "quantities",
        "rows on our cards",
        "compared",
        "contradict their group",
        "by sign only",
        "without a replay",
        "why",
    )
    waiting = sum(one.why == NOT_REPLAYED for one in judged)
    note = f"\n{waiting} rows have a replay that was not made for this page: `make accuracy` makes them.\n"
    return f"## What was compared\n\n{table(headers, rows)}" + (note if waiting else "")


def _calibrated(cards: Sequence[str]) -> str:
    """Numbers of cards that were fitted to measured rows; all others are from specifications or predicted."""
    fitted: dict[str, list[str]] = {}
    for card in cards:
        for key, source in Gpu.from_card(card).sources().items():
            text = str(getattr(source, "source", source))
            if text.startswith("fit"):
                fitted.setdefault(key, []).append(card)
    rows = [(f"`{key}`", ", ".join(names)) for key, names in sorted(fitted.items())]
    text = (
        "## What is calibrated, what is predicted\n\nThese numbers of the cards were fitted to measurements, "
        "partly to rows below; every other one comes from a specification, a standard, or a single measured "
        "part. Kernels were never fitted to: all kernel rows are predictions.\n"
    )
    return f"{text}\n{table(('fitted', 'on'), rows)}" if rows else text


def _card(card: str, judged: Sequence[Judged]) -> str:
    rows = [one for one in judged if one.card == card and one.ours is not None]
    if not rows:
        return ""
    body = [
        (
            one.row.gpu,
            f"`{one.row.quantity}`",
            figure(one.ours),
            figure(one.row.value),
            one.row.unit,
            f"{one.error_pct:+.1f}",
            "" if one.status == COVERED else one.status,
        )
        for one in rows
    ]
    headers = ("board", "quantity", "ours", "theirs", "unit", "error %", "")
    return f"## {card}\n\n{table(headers, body)}"


def validated(judged: Sequence[Judged]) -> dict[str, Any]:
    """Cards and kinds that were compared with measurements, for warnings of runs outside."""
    cards: dict[str, dict[str, int]] = {}
    operations: dict[str, set[str]] = {}
    for one in judged:
        if one.status != COVERED:
            continue
        kinds = cards.setdefault(one.card, {})
        kinds[one.group[0]] = kinds.get(one.group[0], 0) + 1
    for group in groups(judged):
        operation = group.name[2].partition(",")[0].removesuffix(" rate")
        if operation.isupper() or "_" in operation:
            operations.setdefault(group.name[1], set()).add(operation)
    return {
        "cards": {card: dict(sorted(kinds.items())) for card, kinds in sorted(cards.items())},
        "operations": {die: sorted(names) for die, names in sorted(operations.items())},
    }


def main(words: Sequence[str] | None = None) -> int:
    """Validate the published rows and write the page and the table."""
    parser = argparse.ArgumentParser(description="Write docs/ACCURACY.md.")
    parser.add_argument("--only", action="append", default=[], help="only quantities that begin so")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--kept", action="store_true", help="replay nothing: only answers that are kept")
    args = parser.parse_args(words)
    rows = read_measurements([PUBLISHED])
    if args.only:
        rows = [row for row in rows if row.quantity.startswith(tuple(args.only))]

    def report(text: str, share: float) -> None:
        sys.stderr.write(f"accuracy: {100 * share:.0f} % {text}\n")

    judged = validate(rows, processes=args.jobs, report=report, replaying=not args.kept)
    write_text(PAGE, page(judged, transfer_section(replaying=not args.kept)))
    write_text(VALIDATED, json.dumps(validated(judged), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
