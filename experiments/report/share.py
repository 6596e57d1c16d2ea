"""A part of the card with the same part of the batch, where a demonstration of the whole would take too long.

A slice keeps what a multiprocessor, a memory partition and a DRAM channel are, and has fewer of each; with
as much less work, each of them has about as much to do as on the whole card. It is no copy of the card in
small: what does not divide is rounded (multiprocessors, images), weights are not cut, and the crossbar has
fewer ways. So a page that uses one says which, beside what the whole card took where that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hwmodels.errors import InputError

if TYPE_CHECKING:
    from experiments.config import Config
    from hwmodels import Gpu
    from simulator.workload.graph import Graph

RATE = 400_000
"""Warp instructions a second that the compiled engine is taken to do before a page's own runs are timed: a
core of a small machine on a slice of a card."""
PLANNED = 0.75
"""Share of the seconds that a choice may fill by its estimate: machines are busy now and then."""
FURTHEST = 0.3
"""A batch whose part differs by more than this from the card's is not taken."""


@dataclass(frozen=True, slots=True)
class Share:
    """What to simulate in place of the whole; `words` is empty where it is the whole."""

    config: Config
    gpu: Gpu
    parts: tuple[Graph, ...]
    words: str = ""


def shares(config: Config, parts: Sequence[Graph], gpu: Gpu) -> Iterator[Share]:
    """The whole, then smaller and smaller parts of it; graphs without a batch have only the whole."""
    from experiments.workload import parts_of

    yield Share(config, gpu, tuple(parts))
    batch = batch_of(config, parts)
    for divisor in _divisors(gpu):
        images = max(1, round(batch / divisor))
        if divisor == 1 or images == batch or abs(images * divisor / batch - 1) > FURTHEST:
            continue
        smaller = replace(config, values={**config.values, "workload.batch": images})
        try:
            slice_of = cut(gpu, divisor)
            yield Share(smaller, slice_of, tuple(parts_of(smaller)), _words(gpu, slice_of, images, batch))
        except InputError:  # a model that fixes its batch, or a card that can't be cut like this
            continue


def fits(work: int, seconds: float) -> bool:
    """Whether so many warp instructions should be done within the seconds."""
    return work <= PLANNED * seconds * RATE


def batch_of(config: Config, parts: Sequence[Graph]) -> int:
    """The config's batch; without one the leading dimension that all results of the graph share, else 1."""
    given: int | None = config["workload.batch"]
    if given is not None:
        return given
    names = [(part, name) for part in parts for one in part.operators for name in one.outputs if name]
    shapes = [part.tensors[name].shape for part, name in names]
    leading = {shape[0] if len(shape) > 1 else 1 for shape in shapes}
    return leading.pop() if len(leading) == 1 else 1


def cut(gpu: Gpu, divisor: int) -> Gpu:
    """`1/divisor` of the card's memory, with the whole number of SMs that is nearest to this part of them."""
    count = max(1, round(gpu.sm_count / divisor))
    return gpu.with_overrides({"sm_count": count * divisor, "scale": f"1/{divisor}"})


def _divisors(gpu: Gpu) -> list[int]:
    """By what the memory side of the card can be cut."""
    from hwmodels.scale import valid_divisors
    from hwmodels.schema import flatten

    if gpu.scale != "1/1":
        return []
    return valid_divisors({**flatten(gpu), "sm_count": gpu.memory_partitions})


def _words(gpu: Gpu, part: Gpu, images: int, batch: int) -> str:
    return (
        f"{part.sm_count} of {gpu.sm_count} SMs, {part.l2.size_kib:,} of {gpu.l2.size_kib:,} KiB of L2, "
        f"{part.dram.bandwidth_gb_s:,.0f} of {gpu.dram.bandwidth_gb_s:,.0f} GB/s of DRAM, "
        f"and a batch of {images} of {batch}"
    )
