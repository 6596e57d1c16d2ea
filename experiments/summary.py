"""summary.json: what was run, with what, how it came out, and whether the numbers may be believed.

Variants stand below their card with the totals that people compare; speed and memory are those of the
simulator, not of the simulated card. The wall clock and the versions make two summaries of one config
differ; nothing else does.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.comparison import BASELINE, Totals, totals_of, winner_of
from simulator.statistics.result import Result
from simulator.statistics.sample import PPM

PACKAGES = ("stallscope", "simpy", "numpy", "pandas", "onnx")


def summary_of(
    results: Sequence[Result],
    config: Mapping[str, Any],
    replayed: Sequence[str],
    wall_seconds: float,
    resumed: bool = False,
) -> dict[str, Any]:
    """The document. `config` is the resolved config, `replayed` says in sentences what was replayed.

    `wall_seconds` passed from the start of all replays to their end; CPU seconds are summed over replays. A
    resumed run has no rate: the instructions are those of the whole, the seconds those since the checkpoint.
    """
    instructions = sum(result.warp_instructions for result in results)
    rate = None if resumed else instructions / wall_seconds if wall_seconds else 0.0
    return {
        "name": config["name"],
        "replayed": list(replayed),
        "gpus": {card: _card([one for one in results if one.card.name == card]) for card in _cards(results)},
        "engine": ", ".join(dict.fromkeys(result.record.engine for result in results)),
        "partial": any(result.partial for result in results),
        "sampled": _sampled(results),
        "versions": versions(),
        "digests": {"config": digest(config), "gpus": {one.card.name: one.card.digest for one in results}},
        "identities": _identities(results),
        "wall_seconds": wall_seconds,
        "cpu_seconds": sum(result.record.cpu_seconds for result in results),
        "warp_instructions": instructions,
        "warp_instructions_per_second": rate,
        "peak_memory_mb": max((result.record.peak_memory_mb for result in results), default=0.0),
    }


def digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document, keys in order."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of the program and of what its numbers pass through."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {**found, "python": platform.python_version()}


def _cards(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.card.name for result in results))


def _card(results: Sequence[Result]) -> dict[str, Any]:
    variants = [totals_of(result) for result in results]
    winner, reason = winner_of(variants)
    baseline = next((one for one in variants if one.variant == BASELINE), None)
    return {
        "scale": results[0].card.scale,
        "variants": {one.variant: _variant(one, baseline) for one in variants},
        "winner": winner,
        "reason": reason,
    }


def _variant(totals: Totals, baseline: Totals | None) -> dict[str, Any]:
    row = dataclasses.asdict(totals)
    del row["variant"]
    comparable = baseline is not None and not totals.partial and not baseline.partial
    row["speedup_vs_none"] = baseline.time_us / totals.time_us if baseline and comparable else None
    return row


def _sampled(results: Sequence[Result]) -> dict[str, Any] | None:
    """How much was carried on from a part, and the largest stated error of a kernel; None if nothing was."""
    kernels = [kernel for result in results for kernel in result.sampling.kernels]
    if not any(kernel.sampled for kernel in kernels):
        return None
    return {
        "kernels": sum(kernel.sampled for kernel in kernels),
        "of_kernels": sum(len(result.record.kernels) for result in results),
        "replayed_blocks": sum(kernel.replayed_blocks for kernel in kernels),
        "of_blocks": sum(kernel.grid_blocks for kernel in kernels),
        "largest_error_pct": 100 * max(kernel.error_ppm for kernel in kernels) / PPM,
    }


def _identities(results: Sequence[Result]) -> dict[str, Any]:
    tables = [result.identities for result in results if not result.partial]
    violated = [name for table in tables for name in table.loc[~table["holds"], "name"]]
    return {
        "checked": sum(len(table) for table in tables),
        "violated": violated,
        "not_judged": [f"{one.card.name}/{one.variant}" for one in results if one.partial],
    }
