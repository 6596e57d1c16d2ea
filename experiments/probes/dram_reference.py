"""Our DRAM channel beside the published simulators: each of their rows that we can run, with their timings.

A row of `dram_reference.csv` names a tool, a standard, a channel (pseudo-channels, refresh, queue), a stream
with its address order, and a load; this file turns that into a run of ours and puts both results side by
side. Left out are rows of standards whose set is not known here, of orders that put the pseudo-channel above
the column, and of refresh rules that we do not have. Two pseudo-channels of Ramulator share one queue, of
which each gets half here.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.probes.dram import dram_alone
from experiments.probes.dram_sets import COLUMN_FIRST, ROTATED, ROTATED_FOLDED, peer_spec
from experiments.probes.dram_streams import STREAMS

_SETS = {
    ("Ramulator 2.1", "HBM2 2.0 Gbps (tool preset)"): "Ramulator 2.1 HBM2",
    ("Ramulator 2.1", "HBM3 6.4 Gbps (tool preset)"): "Ramulator 2.1 HBM3",
    ("Ramulator 2.1", "HBM2 1.754 Gbps (derived from 2.0 preset ns values)"): "Ramulator 2.1 HBM2 1.754",
    ("Ramulator 2.1", "HBM2E 3.2 Gbps (derived from 2.0 preset ns values)"): "Ramulator 2.1 HBM2E 3.2",
    ("Ramulator 2.1", "HBM3 5.2 Gbps (derived from 6.4 preset ns values)"): "Ramulator 2.1 HBM3 5.2",
    ("DRAMsim3", "HBM2 2.0 Gbps (Ramulator 2.1 timings)"): "DRAMsim3 HBM2",
    ("DRAMSys 5.0", "HBM2 2.0 Gbps (shipped memspec)"): "DRAMSys HBM2",
}
_REFRESH = {"AllBank": "all_bank", "NoRefresh": "none", "PerBank": "per_bank"}
_MAPS = {"bgil": ROTATED, "bgil+xor": ROTATED_FOLDED, "bgil+skew": ROTATED, "stock": COLUMN_FIRST}
_ON_ONE = ("pointer chase", "one bank", "rotate bank-groups", "sequential read one PC")
"""Streams that use one pseudo-channel only, which then has the whole queue."""
_OWN_PER_BANK = ("DRAMSys 5.0",)
"""Tools whose one-bank refresh goes to an idle bank first, as ours."""


def comparable_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of the file that have a counterpart here."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["tool"], row["standard"]) in _SETS and _run_of(row) is not None:
                yield row


def beside(row: dict[str, str], window_clocks: int = 39_000) -> dict[str, Any]:
    """One row of theirs with ours: achieved shares, mean latencies in ns, relative differences in percent.

    The window should be a multiple of the refresh interval, or the phase of the refreshes shows.
    """
    run = _run_of(row)
    if run is None:
        raise ValueError(f"no counterpart for the row {row['pattern']!r} of {row['tool']}")
    spec, arguments = run
    ours = dram_alone(spec, window_clocks=window_clocks, warmup_clocks=window_clocks // 4, **arguments)
    theirs = float(row["achieved_over_peak"])
    latency = float(row["mean_latency_ns"]) if row["mean_latency_ns"] else None
    own_latency = ours["mean_latency_ns"]
    return {
        "tool": row["tool"],
        "standard": row["standard"],
        "channel": row["channel_config"],
        "pattern": row["pattern"],
        "load": row["outstanding_or_rate"],
        "achieved_theirs": theirs,
        "achieved_ours": ours["achieved_over_peak"],
        "achieved_difference_pct": 100 * (ours["achieved_over_peak"] / theirs - 1),
        "latency_theirs_ns": latency,
        "latency_ours_ns": own_latency,
        "latency_difference_pct": 100 * (own_latency / latency - 1) if latency and own_latency else None,
        "p99_theirs_ns": float(row["p99_latency_ns"]) if row["p99_latency_ns"] else None,
        "p99_ours_ns": ours["p99_latency_ns"],
        "row_hits_theirs": float(row["row_hit_rate"]) if row["row_hit_rate"] else None,
        "row_hits_ours": ours["row_hit_rate"],
    }


def _run_of(row: dict[str, str]) -> tuple[Any, dict[str, Any]] | None:
    """Our description and arguments for a row; None where we have no counterpart."""
    parts = row["channel_config"].split("/")
    refresh = _REFRESH.get(parts[2]) if len(parts) > 2 else None
    stream = re.fullmatch(r"(.+) \[map (.+)\]", row["pattern"])
    if refresh is None or stream is None or stream[2] not in _MAPS:
        return None
    if refresh == "per_bank" and row["tool"] not in _OWN_PER_BANK:
        return None
    pseudo_channels = 2 if parts[0] == "2pc" else 1
    if stream[2] == "stock" and pseudo_channels == 2:
        return None
    pattern = stream[1] + (" shifted" if stream[2] == "bgil+skew" else "")
    if pattern not in STREAMS:
        return None
    queue = int(re.sub(r"\D", "", parts[4])) if len(parts) > 4 else 32
    if row["tool"] == "Ramulator 2.1" and not pattern.startswith(_ON_ONE):
        queue //= pseudo_channels
    elif row["tool"] == "DRAMSys 5.0":
        queue *= 4
    arguments: dict[str, Any] = {"pattern": pattern, "pseudo_channels": pseudo_channels}
    load = row["outstanding_or_rate"]
    if match := re.match(r"rate=([\d.]+)", load):
        arguments |= {"rate": float(match[1]), "fixed_interval": "fixed" in load}
    elif match := re.match(r"(\d+) outstanding", load):
        arguments["outstanding"] = int(match[1])
    name = _SETS[row["tool"], row["standard"]]
    return peer_spec(name, refresh=refresh, queue=queue, address_map=_MAPS[stream[2]]), arguments
