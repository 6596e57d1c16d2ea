"""The reference tables of `formats.md`, made from the declarations in the code: a column, key, counter, state
or phase that is added there and has no words here or in its declaration is an error.

A table stands in the page between `<!-- table: NAME -->` and `<!-- end -->`; `refresh.py` writes it, and a
test compares it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from experiments.keys import KEYS
from hwmodels.gpu import gpu_keys
from hwmodels.kinds import Choice, Kind, Member, Text
from simulator.statistics import tables_kernels
from simulator.statistics.phases import PHASES, STATES
from simulator.statistics.schema import COUNTERS, DRAM_COUNTERS
from simulator.statistics.tables import TABLES
from simulator.trace.kernels.registry import describe, kernel_names

MARKED = re.compile(r"(<!-- table: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

PREFIX = {
    "gpu": ("", "card"),
    "variant": ("", "fusion strategy, or a name that the caller gave"),
    "stream": ("", "stream of the launch"),
    "kernel": ("", "name of the kernel, numbered from its second launch on"),
    "partial": ("", "True: a limit ended the run before the kernel was done"),
}
WORDS: dict[str, dict[str, tuple[str, str]]] = {
    "stalls": {
        "reason": ("", "state of the warp, see [states](#warp-states)"),
        "warp_cycles": ("warp-cycles", "cycles that resident warps spent in it, summed over warps"),
        "pct": ("%", "of the kernel's resident warp-cycles"),
    },
    "latency": {
        "space": ("", "global, local or shared"),
        "operation": ("", "load, store, atomic, reduction or async_copy"),
        "phase": ("", "part of the request's life, see [phases](#latency-phases)"),
        "requests": ("warp requests", "of this space and operation"),
        "cycles": ("SM cycles", "that they spent in the phase, summed"),
        "mean_cycles": ("SM cycles", "the same for one request"),
    },
    "occupancy": {
        "limiter": ("", "registers, shared_memory, warps, blocks or barriers"),
        "blocks_per_sm": ("blocks", "that this limiter alone allows; empty: it does not limit"),
        "binding": ("", "True where it is the smallest"),
        "launch_blocked_cycles": ("SM cycles", "in which the next block had to wait for it"),
    },
    "energy": {
        "level": ("", "dram, l2, l1, shared, instructions or matrix (tensor cores)"),
        "bytes": ("bytes", "moved at this level; empty for instructions"),
        "energy_uj": ("µJ", "by the card's `energy.*`; a kernel's levels add up to its `energy_uj`"),
        "pct": ("%", "of the kernel's"),
    },
    "traffic": {
        "level": ("", "shared, l1, crossbar, l2, partition_link or dram"),
        "operation": ("", "what was done there: read, write, load, store, fill, writeback, …"),
        "requests": ("requests", "warp requests in an SM, packets in the crossbar, line requests at L2"),
        "sectors": ("sectors", "of 32 bytes"),
        "bytes": ("bytes", "moved"),
        "hits": ("sectors", "present"),
        "misses": ("sectors", "asked of the next level"),
        "merges": ("sectors", "already on their way"),
    },
    "intervals": {
        "start_cycle": ("SM cycles", "from the start of the run"),
        "end_cycle": ("SM cycles", "from the start of the run"),
        "ipc": ("instructions a cycle", "warp instructions of an SM in a cycle"),
        "active_warps_per_sm": ("warps", "resident, averaged over SMs and cycles"),
        "dram_read_bytes": ("bytes", "read from DRAM"),
        "dram_write_bytes": ("bytes", "written to DRAM"),
        "l2_bytes": ("bytes", "read and written by SMs at L2"),
        **{name: ("warp-cycles", sentence) for name, sentence in STATES},
    },
}


def rendered(name: str) -> str:
    """A table by its name, as Markdown; a KeyError for a name or a column without words."""
    return _MAKERS[name]()


def refreshed(page: str) -> str:
    """The page with its tables as the code has them now."""
    return MARKED.sub(lambda match: f"{match[1]}{rendered(match[2])}{match[4]}", page)


def _markdown(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    headings = list(headings)
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") or " " for cell in line) + " |\n" for line in lines
    )


def _columns(name: str) -> Callable[[], str]:
    def make() -> str:
        words = {**PREFIX, **WORDS[name]}
        return _described((column, *words[column]) for column in TABLES[name].columns)

    return make


def _described(rows: Iterable[tuple[str, str, str]]) -> str:
    return _markdown(
        ("name", "unit", "what"), ((f"`{name}`", unit, sentence) for name, unit, sentence in rows)
    )


def _config() -> str:
    rows = ((f"`{key}`", f"`{_default(one.default)}`", one.sentence) for key, one in KEYS.items())
    return _markdown(("key", "left out", "what"), rows)


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return "null" if value is None else str(value)


def _card() -> str:
    rows: dict[str, tuple[str, str, str, str]] = {}
    for key, kind in gpu_keys().items():
        shown = re.sub(r"^operations\.\w+\.", "operations.NAME.", key)
        rows[shown] = (f"`{shown}`", kind.unit, _range(kind), kind.doc)
    return _markdown(("key", "unit", "legal", "what"), rows.values())


def _range(kind: Kind) -> str:
    if isinstance(kind, Choice):
        return ", ".join(kind.choices)
    if isinstance(kind, Member):
        return ", ".join(kind.enumeration.__members__)
    if isinstance(kind, Text):
        return f"such as {kind.example}"
    low, high = (getattr(kind, end) for end in ("low", "high"))
    return f"{low:,}–{high:,}"


def _kernels() -> str:
    rows = []
    for name in kernel_names():
        what, _, parameters = describe(name).removeprefix(f"{name}: ").partition(" Parameters: ")
        rows.append((f"`{name}`", what, parameters.removesuffix(".")))
    return _markdown(("name", "what", "parameters, defaults, ranges"), rows)


_MAKERS: dict[str, Callable[[], str]] = {
    "kernels": lambda: _described(tables_kernels.COLUMNS),
    **{name: _columns(name) for name in WORDS},
    "states": lambda: _markdown(
        ("state", "a warp that"), ((f"`{name}`", sentence) for name, sentence in STATES)
    ),
    "phases": lambda: _markdown(("phase", "what"), ((f"`{name}`", sentence) for name, sentence in PHASES)),
    "counters": lambda: _described(COUNTERS),
    "dram-counters": lambda: _described(DRAM_COUNTERS),
    "config": _config,
    "card": _card,
    "named-kernels": _kernels,
}
NAMES = tuple(_MAKERS)
