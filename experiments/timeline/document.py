"""timeline.json: all results of a folder on one time axis, for Perfetto, chrome://tracing and trace tools.

Results stand side by side as devices, since they are alternatives and all begin at zero; a tool that
expects one run gets it from a replay of one variant. The size is known before anything is written, so
that a caller can say it; spans of blocks are thinned, and the file says so, where there would be more
than a viewer takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from experiments.timeline.blocks import Window, block_events
from experiments.timeline.counters import counter_events
from experiments.timeline.events import Event, span
from experiments.timeline.launches import Tracks, launch_events
from hwmodels.errors import InputError
from simulator.statistics.files import write_bytes
from simulator.statistics.result import Result

FILE_NAME = "timeline.json"
MOST_BLOCK_SPANS = 200_000
MOST_BYTES = 1_000_000_000
CORRELATIONS = 1_000_000
"""Numbers of launches that a result may use."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A document that is ready to be written."""

    text: bytes
    events: int
    blocks: int
    blocks_left_out: int

    @property
    def size(self) -> str:
        """What a person is told before it is written."""
        thinned = f", {self.blocks_left_out:,} more left out" if self.blocks_left_out else ""
        return f"{len(self.text) / 10**6:,.2f} MB, {self.events:,} events, {self.blocks:,} of blocks{thinned}"

    def write(self, path: Path) -> None:
        """Write it whole; an InputError for more than any viewer opens."""
        if len(self.text) > MOST_BYTES:
            raise InputError(str(path), f"would have {self.size}", "keep fewer blocks, or longer intervals")
        write_bytes(path, self.text)


def timeline(results: Sequence[Result], window: Window | None = None) -> Timeline:
    """The document of some results; all their times begin at 0."""
    window = window or Window()
    spans = [event for device, result in enumerate(results) for event in block_events(result, device, window)]
    blocks = [event for event in spans if event["ph"] == "X"]
    kept = _thinned(blocks)
    events: list[Event] = [event for event in spans if event["ph"] != "X"]
    for device, result in enumerate(results):
        first = CORRELATIONS * device + 1
        events += chain(launch_events(result, device, first), counter_events(result, device))
        events.append(_step(result, device))
    events += kept
    document = {
        "schemaVersion": 1,
        "traceName": FILE_NAME,
        "displayTimeUnit": "ns",
        "deviceProperties": [_device(result, device) for device, result in enumerate(results)],
        "distributedInfo": {"backend": "none", "rank": 0, "world_size": 1},
        "stallscope": {"block_spans": len(kept), "block_spans_left_out": len(blocks) - len(kept)},
        "traceEvents": sorted(
            events, key=lambda event: (event["ph"] != "M", event["ts"], -event.get("dur", 0))
        ),
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    return Timeline(text, len(events), len(kept), len(blocks) - len(kept))


def _thinned(blocks: list[Event]) -> list[Event]:
    """Evenly many of all blocks where there are too many to show."""
    if len(blocks) <= MOST_BLOCK_SPANS:
        return blocks
    every = -(-len(blocks) // MOST_BLOCK_SPANS)
    return blocks[::every]


def _step(result: Result, device: int) -> Event:
    """One step around the whole run: tools that look at iterations find one."""
    end_fs = max((kernel.end_fs for kernel in result.record.kernels), default=0)
    return span(
        "user_annotation",
        f"ProfilerStep#{device}",
        (Tracks(device).host, 0),
        0,
        end_fs,
        {"variant": result.variant},
    )


def _device(result: Result, device: int) -> dict[str, Any]:
    card = result.card
    return {
        "id": device,
        "name": f"{card.name} (simulated, {card.scale})",
        "numSms": card.sm_count,
        "warpSize": 32,
        "regsPerMultiprocessor": card.registers_per_sm,
        "maxThreadsPerMultiprocessor": 32 * card.warp_slots,
    }
