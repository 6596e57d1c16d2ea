"""What the tables need to know about a kernel and a card, cut down to plain numbers that a result can carry
along.

A result outlives the traces and the card it was made from: it is saved, loaded elsewhere, and compared. So
it keeps these two small descriptions instead of the objects. Peaks are rates of the whole card; nothing
here is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwmodels.gpu import Gpu
    from simulator.trace.schema import KernelTrace


@dataclass(frozen=True, slots=True)
class KernelHeader:
    """The launch parameters of one kernel, as `kernels.csv` repeats them."""

    name: str
    stream: int
    operators: tuple[str, ...]
    grid_blocks: int
    threads_per_block: int
    registers_per_thread: int
    spill_bytes_per_thread: int
    shared_bytes_per_block: int

    @classmethod
    def of(cls, trace: KernelTrace) -> KernelHeader:
        """The header of a trace."""
        return cls(
            name=trace.name,
            stream=trace.stream,
            operators=tuple(trace.operators),
            grid_blocks=trace.blocks,
            threads_per_block=trace.threads_per_block,
            registers_per_thread=trace.registers_per_thread,
            spill_bytes_per_thread=trace.local_bytes_per_thread,
            shared_bytes_per_block=trace.shared_bytes_per_block,
        )


@dataclass(frozen=True, slots=True)
class CardFacts:
    """Peak rates and sizes of a card: bytes a second for DRAM, bytes an L2 cycle for L2 and crossbar."""

    name: str
    scale: str
    digest: str
    sm_count: int
    sm_period_fs: int
    l2_period_fs: int
    warp_slots: int
    sub_cores: int
    registers_per_sm: int
    l1_bytes: int
    l2_bytes: int
    dram_bytes_per_second: int
    l2_bytes_per_cycle: int
    request_bytes_per_cycle: int
    reply_bytes_per_cycle: int
    link_bytes_per_cycle: int
    pipelines: tuple[str, ...]
    """Of each operation class (by its integer value) the pipeline; empty where the card lacks it."""
    interval_tenths: tuple[int, ...]
    """Of each operation class the tenths of a cycle that one issue occupies a sub-core's pipeline."""
    fj_per_byte: tuple[int, ...]
    """Femtojoules of a byte at DRAM, L2, L1 and shared memory."""
    warp_fj: tuple[int, ...]
    """Of each operation class the femtojoules of a warp instruction with all lanes; 0 where there is none."""

    @classmethod
    def of(cls, gpu: Gpu) -> CardFacts:
        """The facts of a card."""
        from hwmodels.energy import warp_energy_fj
        from hwmodels.operations import Operation

        energy = gpu.energy
        timings = [gpu.operations.get(operation) for operation in Operation]
        return cls(
            name=gpu.name,
            scale=str(gpu.scale),
            digest=gpu.digest(),
            sm_count=gpu.sm_count,
            sm_period_fs=gpu.sm_period_fs,
            l2_period_fs=gpu.l2_period_fs,
            warp_slots=gpu.sm.warp_slots,
            sub_cores=gpu.sm.sub_cores,
            registers_per_sm=gpu.register_file.size_kib * 256,
            l1_bytes=gpu.l1.size_kib * 1024,
            l2_bytes=gpu.l2.size_kib * 1024,
            dram_bytes_per_second=round(gpu.dram.bandwidth_gb_s * 10**9),
            l2_bytes_per_cycle=gpu.l2.slices * gpu.l2.slice_bytes_per_cycle,
            request_bytes_per_cycle=gpu.sm_count * gpu.crossbar.request_bytes_per_cycle,
            reply_bytes_per_cycle=gpu.sm_count * gpu.crossbar.reply_bytes_per_cycle,
            link_bytes_per_cycle=gpu.crossbar.partition_link_bytes_per_cycle,
            pipelines=tuple("" if timing is None else timing.pipeline.name.lower() for timing in timings),
            interval_tenths=tuple(0 if timing is None else timing.interval_tenths for timing in timings),
            fj_per_byte=(
                energy.dram_fj_per_byte,
                energy.l2_fj_per_byte,
                energy.l1_fj_per_byte,
                energy.shared_fj_per_byte,
            ),
            warp_fj=tuple(
                0 if timing is None else warp_energy_fj(energy, operation, timing.pipeline)
                for operation, timing in zip(Operation, timings, strict=True)
            ),
        )


def headers_of(kernels: Iterable[KernelTrace | KernelHeader]) -> tuple[KernelHeader, ...]:
    """Headers of traces; what is a header already stays as it is."""
    return tuple(
        kernel if isinstance(kernel, KernelHeader) else KernelHeader.of(kernel) for kernel in kernels
    )


def unique_labels(headers: Iterable[KernelHeader]) -> tuple[str, ...]:
    """One label a launch: the kernel's name, with ` #2`, ` #3` … from its second launch on."""
    seen: dict[str, int] = {}
    labels = []
    for header in headers:
        turn = seen[header.name] = seen.get(header.name, 0) + 1
        labels.append(header.name if turn == 1 else f"{header.name} #{turn}")
    return tuple(labels)
