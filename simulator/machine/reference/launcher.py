"""The grid launcher: starts the kernels of each stream in order, and gives blocks to SMs that have room for
them.

A kernel of a stream starts after its launch gap behind the one before it, and never sooner after it than the
host can issue. Blocks are placed breadth-first (the SM with the fewest resident blocks, then the lowest
number) at the card's dispatch rate. The launcher owns the book-keeping: it reserves at dispatch and frees
when "block done" arrives, so an SM never refuses. Kernels of several streams share the dispatcher, the one
that started first going first. Priorities and preemption are not modelled.
"""

from __future__ import annotations

import heapq

from hwmodels import Gpu
from simulator.machine.messages import BLOCK_DONE, LAUNCH, BlockDone, BlockLaunch
from simulator.machine.order import NEVER, Clockwork, Component
from simulator.machine.reference.sm import Sm
from simulator.machine.state import KernelProgress, SmBook
from simulator.statistics.record import BARRIERS, BLOCKS, LIMITERS, REGISTERS, SHARED, WARPS, BlockRecord

FS_PER_NS = 1_000_000
REGISTERS_PER_KIB = 256
UNLIMITED = 1 << 30


class Launcher(Component):
    """The one launcher of a card; `kernels` in launch order, each with its stream."""

    def __init__(
        self,
        clockwork: Clockwork,
        ident: int,
        gpu: Gpu,
        kernels: list[KernelProgress],
        graph: bool,
        keep_blocks: int = 0,
    ) -> None:
        super().__init__(clockwork, ident, gpu.sm_period_fs, "grid launcher")
        launch = gpu.launch
        self.gpu = gpu
        self.gap_fs = (launch.graph_gap_ns if graph else launch.stream_gap_ns) * FS_PER_NS
        # A graph is launched once: the host is out of the way.
        self.host_fs = 0 if graph else launch.host_period_ns * FS_PER_NS
        self.done_fs = launch.block_done_ns * FS_PER_NS
        self.launch_fs = launch.block_launch_ns * FS_PER_NS
        self.step_millicycles = 1_000_000 // launch.dispatch_blocks_per_kilocycle
        self.largest_carveout = gpu.shared_memory.size_kib * 1024
        self.kernels = kernels
        self.keep_blocks = keep_blocks
        self.finished: list[BlockRecord] = []
        self.gaps = [0] * len(kernels)
        self.streams: dict[int, list[int]] = {}
        for kernel in kernels:
            self.streams.setdefault(kernel.stream, []).append(kernel.index)
        self.blocked_cycles = [[0] * len(LIMITERS) for _ in kernels]
        self.running: list[int] = []
        """Kernels with blocks left to place, in the order in which they started."""
        self.free_millicycle = 0
        """When the dispatcher may place its next block, in thousandths of a cycle."""
        self.sms: list[Sm] = []
        self.books: list[SmBook] = []

    def connect(self, sms: list[Sm]) -> None:
        """Tell the launcher its SMs, and book the first kernel of each stream."""
        sm = self.gpu.sm
        registers = self.gpu.register_file.size_kib * REGISTERS_PER_KIB // sm.sub_cores
        self.sms = sms
        self.books = [
            SmBook(
                free_warps=[sm.warp_slots // sm.sub_cores] * sm.sub_cores,
                free_registers=[registers] * sm.sub_cores,
                free_blocks=sm.block_slots,
                free_barriers=sm.barrier_slots or UNLIMITED,
                carveout_bytes=-1,
                free_shared=0,
            )
            for _ in sms
        ]
        for indices in self.streams.values():
            self._schedule(self.kernels[indices[0]], 0, ended_fs=0, issued_fs=-self.host_fs)

    def _schedule(self, kernel: KernelProgress, now_fs: int, ended_fs: int, issued_fs: int) -> None:
        """Set a kernel's start: behind the gap and the host's pace, on a clock edge."""
        start = max(ended_fs + self.gap_fs, issued_fs + self.host_fs, now_fs)
        kernel.start_fs = -(-start // self.period_fs) * self.period_fs
        self.gaps[kernel.index] = kernel.start_fs - ended_fs
        self.book(kernel.start_fs)

    def tick(self, now_fs: int) -> int:
        """Take finished blocks back, start kernels whose time has come, place one block, find the next
        time.
        """
        cycle = now_fs // self.period_fs
        for kernel in self.kernels:
            self._account_blocked(kernel, cycle)
        inbox = self.inbox
        while inbox and inbox[0][0] <= now_fs:
            _, _, _, kind, done = heapq.heappop(inbox)
            if kind != BLOCK_DONE:
                raise TypeError(f"{self.name} got a message of kind {kind}")
            self._take_back(done, now_fs)
        for indices in self.streams.values():
            for index in indices:
                kernel = self.kernels[index]
                if 0 <= kernel.start_fs <= now_fs and not kernel.next_block and index not in self.running:
                    self.running.append(index)
        self.running = [i for i in self.running if self.kernels[i].next_block < self.kernels[i].blocks]
        self.running.sort(key=lambda index: (self.kernels[index].start_fs, index))
        placed = True
        while placed and self.running and self.free_millicycle < 1000 * (cycle + 1):
            placed = self._place_one(now_fs, cycle)
        return self._next_time(now_fs, placed)

    def _next_time(self, now_fs: int, placed: bool) -> int:
        following = NEVER
        if self.running and placed:
            following = max(now_fs + self.period_fs, self.free_millicycle // 1000 * self.period_fs)
        for kernel in self.kernels:
            if now_fs < kernel.start_fs < following:
                following = kernel.start_fs
        return following

    # --- placing
    # ----------------------------------------------------------------------------------------------

    def _place_one(self, now_fs: int, cycle: int) -> bool:
        """Place the next block of the first running kernel that fits anywhere."""
        for index in self.running:
            kernel = self.kernels[index]
            found = self._find_sm(kernel)
            if found is None:
                self._mark_blocked(kernel, cycle)
                continue
            number, sub_cores = found
            self._reserve(kernel, self.books[number], sub_cores)
            launch = BlockLaunch(index, kernel.next_block, sub_cores, self.books[number].carveout_bytes)
            kernel.next_block += 1
            self.free_millicycle = max(self.free_millicycle, 1000 * cycle) + self.step_millicycles
            self.send(self.sms[number], now_fs, self.launch_fs, LAUNCH, launch)
            if kernel.next_block == kernel.blocks:
                self.running.remove(index)
            return True
        return False

    def _find_sm(self, kernel: KernelProgress) -> tuple[int, list[int]] | None:
        order = sorted(range(len(self.books)), key=lambda number: self.books[number].resident)
        for number in order:
            book = self.books[number]
            if self._lacks(kernel, book):
                continue
            sub_cores = self._spread(kernel, book)
            if sub_cores is not None:
                return number, sub_cores
        return None

    def _lacks(self, kernel: KernelProgress, book: SmBook) -> list[int]:
        """Every limiter that keeps a block off this SM."""
        lacking = []
        per_warp = kernel.registers_per_warp
        if per_warp and sum(free // per_warp for free in book.free_registers) < kernel.warps:
            lacking.append(REGISTERS)
        if kernel.shared_bytes > self._shared_left(kernel, book):
            lacking.append(SHARED)
        if sum(book.free_warps) < kernel.warps:
            lacking.append(WARPS)
        if book.free_blocks < 1:
            lacking.append(BLOCKS)
        if book.free_barriers < kernel.barriers:
            lacking.append(BARRIERS)
        return lacking

    def _shared_left(self, kernel: KernelProgress, book: SmBook) -> int:
        """An empty SM takes the kernel's carve-out; another keeps its own while blocks live on it."""
        return book.free_shared if book.resident else kernel.carveout_bytes

    @staticmethod
    def _spread(kernel: KernelProgress, book: SmBook) -> list[int] | None:
        """Give each warp to the sub-core with the most free slots (lowest number on ties) that has its
        registers.
        """
        warps, registers = list(book.free_warps), list(book.free_registers)
        chosen = []
        for _ in range(kernel.warps):
            best = -1
            for number, free in enumerate(warps):
                fits = free > 0 and registers[number] >= kernel.registers_per_warp
                if fits and (best < 0 or free > warps[best]):
                    best = number
            if best < 0:
                return None
            warps[best] -= 1
            registers[best] -= kernel.registers_per_warp
            chosen.append(best)
        return chosen

    def _reserve(self, kernel: KernelProgress, book: SmBook, sub_cores: list[int]) -> None:
        if not book.resident:
            book.carveout_bytes = book.free_shared = kernel.carveout_bytes
        self._book(kernel, book, sub_cores, 1)

    @staticmethod
    def _book(kernel: KernelProgress, book: SmBook, sub_cores: list[int], sign: int) -> None:
        for number in sub_cores:
            book.free_warps[number] -= sign
            book.free_registers[number] -= sign * kernel.registers_per_warp
        book.free_shared -= sign * kernel.shared_bytes
        book.free_blocks -= sign
        book.free_barriers -= sign * kernel.barriers
        book.resident += sign

    def _take_back(self, done: BlockDone, now_fs: int) -> None:
        kernel = self.kernels[done.kernel]
        self._book(kernel, self.books[done.sm], done.sub_cores, -1)
        kernel.done += 1
        if done.block < self.keep_blocks:
            self.finished.append(BlockRecord(done.kernel, done.block, done.sm, done.start_fs, done.end_fs))
        kernel.end_fs = max(kernel.end_fs, done.end_fs)
        if kernel.done == kernel.blocks:
            indices = self.streams[kernel.stream]
            place = indices.index(kernel.index) + 1
            if place < len(indices):
                self._schedule(self.kernels[indices[place]], now_fs, kernel.end_fs, kernel.start_fs)

    # --- statistics and watchdog
    # ------------------------------------------------------------------------------

    def _mark_blocked(self, kernel: KernelProgress, cycle: int) -> None:
        """Say which resources of the emptiest SM hold the next block back from now on."""
        book = min(self.books, key=lambda one: one.resident)
        lacking = self._lacks(kernel, book)
        used = book.carveout_bytes - book.free_shared
        if len(lacking) > 1 and SHARED in lacking and used + kernel.shared_bytes <= self.largest_carveout:
            # A larger carve-out would hold the block; this one was chosen because something else does not.
            lacking.remove(SHARED)
        kernel.blocked = lacking or [WARPS]
        kernel.blocked_since = cycle

    def _account_blocked(self, kernel: KernelProgress, cycle: int) -> None:
        for limiter in kernel.blocked:
            self.blocked_cycles[kernel.index][limiter] += cycle - kernel.blocked_since
        kernel.blocked = []

    def waits_for(self) -> list[str]:
        """Kernels that have not ended."""
        return [
            f"{self.name}: kernel {k.index} of stream {k.stream} has {k.blocks - k.done} of {k.blocks} "
            "blocks unfinished"
            + (f", {k.blocks - k.next_block} not placed" if k.next_block < k.blocks else "")
            for k in self.kernels
            if k.done < k.blocks
        ]
