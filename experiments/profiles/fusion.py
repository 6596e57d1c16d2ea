"""Which chains of a profile's kernels could be one kernel, and what that would gain on a card by simulation.

A chain is a run of known element-wise kernels, one right behind the other in a stream, each reading as many
elements as the one before it wrote; a trace does not record addresses, so size and order stand for "reads its
result". A chain that follows a kernel whose output has that size too (a convolution or product whose shapes
are recorded) could be that kernel's epilogue: its gain is then all of the chain but the operands it adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

from experiments.profiles.fused import fused_trace
from experiments.profiles.names import short_name
from experiments.profiles.profile import Profile, ProfiledKernel, Shape
from experiments.profiles.programs import operands_of, trace_of, writing
from experiments.profiles.surroundings import ELEMENT_WISE, follows
from experiments.profiles.works import Refused, Work, work_of
from simulator.trace.builder import GlobalMemory

if TYPE_CHECKING:
    from hwmodels import Gpu

NANOSECONDS = 1000
HEADS = {
    "addmm",
    "mm",
    "bmm",
    "matmul",
    "linear",
    "cudnn_convolution",
    "convolution",
    "_convolution",
    "conv2d",
}
"""Operators whose kernels could take an epilogue."""
PRODUCTS = {"addmm", "mm", "bmm", "matmul", "linear"}
SLICED_ELEMENTS = 2_000_000
"""Chains over more elements than this are replayed on a slice of the card."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chain: its kernels with their works, what stands before it (None: a kernel that takes no epilogue),
    and how often it occurs.
    """

    kernels: tuple[ProfiledKernel, ...]
    works: tuple[Work, ...]
    head: ProfiledKernel | None
    measured_us: float
    gaps_us: float
    times: int = 1

    @property
    def names(self) -> list[str]:
        """Operators, the head's first."""
        head = [self.head] if self.head else []
        return [one.operator.name if one.operator else short_name(one.name) for one in (*head, *self.kernels)]


def candidates(profile: Profile, gpu: Gpu) -> list[Candidate]:
    """The chains of a profile, each different one once, by the time that was spent in them.

    `gpu` is the card they would be fused for; a chain that a block's registers do not hold there is left out.
    """
    streams: dict[tuple[int, int], list[ProfiledKernel]] = {}
    for kernel in profile.kernels:
        streams.setdefault((kernel.device, kernel.stream), []).append(kernel)
    found: dict[tuple[Any, ...], list[Candidate]] = {}
    for kernels in streams.values():
        for one in _chains(kernels):
            if _registers(one.works) <= gpu.register_file.max_per_thread:
                key = (tuple(one.names), one.works)
                found.setdefault(key, []).append(one)
    merged = [_merged(group) for group in found.values()]
    return sorted(merged, key=lambda one: -one.measured_us * one.times)


def _merged(group: Sequence[Candidate]) -> Candidate:
    count = len(group)
    return replace(
        group[0],
        measured_us=sum(one.measured_us for one in group) / count,
        gaps_us=sum(one.gaps_us for one in group) / count,
        times=count,
    )


def _chains(kernels: Sequence[ProfiledKernel]) -> list[Candidate]:
    works = [work_of(kernel) for kernel in kernels]
    chains = []
    at = 0
    while at < len(kernels):
        first = works[at]
        if isinstance(first, Refused) or first.form not in ELEMENT_WISE:
            at += 1
            continue
        end = at + 1
        while end < len(kernels) and follows(works[end - 1], works[end]):
            end += 1
        head = kernels[at - 1] if at and _could_carry(kernels[at - 1], first) else None
        if end - at > 1 or head is not None:
            own = [work for work in works[at:end] if isinstance(work, Work)]
            run = kernels[at - 1 if head else at : end]
            gaps = [max(0, after.start_ns - before.end_ns) for before, after in pairwise(run)]
            measured = sum(kernel.duration_ns for kernel in kernels[at:end])
            chains.append(
                Candidate(
                    tuple(kernels[at:end]),
                    tuple(own),
                    head,
                    measured / NANOSECONDS,
                    sum(gaps) / NANOSECONDS,
                )
            )
        at = end
    return chains


