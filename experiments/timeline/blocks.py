"""Blocks on SMs: who was resident where, one track a place of an SM.

Only blocks that the replay kept (`keep_blocks`, the first of each kernel) and a few SMs, evenly spread,
are shown: a whole grid on a whole card is millions of spans. A block takes the lowest place of its SM
that is free, so that no two spans of a track cross; places are drawing, not hardware.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from experiments.timeline.events import Event, named, span
from experiments.timeline.launches import Tracks
from simulator.statistics.record import BlockRecord
from simulator.statistics.result import Result

PLACES = 64
"""Track numbers that an SM has: more than blocks that any card keeps resident."""


@dataclass(frozen=True, slots=True)
class Window:
    """What of the blocks is shown: how many SMs, and from which cycle to before which."""

    sms: int = 4
    start_cycle: int = 0
    end_cycle: int | None = None


def chosen_sms(count: int, wanted: int) -> list[int]:
    """Some SMs of a card, evenly spread, the first among them."""
    shown = max(0, min(count, wanted))
    return [place * count // shown for place in range(shown)]


def places(blocks: Iterable[BlockRecord]) -> Iterator[tuple[int, BlockRecord]]:
    """Each block of one SM with its place, in the order in which they began."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    opened = 0
    for block in sorted(blocks, key=lambda one: (one.start_fs, one.kernel, one.index)):
        while busy and busy[0][0] <= block.start_fs:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            heapq.heappush(free, opened)
            opened += 1
        place = heapq.heappop(free)
        heapq.heappush(busy, (block.end_fs, place))
        yield place, block


def block_events(result: Result, device: int, window: Window) -> Iterator[Event]:
    """Spans of the kept blocks that begin inside the window, on the chosen SMs."""
    record, tracks = result.record, Tracks(device)
    if not record.blocks:
        return
    first_fs = window.start_cycle * record.sm_period_fs
    last_fs = None if window.end_cycle is None else window.end_cycle * record.sm_period_fs
    labels = result.source.labels
    title = f"blocks on SMs: {result.card.name}, {result.variant}"
    yield from named("process", title, (tracks.blocks, 0), 10 * device + 2)
    for sm in chosen_sms(record.sm_count, window.sms):
        own = [
            one
            for one in record.blocks
            if one.sm == sm and one.start_fs >= first_fs and (last_fs is None or one.start_fs < last_fs)
        ]
        named_places: set[int] = set()
        for place, block in places(own):
            track = (tracks.blocks, PLACES * sm + place)
            if place not in named_places:
                named_places.add(place)
                yield from named("thread", f"SM {sm}, place {place}", track, track[1])
            args = {"kernel": labels[block.kernel], "block": block.index, "sm": sm}
            name = f"{labels[block.kernel]} [{block.index}]"
            yield span("block", name, track, block.start_fs, block.end_fs, args)
