"""What a sampled kernel finds in L2: the last blocks of kernels before it run first, what is older is put in.

Of the two kernels before it run as many of the last blocks as turn L2 over, so that lines are where they
would be, dirty ones too. Where that is not enough, the tensors of older kernels are put into L2 clean, the
last ones as far as they fit; their write-backs are missing, which the bound gets a share of L2 for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hwmodels import Gpu
from simulator.machine.options import Preload
from simulator.machine.sample_estimate import Point
from simulator.statistics.record import KernelRecord
from simulator.statistics.sample import PPM
from simulator.statistics.schema import INDEX
from simulator.trace.part import last_blocks
from simulator.trace.schema import KernelTrace, TensorInfo

SECTOR_BYTES = 32
FS_PER_NS = 1_000_000
RUNS_BEFORE = 2
"""Kernels that are replayed again, in part, before the one that is sampled."""
TURNED_OVER_PCT = 125
"""Sectors that came into L2, of its size, after which its state is the kernel's own."""
PAST_SHARE = 2
"""The part of L2 (one byte in so many) whose state may be wrong if not all that comes before is replayed."""
PAST_NOISE_PPM = 5000
"""What any change of the beginning makes of the order of DRAM's requests, and so of the time."""
NEVER_FULL_PCT = 40
"""Below this share of L2 (lines may stand in both partitions) nothing is ever driven out."""


@dataclass(frozen=True, slots=True)
class Past:
    """The kernels of a replay, the records of those that are done, and what was in L2 at the start."""

    traces: Sequence[KernelTrace]
    kernels: Sequence[KernelRecord]
    gpu: Gpu
    preload: tuple[Preload, ...]

    @property
    def l2_bytes(self) -> int:
        """The size of L2."""
        return 1024 * self.gpu.l2.size_kib

    def before(self, place: int) -> tuple[list[KernelTrace], tuple[Preload, ...]]:
        """What runs before a kernel, and what is in L2 before that."""
        wanted = TURNED_OVER_PCT * self.l2_bytes // 100
        traces: list[KernelTrace] = []
        first = place
        while first > 0 and len(traces) < RUNS_BEFORE:
            first -= 1
            trace, turned = self.traces[first], turned_bytes(self.kernels[first])
            if turned > wanted and trace.program is not None:
                traces.insert(0, last_blocks(trace, -(-trace.blocks * wanted // turned)))
                return traces, ()
            traces.insert(0, trace)
            wanted -= turned
            if wanted <= 0:
                return traces, ()
        if not first:
            return traces, self.preload
        older: dict[int, Preload] = {one.base_address: one for one in self.preload}
        for trace in self.traces[:first]:
            for tensor in trace.tensors:
                older.pop(tensor.base_address, None)
                if tensor.bytes:
                    older[tensor.base_address] = Preload(tensor.base_address, tensor.bytes)
        return traces, _that_fit(list(older.values()), self.l2_bytes)

    def error_ppm(self, place: int, kernel: KernelRecord) -> int:
        """What it may cost that not all before a kernel ran: a share of L2 read or written back once more."""
        before, _ = self.before(place)
        if len(before) == place and all(one is self.traces[at] for at, one in enumerate(before)):
            return 0
        spent_fs = self.l2_bytes * FS_PER_NS // int(PAST_SHARE * self.gpu.dram.bandwidth_gb_s)
        return PAST_NOISE_PPM + PPM * spent_fs // max(1, kernel.end_fs - kernel.start_fs)

    def settled(self, point: Point, whole: KernelRecord) -> bool:
        """Whether L2 holds the kernel's own lines from this point on, or keeps all that it is asked for."""
        if 100 * turned_bytes(point.kernel) >= TURNED_OVER_PCT * self.l2_bytes:
            return True
        tensors = self.traces[whole.index].tensors
        own = max(turned_bytes(whole), sum(tensor.bytes for tensor in tensors))
        if 100 * own > NEVER_FULL_PCT * self.l2_bytes:
            return False
        return all(self._clear(tensor, whole.index, own) for tensor in tensors)

    def hopeless(self, point: Point, place: int, blocks: int) -> bool:
        """Whether so many blocks of a kernel can't turn L2 over, nor can L2 hold all of its tensors."""
        own = sum(tensor.bytes for tensor in self.traces[place].tensors)
        expected = 2 * turned_bytes(point.kernel) * blocks // point.blocks
        return 100 * own > NEVER_FULL_PCT * self.l2_bytes and 100 * expected < TURNED_OVER_PCT * self.l2_bytes

    def _clear(self, tensor: TensorInfo, place: int, own: int) -> bool:
        """Whether a tensor is in L2 as a whole when the kernel begins, or none of it is."""
        since = sum(one.bytes for one in self.preload)
        touched = any(one.base_address == tensor.base_address for one in self.preload)
        least = 0
        for at in range(place):
            turned = turned_bytes(self.kernels[at])
            since, least = since + turned, least + turned
            if any(one.base_address == tensor.base_address for one in self.traces[at].tensors):
                touched, since, least = True, turned, 0
        held = 100 * (since + own) <= 2 * NEVER_FULL_PCT * self.l2_bytes
        return not touched or held or 100 * least >= TURNED_OVER_PCT * self.l2_bytes


def turned_bytes(kernel: KernelRecord) -> int:
    """Bytes that came into L2 for a kernel: filled from DRAM, or written by SMs."""
    return SECTOR_BYTES * (kernel.counts[INDEX["l2_fill_sectors"]] + kernel.counts[INDEX["l2_write_sectors"]])


def _that_fit(resident: list[Preload], room: int) -> tuple[Preload, ...]:
    """The last of these that L2 holds, in their order; of the first of them its end."""
    kept: list[Preload] = []
    for one in reversed(resident):
        size = min(one.bytes, room)
        if size <= 0:
            break
        kept.append(Preload(one.base_address + one.bytes - size, size))
        room -= size
    return tuple(reversed(kept))
