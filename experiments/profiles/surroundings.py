"""What a profiled kernel finds in L2 in its run: what the kernels before it have left.

Any kernel of a run comes behind others that have read and written, so L2 is full of their lines, dirty ones
at home and copies of them in the other partition, and the write-backs are waited for. If the kernel right
before it in its stream wrote as many elements as it reads, it reads these: sizes and order stand for
addresses, which a trace does not record. How much of them is still there is for the replay to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from experiments.profiles.profile import Profile, ProfiledKernel
from experiments.profiles.programs import Operands, operands_of, trace_of, writing
from experiments.profiles.works import Refused, Work, work_of
from experiments.validation.conditions import KIB
from experiments.validation.machine import FLUSH_ADDRESS
from simulator.trace.builder import GlobalMemory
from simulator.trace.schema import KernelTrace

if TYPE_CHECKING:
    from hwmodels import Gpu

ELEMENT_WISE = {"vectorised", "unrolled", "offsets"}


@dataclass(frozen=True, slots=True)
class Producer:
    """The kernel whose result another one reads, with its work."""

    kernel: ProfiledKernel
    work: Work


def follows(before: Work | Refused, after: Work | Refused) -> bool:
    """Whether a kernel reads what the one before wrote, as far as sizes tell."""
    if isinstance(before, Refused) or isinstance(after, Refused):
        return False
    return (
        after.form in ELEMENT_WISE
        and len(after.item_bytes) > 1
        and before.elements == after.elements
        and before.item_bytes[0] == after.item_bytes[1]
    )


def producers(profile: Profile) -> dict[str, Producer]:
    """By the place of a kernel in its file: the kernel right before it, where that is its producer."""
    streams: dict[tuple[int, int], list[ProfiledKernel]] = {}
    for kernel in profile.kernels:
        streams.setdefault((kernel.device, kernel.stream), []).append(kernel)
    found = {}
    for kernels in streams.values():
        works = [work_of(kernel) for kernel in kernels]
        for (before, made), (kernel, work) in pairwise(zip(kernels, works, strict=True)):
            if isinstance(made, Work) and follows(made, work):
                found[kernel.place] = Producer(before, made)
    return found


def run_up(producer: Producer | None, work: Work, gpu: Gpu) -> tuple[list[KernelTrace], Operands]:
    """The kernels to replay before one of this work, and where its own tensors lie then."""
    memory = GlobalMemory()
    traces = [others(gpu)]
    given = None
    if producer is not None:
        places = operands_of(producer.work, memory)
        traces.append(trace_of(producer.kernel, producer.work, places))
        given = places.result
    return traces, operands_of(work, memory, given)


def others(gpu: Gpu) -> KernelTrace:
    """A kernel that reads as much as L2 holds and writes it back, far from all tensors."""
    tensor = GlobalMemory(FLUSH_ADDRESS).tensor("others", gpu.l2.size_kib * KIB, "input")
    return writing(tensor, in_place=True)
