"""Between the L2 slices of a memory partition and its DRAM channels: the path to the controllers, and
waiting in front of them.

A fetch or a write-back takes half of `l2.miss_latency_cycles` to its controller. When the queue of its
pseudo-channel is full it waits in front, reads and writes apart, in order; a read whose sector still waits
here to be written stays behind that write. A line may be evicted only while the write queues of the
pseudo-channels concerned have room beyond what is already on its way, so at most one line's sectors a
pseudo-channel ever wait without a place. A read comes back after controller and PHY
(`controller_latency_ns`) and the other half of the path. Scheduling inside a channel is in `dram.py`.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from hwmodels.dram.address_map import split
from hwmodels.dram.dealing import dealt_sector
from hwmodels.gpu import Gpu
from hwmodels.slice_hash import local_line
from hwmodels.units import FEMTOSECONDS_PER_NANOSECOND
from simulator.machine.order import NEVER
from simulator.machine.reference.dram import DramChannel
from simulator.machine.reference.intervals import Counts
from simulator.machine.state_dram import WRITE
from simulator.machine.state_l2 import Fetch
from simulator.statistics.schema import INDEX

C_DRAM_READS = INDEX["dram_read_sectors"]
C_DRAM_WRITES = INDEX["dram_write_sectors"]

OnWay = tuple[int, int, int, int, Fetch | None, int]
"""(arrival in fs, number, pseudo-channel of the partition, sector in it, fetch or None, kernel)."""

Returned = tuple[int, int, int, Fetch]
"""(cycle of arrival in the slice, line, 3 − sector, fetch)."""


class MemoryFront:
    """The channels of one memory partition. Times are femtoseconds, clocks those of the memory."""

    def __init__(self, gpu: Gpu, counts: Counts) -> None:
        self.counts = counts
        self.period_fs = gpu.l2_period_fs
        self.clock_fs = gpu.dram_period_fs
        self.slices = gpu.l2.slices
        self.partitions = gpu.l2.partitions
        self.share = gpu.slices_per_memory_partition
        self.lanes = gpu.dram.pseudo_channels_per_channel
        self.channels = [DramChannel(gpu.dram) for _ in range(gpu.channels_per_memory_partition)]
        self.pseudo_channels = self.lanes * len(self.channels)
        self.write_depth = gpu.dram.write_queue_depth
        self.there_fs = gpu.l2.miss_latency_cycles // 2 * self.period_fs
        self.back_cycles = gpu.l2.miss_latency_cycles - gpu.l2.miss_latency_cycles // 2
        self.controller_fs = gpu.dram.controller_latency_ns * FEMTOSECONDS_PER_NANOSECOND
        self.burst_fs = gpu.dram.timing.burst_fs
        self.number = 0
        self.on_way: list[OnWay] = []
        self.reads: list[deque[OnWay]] = [deque() for _ in range(self.pseudo_channels)]
        self.writes: list[deque[OnWay]] = [deque() for _ in range(self.pseudo_channels)]
        self.unwritten: list[dict[int, int]] = [{} for _ in range(self.pseudo_channels)]
        """By pseudo-channel: sectors of write-backs not yet in the channel's queue, and how many."""
        self.writes_outside = [0] * self.pseudo_channels
        """By pseudo-channel: write-backs on their way or in front of the queue."""
        self.returned: list[Returned] = []
        self.waiting = [0] * len(self.channels)
        """By channel: requests in front of its queues."""
        self.retry = [False] * len(self.channels)
        """By channel: whether something in front of its queues may join them."""
        self.channel_due = [NEVER] * len(self.channels)
        """By channel: the clock of its next tick."""
        self.due_fs = NEVER
        """The next memory clock with work."""

    # -- from and to the slices ----------------------------------------------------------------------------

    def _first(self, slice_index: int, line: int) -> int:
        """Number, inside the partition, of the line's sector 0; XOR a sector (0–3) with it for the others."""
        return dealt_sector(local_line(line, self.slices, self.partitions), 0, slice_index, self.share)

    def fetch(self, slice_index: int, line: int, sectors: int, kernel: int, leaves_fs: int) -> None:
        """Read sectors of a line; the requests leave the slice at `leaves_fs`."""
        first = self._first(slice_index, line)
        arrive_fs = leaves_fs + self.there_fs
        for bit in range(4):
            if sectors >> bit & 1:
                where, sector = split(first ^ bit, self.pseudo_channels)
                self._put_on_way(
                    arrive_fs, where, sector, Fetch(slice_index, line, bit, kernel, arrive_fs), kernel
                )

    def _put_on_way(self, arrive_fs: int, where: int, sector: int, fetch: Fetch | None, kernel: int) -> None:
        self.number += 1
        heappush(self.on_way, (arrive_fs, self.number, where, sector, fetch, kernel))
        edge_fs = -(-arrive_fs // self.clock_fs) * self.clock_fs
        self.due_fs = min(self.due_fs, edge_fs)

    def has_write_places(self, slice_index: int, line: int, sectors: int) -> bool:
        """Whether the pseudo-channels of these sectors have room for one more write each."""
        first = self._first(slice_index, line)
        for bit in range(4):
            if sectors >> bit & 1:
                where, _ = split(first ^ bit, self.pseudo_channels)
                queue = self.channels[where // self.lanes].state.pseudo_channels[where % self.lanes]
                if self.writes_outside[where] + queue.waiting[WRITE] >= self.write_depth:
                    return False
        return True

    def write_back(self, slice_index: int, line: int, sectors: int, kernel: int, leaves_fs: int) -> None:
        """Write sectors of an evicted line."""
        first = self._first(slice_index, line)
        for bit in range(4):
            if sectors >> bit & 1:
                where, sector = split(first ^ bit, self.pseudo_channels)
                self.writes_outside[where] += 1
                unwritten = self.unwritten[where]
                unwritten[sector] = unwritten.get(sector, 0) + 1
                self._put_on_way(leaves_fs + self.there_fs, where, sector, None, kernel)

    # -- memory clocks -------------------------------------------------------------------------------------

    def tick(self, clock: int) -> bool:
        """One memory clock; whether a write has got a place, so that evictions may go on."""
        now_fs = clock * self.clock_fs
        due = self.channel_due
        on_way = self.on_way
        while on_way and on_way[0][0] <= now_fs:
            entry = heappop(on_way)
            where = entry[2]
            index = where // self.lanes
            (self.writes if entry[4] is None else self.reads)[where].append(entry)
            self.waiting[index] += 1
            self.retry[index] = True
            due[index] = clock
        freed = False
        for index, channel in enumerate(self.channels):
            if due[index] <= clock:
                if self.retry[index]:
                    self.retry[index] = False
                    self._push(channel, index, clock)
                channel.tick(clock)
                following = channel.next_ck(clock)
                if channel.completions:
                    freed = self._collect(channel) or freed
                    if self.waiting[index]:
                        # A command has freed a place: fill it at the next clock.
                        self.retry[index] = True
                        following = clock + 1
                due[index] = NEVER if following is None else following
        following = min(due)
        if on_way:
            following = min(following, -(-on_way[0][0] // self.clock_fs))
        self.due_fs = following * self.clock_fs if following < NEVER else NEVER
        return freed

    def _push(self, channel: DramChannel, index: int, clock: int) -> None:
        """Fill the queues of a channel."""
        for lane in range(self.lanes):
            where = index * self.lanes + lane
            writes, reads, unwritten = self.writes[where], self.reads[where], self.unwritten[where]
            while writes and channel.can_accept_write(lane):
                _, _, _, sector, _, kernel = writes.popleft()
                channel.push_write(clock, lane, sector, None)
                self.waiting[index] -= 1
                self.writes_outside[where] -= 1
                unwritten[sector] -= 1
                if not unwritten[sector]:
                    del unwritten[sector]
                self.counts[kernel][C_DRAM_WRITES] += 1
            while reads and reads[0][3] not in unwritten and channel.can_accept_read(lane):
                _, _, _, sector, fetch, kernel = reads.popleft()
                channel.push_read(clock, lane, sector, fetch)
                self.waiting[index] -= 1
                self.counts[kernel][C_DRAM_READS] += 1

    def _collect(self, channel: DramChannel) -> bool:
        """Send what has been read on its way back; whether a write left its queue."""
        wrote = False
        for done, fetch, _, first, column in channel.completions:
            if fetch is None:
                wrote = True
                continue
            fetch.first_fs = first * self.clock_fs
            fetch.column_fs = column * self.clock_fs
            fetch.done_fs = done * self.clock_fs
            fetch.burst_fs = fetch.done_fs - self.burst_fs
            fetch.ready_fs = fetch.done_fs + self.controller_fs
            cycle = -(-fetch.ready_fs // self.period_fs) + self.back_cycles
            heappush(self.returned, (cycle, fetch.line, 3 - fetch.sector, fetch))
        channel.completions.clear()
        return wrote

    def waits_for(self) -> list[str]:
        """Requests in front of full queues."""
        lines = []
        for where in range(self.pseudo_channels):
            for queue, kind in ((self.reads[where], "reads"), (self.writes[where], "writes")):
                if queue:
                    lines.append(f"{len(queue)} {kind} wait for the queue of pseudo-channel {where}")
        return lines