def _could_carry(head: ProfiledKernel, first: Work) -> bool:
    """Whether a product or convolution stands before the chain; where shapes are recorded, of its size."""
    if head.operator is None or head.operator.name.removeprefix("aten::") not in HEADS:
        return False
    size = _result_size(head.operator.name.removeprefix("aten::"), head.operator.shapes)
    return (size is None or size == first.elements) and len(first.item_bytes) > 1


def _result_size(name: str, shapes: tuple[Shape, ...]) -> int | None:
    """Elements of a product's result; None where it is not known."""
    matrices = shapes[1:3] if name == "addmm" else shapes[:2]
    if name in PRODUCTS and len(matrices) == 2 and all(len(shape) >= 2 for shape in matrices):
        left, right = matrices
        columns = right[0] if name == "linear" else right[-1]
        return prod(left[:-1]) * columns
    return None


def _registers(works: Sequence[Work]) -> int:
    """Registers that the fused loop takes: pointers, and a vector for each operand."""
    operands = 2 + sum(len(work.item_bytes) - 2 for work in works)
    return 16 + 6 * operands


def gain(one: Candidate, gpu: Gpu, engine: str = "compiled") -> dict[str, Any]:
    """A chain's kernels and the one that would replace them, replayed: times, gain, and the gain over all
    occurrences. Under a head that takes it in, the chain's own time and gaps go; the operands that it adds to
    the head's epilogue are not counted. `one_kernel_us` is the chain as one kernel, whatever stands before.
    """
    from simulator import replay

    share, card = _slice_for(one, gpu)
    works = [_share_of(work, share) for work in one.works]
    gap_us = gpu.launch.stream_gap_ns / NANOSECONDS
    memory = GlobalMemory()
    places, traces = [], []
    given = None
    for kernel, work in zip(one.kernels, works, strict=True):
        own = operands_of(work, memory, given)
        blocks = max(1, kernel.blocks // share)
        part = kernel if share == 1 else replace(kernel, grid=(blocks, 1, 1))
        traces.append(trace_of(part, work, own))
        places.append(own)
        given = own.result
    producer = [writing(tensor) for tensor in places[0].inputs[:1]]
    apart_us = _sum_us(replay([*producer, *traces], card, engine).kernels[len(producer) :], card)
    launches = len(one.kernels) - (0 if one.head else 1)
    alone_us = apart_us
    if len(traces) > 1:
        fused = fused_trace(works, places, _registers(one.works))
        alone_us = _sum_us(replay([*producer, fused], card, engine).kernels[len(producer) :], card)
    fused_us = 0.0 if one.head else alone_us
    saved = apart_us - fused_us + launches * gap_us
    return {
        "operators": one.names,
        "kernels": len(one.kernels) + (one.head is not None),
        "into": "epilogue" if one.head is not None else "one kernel",
        "times": one.times,
        "elements": one.works[0].elements,
        "measured_us": one.measured_us,
        "measured_gaps_us": one.gaps_us,
        "apart_us": apart_us,
        "fused_us": fused_us,
        "one_kernel_us": alone_us,
        "gap_us": gap_us,
        "launches_saved": launches,
        "gain_us": saved,
        "total_gain_us": saved * one.times,
        "slice": card.scale,
    }


def _sum_us(kernels: Any, card: Gpu) -> float:
    return float(kernels["cycles"].sum()) * card.sm_period_fs / 1e9


def _slice_for(one: Candidate, gpu: Gpu) -> tuple[int, Gpu]:
    from hwmodels.errors import InputError

    most = one.works[0].elements // SLICED_ELEMENTS + 1
    plain = all(kernel.grid[0] == kernel.blocks for kernel in one.kernels)
    for denominator in range(most if plain else 1, 1, -1):
        try:
            return denominator, gpu.scaled(f"1/{denominator}")
        except InputError:
            continue
    return 1, gpu


def _share_of(work: Work, share: int) -> Work:
    if share == 1:
        return work
    elements = work.elements // share
    if len(set(work.shapes)) > 1:
        return replace(work, elements=elements)
    return replace(work, elements=elements, shapes=tuple((elements,) for _ in work.shapes))
