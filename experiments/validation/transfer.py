"""Leave one architecture out: how well a card's stream curve is predicted when what was fitted on it is taken
from the two others.

Of the fitted numbers those that mean the same on every architecture are carried over (costs of a block's
launch, the memory controller's latency and queues); clocks, counts, sizes and DRAM timings are the card's
specifications.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from experiments.validation.judge import errors_of
from experiments.validation.measurements import PUBLISHED, read_measurements
from experiments.validation.replays import answer
from experiments.validation.request import Request
from experiments.validation.run import Asked, ask
from experiments.validation.store import keep, kept
from experiments.validation.units import convert
from hwmodels import Gpu

ARCHITECTURES = {"volta": "v100-pcie-16gb", "ampere": "a100-sxm-40gb", "hopper": "h100-pcie"}
CARRIED = (
    "launch.block_launch_ns",
    "launch.block_done_ns",
    "dram.controller_latency_ns",
    "dram.read_queue_depth",
    "dram.drain_high",
    "dram.drain_low",
)


def number(gpu: Gpu, key: str) -> float:
    """A number of a card by its key."""
    found = gpu.dump()
    for part in key.split("."):
        found = found[part]
    return float(str(found))


def carried_over(card: str) -> Gpu:
    """The card with the carried numbers of the other two architectures: their mean."""
    others = [Gpu.from_card(one) for one in ARCHITECTURES.values() if one != card]
    values = {key: round(mean(number(gpu, key) for gpu in others)) for key in CARRIED}
    return Gpu.from_card(card).with_overrides(values)


def curve_rows(card: str) -> list[Asked]:
    """The published points of the card's stream curve."""
    rows = [row for row in read_measurements([PUBLISHED]) if row.quantity.startswith("bw.stream")]
    return [one for one in ask(rows, [card]) if isinstance(one.wanted, Request)]


def errors(asked: Sequence[Asked], gpu: Gpu, *, replaying: bool = True) -> list[float]:
    """Error of each point in percent; without `replaying` of those whose answer is kept."""
    found = []
    for one in asked:
        assert isinstance(one.wanted, Request)
        assert one.row.value is not None
        value = kept(one.wanted, gpu)
        if value is None and not replaying:
            continue
        if value is None:
            value = answer(one.wanted, gpu)
            keep(one.wanted, gpu, value)
        ours = convert(one.wanted.kind, value, one.row.unit, gpu, one.row.place)
        found.append(100 * (ours / one.row.value - 1))
    return found


def transfer_section(cards: Sequence[str] = tuple(ARCHITECTURES.values()), *, replaying: bool = True) -> str:
    """The section of the page; without `replaying` of the cards whose whole curves are kept, or nothing."""
    rows = []
    for card in cards:
        asked = curve_rows(card)
        own, moved = (
            errors_of(errors(asked, gpu, replaying=replaying))
            for gpu in (Gpu.from_card(card), carried_over(card))
        )
        if min(own.count, moved.count) < len(asked):
            continue
        figures = (own.count, own.mean, own.worst, moved.mean, moved.worst)
        rows.append(f"| {card} | " + " | ".join(f"{one:.3g}" for one in figures if one is not None) + " |")
    keys = ", ".join(f"`{key}`" for key in CARRIED)
    return HEAD.format(keys=keys) + "\n".join(rows) + "\n" if rows else ""


HEAD = """\
## One architecture left out

The curve of streams against resident threads, in percent of the published points: with the card's own fitted
numbers, and with those that mean the same on every architecture taken from the other two ({keys}).

| card | points | own: mean | own: worst | carried over: mean | carried over: worst |
|---|---|---|---|---|---|
"""
