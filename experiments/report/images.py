"""Every picture of a result as an image inside the page, with words for those who can't see it.

Drawn as vectors, so that it prints and magnifies well, or as fine dots where vectors would be many times
larger. The words say what the picture would be read for, from the same tables.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.plots.pictures import KINDS, figure_of
from experiments.plots.style import group_title
from hwmodels.errors import InputError
from simulator.statistics.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hwmodels import Gpu

TITLES = {
    "latency": "Where the time of memory requests went",
    "stalls": "What warps waited for",
    "occupancy": "Resident warps over time",
    "occupancy-limits": "What occupancy a saving would buy",
    "roofline": "Roofline",
    "bandwidth": "Bandwidth over time",
    "timeline": "Timeline",
}
MOST_SENTENCES = 24
MOST_VECTOR_BYTES = 250_000
FINE_DPI = 170


@dataclass(frozen=True, slots=True)
class Image:
    """One picture: its kind, its heading, the words for it, and its bytes as a data address."""

    kind: str
    title: str
    words: str
    address: str


def images(results: Sequence[Result], cards: Mapping[str, Gpu]) -> list[Image]:
    """Those pictures that the results have something for."""
    made = []
    for kind in KINDS:
        try:
            figure = figure_of(kind, results, cards)
        except InputError:
            continue
        import matplotlib as mpl

        buffer, media = io.BytesIO(), "svg+xml"
        # The same picture is the same bytes: no date, and parts are named by their place.
        with mpl.rc_context({"svg.hashsalt": kind}):
            figure.savefig(buffer, format="svg", metadata={"Date": None})
        drawn = renamed(buffer.getvalue().decode()).encode()
        if len(drawn) > MOST_VECTOR_BYTES:
            buffer, media = io.BytesIO(), "png"
            figure.savefig(buffer, format="png", dpi=FINE_DPI, metadata={"Software": None})
            drawn = buffer.getvalue()
        address = f"data:image/{media};base64," + base64.b64encode(drawn).decode()
        title = TITLES.get(kind, kind)
        made.append(Image(kind, title, f"{title}. {words(kind, results)}", address))
    return made


def renamed(picture: str) -> str:
    """A vector picture whose parts are numbered: matplotlib names some after where they lay in memory."""
    names = dict.fromkeys(re.findall(r'\bid="([mp][0-9a-f]{10})"', picture))
    numbers = {name: f"part{place}" for place, name in enumerate(names)}
    return re.sub(r"\b[mp][0-9a-f]{10}\b", lambda found: numbers.get(found[0], found[0]), picture)


def words(kind: str, results: Sequence[Result]) -> str:
    """A picture in sentences, kernel by kernel."""
    tell = WORDS.get(kind, _bound)
    sentences = [
        f"{group_title(result, results)}, {row['kernel']}: {tell(result, row)}"
        for result in results
        for row in _rows(result)
    ]
    more = len(sentences) - MOST_SENTENCES
    return "; ".join(sentences[:MOST_SENTENCES]) + (f"; and {more} more kernels" if more > 0 else "") + "."


Row = dict[str, object]


def _rows(result: Result) -> list[Row]:
    return [{str(key): value for key, value in row.items()} for row in result.kernels.to_dict("records")]


def _latency(result: Result, row: Row) -> str:
    table = result.latency[result.latency["kernel"] == row["kernel"]]
    if table.empty:
        return "no memory requests"
    phases = table.groupby("phase", sort=False)["cycles"].sum()
    top = str(phases.idxmax())
    return f"most of the time in {top}, {100 * phases.max() / max(1, phases.sum()):.0f} %"


def _stalls(result: Result, row: Row) -> str:
    table = result.stalls[result.stalls["kernel"] == row["kernel"]]
    top = table.sort_values("warp_cycles", ascending=False, kind="stable").head(3)
    return ", ".join(f"{one['reason']} {one['pct']:.0f} %" for one in top.to_dict("records"))


def _occupancy(_result: Result, row: Row) -> str:
    limiters = str(row["limiters"]).replace(";", " and ").replace("_", " ") or "nothing"
    return (
        f"{row['theoretical_occupancy_pct']:.0f} % possible, limited by {limiters}, "
        f"{row['achieved_occupancy_pct']:.0f} % achieved"
    )


def _bandwidth(_result: Result, row: Row) -> str:
    return f"{row['dram_throughput_pct']:.0f} % of DRAM's peak, {row['l2_throughput_pct']:.0f} % of L2's"


def _bound(_result: Result, row: Row) -> str:
    return f"bound by {row['bound']}"


def _times(_result: Result, row: Row) -> str:
    return f"{row['time_us']:.1f} µs with its gap"


WORDS: dict[str, Callable[[Result, Row], str]] = {
    "latency": _latency,
    "stalls": _stalls,
    "occupancy": _occupancy,
    "occupancy-limits": _occupancy,
    "bandwidth": _bandwidth,
    "timeline": _times,
}
