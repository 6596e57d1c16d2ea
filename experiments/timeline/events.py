"""Trace events: the few shapes of the format that we use, and how simulated time becomes its microseconds.

Times are cut to whole nanoseconds at both ends, so that what touches in the simulation touches in the
file and what lies inside lies inside. Viewers nest spans of one track by their times alone: no two spans
of a track may cross.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FS_PER_NS = 10**6
NS_PER_US = 1000

Event = dict[str, Any]


def microseconds(time_fs: int) -> float:
    """A time in the format's unit, cut to a whole nanosecond."""
    return time_fs // FS_PER_NS / NS_PER_US


def span(
    category: str, name: str, track: tuple[int, int], start_fs: int, end_fs: int, args: Mapping[str, Any]
) -> Event:
    """Something that lasts from start to end on a track (process, thread)."""
    start_ns, end_ns = start_fs // FS_PER_NS, end_fs // FS_PER_NS
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": track[0],
        "tid": track[1],
        "ts": start_ns / NS_PER_US,
        "dur": (end_ns - start_ns) / NS_PER_US,
        "args": dict(args),
    }


def flow(number: int, track: tuple[int, int], time_fs: int, *, start: bool) -> Event:
    """One end of an arrow; both ends carry the number."""
    event: Event = {
        "ph": "s" if start else "f",
        "id": number,
        "cat": "ac2g",
        "name": "ac2g",
        "pid": track[0],
        "tid": track[1],
        "ts": microseconds(time_fs),
    }
    # The arrow ends at the span that encloses its time, not at the next one to begin.
    return event if start else {**event, "bp": "e"}


def counter(name: str, pid: int, time_fs: int, values: Mapping[str, float]) -> Event:
    """The values of a counter from a time on."""
    return {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": microseconds(time_fs), "args": dict(values)}


def named(what: str, name: str, track: tuple[int, int], order: int) -> list[Event]:
    """The name of a process or a thread, and its place in the list."""
    pid, tid = track
    return [
        {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}},
        {
            "ph": "M",
            "name": f"{what}_sort_index",
            "pid": pid,
            "tid": tid,
            "ts": 0,
            "args": {"sort_index": order},
        },
    ]
