"""Bandwidths replayed as rows describe them: streams by resident threads, buffers that all SMs read, L1, L2.

Streams and buffers beyond L1 run on a slice of the card, with sizes cut alike, and are given for the whole.
What happens inside an SM runs on one SM. Rates are steady ones: start and end of a run are left out.
"""

from __future__ import annotations

from experiments.probes.bandwidth import with_little_l2
from experiments.probes.curve import idle_shared_bytes
from experiments.probes.steady import steady_bytes_per_second
from experiments.validation.conditions import KIB, MIB
from experiments.validation.latency_replays import probe_value
from experiments.validation.machine import flush, marginal, run, slice_of
from hwmodels import Gpu
from hwmodels.operations import Operation
from simulator.machine.options import Preload
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import block, thread
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.kernels.shared import shared_bandwidth
from simulator.trace.kernels.streams import stream
from simulator.trace.schema import LANES, KernelTrace, TensorInfo

INTERVAL_CYCLES = 100
ELEMENT_BYTES = 8
BLOCKS_AN_SM = 2
WARPS, SHORTEST, LONGEST = 10_000, 8, 60
"""A point of a curve replays about so many warps, and so many blocks one after the other in one place."""
FULL_THREADS, FULL_WAVES = 1024, 7
DRAM_COLUMNS = ("dram_read_bytes", "dram_write_bytes")
THREADS, UNROLL, STAGGER = 1024, 4, 7
TURNS = 4
BUFFER_THREADS, BUFFER_UNROLL, BUFFER_WORD = 512, 32, 4
"""Threads, loads in flight and bytes of a load of the program that reads one buffer from all SMs."""
SLIDING_READS, SLIDING_TURNS = 2048, 6
"""Reads of the published program, whose buffer is as long, and turns of which the steady part is measured."""
FEWEST_TILES, LONGEST_TILES, L1_TILES = 12, 24, 64
L1_WARPS, L1_UNROLL, L1_BYTES = 32, 8, 16 * KIB
SHARED_READS, SHARED_UNROLL, SHARED_ROUNDS = 64, 8, 4
"""Reads of a thread, those in flight, and rounds of blocks of the program whose blocks share parts of L2."""
EMPTY_KERNELS = 16
COPY_BLOCKS, COPY_THREADS, COPY_WORD = 512, 256, 4
COPY_ROUNDS, COPY_TURNS, COPY_STEP = 64, 2, 2
"""The published copy: its grid on the H100, its words, how often it goes to and fro."""


def stream_bytes_per_second(gpu: Gpu, pattern: str, threads: int) -> float:
    """DRAM traffic of a stream kernel with so many threads on an SM, 0: all that fit; of the whole card."""
    part, denominator = slice_of(gpu)
    if pattern != "read":
        part = with_little_l2(part)
    block = (threads or gpu.sm.warp_slots * LANES) // BLOCKS_AN_SM
    shared = idle_shared_bytes(gpu) if threads else 0
    warps = part.sm_count * BLOCKS_AN_SM * -(-block // LANES)
    waves = min(max(WARPS // warps, SHORTEST), LONGEST) if threads else FULL_WAVES
    megabytes = waves * part.sm_count * BLOCKS_AN_SM * block * ELEMENT_BYTES / MIB
    if pattern != "read":
        # DRAM sees the first write when L2 is full of them.
        megabytes = max(megabytes, 2.5 * part.l2.size_kib / KIB)
    if not threads:
        block, megabytes = FULL_THREADS, round(megabytes * KIB) / KIB
    trace = stream(pattern, megabytes, block, shared)
    result = run(trace, part, interval_cycles=INTERVAL_CYCLES)
    return denominator * steady_bytes_per_second(result, DRAM_COLUMNS)


def turnaround_seconds(gpu: Gpu, pattern: str, threads: int) -> float:
    """Resident bytes over the rate: what a place of a thread takes from one block's thread to the next
    one's.
    """
    return threads * gpu.sm_count * ELEMENT_BYTES / stream_bytes_per_second(gpu, pattern, threads)


def l1_bytes_per_second(gpu: Gpu, width: int, adder: str) -> float:
    """32 warps of each SM read a buffer that its L1 holds and add up what they read."""
    one = gpu.with_overrides({"sm_count": 1})
    cycles = marginal(one, lambda turns: [_l1_loads(width, adder, turns)], 8)
    volume = L1_WARPS * LANES * L1_UNROLL * width
    return volume / cycles * gpu.clock_mhz * 1e6 * gpu.sm_count


def shared_bytes_per_second(gpu: Gpu) -> float:
    """32 warps of each SM read shared memory without conflicts."""
    one = gpu.with_overrides({"sm_count": 1})
    cycles = marginal(one, lambda turns: shared_bandwidth(THREADS, 4, turns, L1_UNROLL), 16)
    return THREADS * 4 * L1_UNROLL / cycles * gpu.clock_mhz * 1e6 * gpu.sm_count


def l2_read_bytes_per_second(gpu: Gpu, bytes: int, width: int) -> float:  # noqa: A002
    """All SMs read a buffer that L2 holds, each from a place of its own, past L1."""
    size = _even_size(gpu, bytes)
    trace, buffer = _l2_accesses(gpu.sm_count, size, width, TURNS, write=False)
    result = run([trace], gpu, preload=[Preload(buffer.base_address, size)], interval_cycles=INTERVAL_CYCLES)
    return steady_bytes_per_second(result, ["l2_bytes"])


def l2_shared_read_bytes_per_second(gpu: Gpu, bytes: int) -> float:  # noqa: A002
    """Two blocks an SM of 1,024 threads, of which every n-th reads the same 64 doubles a thread, two at a
    time; the n different ones lie side by side in each turn and make up the buffer. Some rounds of blocks;
    the buffer is resident where L2 holds it.
    """
    part, denominator = slice_of(gpu)
    runs = max(1, bytes // denominator // (SHARED_READS * THREADS * ELEMENT_BYTES))
    blocks = SHARED_ROUNDS * BLOCKS_AN_SM * part.sm_count
    buffer = GlobalMemory().tensor("x", runs * SHARED_READS * THREADS * ELEMENT_BYTES, "input")
    k = KernelBuilder("l2_shared_read", blocks, THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, SHARED_READS // SHARED_UNROLL) as turn:
        for read in range(SHARED_UNROLL):
            step = turn * (SHARED_UNROLL // 2) + read // 2
            index = ((step * runs + block % runs) * 2 + read % 2) * THREADS + thread
            k.load(DATA + 2 * read, k.at(buffer, index * ELEMENT_BYTES), ELEMENT_BYTES, 4, tensor=buffer)
        for read in range(SHARED_UNROLL):
            k.fadd(DATA - 2, DATA - 2, DATA + 2 * read)
        k.alu(4, 4)
    fits = buffer.bytes <= part.l2.size_kib * KIB
    preload = [Preload(buffer.base_address, buffer.bytes)] if fits else []
    result = run([k.build()], part, preload=preload, interval_cycles=INTERVAL_CYCLES)
    return denominator * steady_bytes_per_second(result, ["l2_bytes"])


def l2_sliding_read_bytes_per_second(gpu: Gpu, width: int) -> float:
    """Two blocks an SM read past L1, each warp one warp's elements further in every turn, so that the warps
    behind it come to the same ones; as the program does whose logs name bytes a cycle and cycles: together
    216 blocks of 1,024 threads that each read 2,048 elements.
    """
    blocks = BLOCKS_AN_SM * gpu.sm_count
    buffer = GlobalMemory().tensor("x", (blocks * THREADS + SLIDING_READS * LANES) * width, "input")
    k = KernelBuilder("l2_sliding_read", blocks, THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    words = width // 4
    with repeat(k, SLIDING_TURNS) as turn:
        for part in range(UNROLL):
            index = (turn * UNROLL + part) * LANES + block * THREADS + thread
            k.load(DATA + part * words, k.at(buffer, index * width), width, 4, cache="cg", tensor=buffer)
            k.fadd(DATA - 2, DATA - 2, DATA + part * words)
        k.alu(4, 4)
    preload = [Preload(buffer.base_address, buffer.bytes)]
    result = run([k.build()], gpu, preload=preload, interval_cycles=INTERVAL_CYCLES)
    return steady_bytes_per_second(result, ["l2_bytes"])


def l2_write_bytes_per_second(gpu: Gpu) -> float:
    """All SMs write a buffer that L2 holds."""
    size = _even_size(gpu, 0)
    cycles = marginal(gpu, lambda turns: [_l2_accesses(gpu.sm_count, size, 8, turns, write=True)[0]], TURNS)
    return gpu.sm_count * THREADS * UNROLL * 8 / cycles * gpu.clock_mhz * 1e6


def shared_buffer_bytes_per_second(gpu: Gpu, bytes: int) -> float:  # noqa: A002
    """One block an SM reads the same buffer from end to end, again and again, through L1.

    What L1 holds or nearly holds runs on four SMs: the published logs show L2 at half of its rate there.
    """
    part, denominator = slice_of(gpu)
    in_l1 = bytes <= gpu.l1.size_kib * KIB * 3 // 2
    if in_l1:
        part = gpu.with_overrides({"sm_count": 4})
    tile, granule = (count * BUFFER_THREADS * BUFFER_WORD for count in (BUFFER_UNROLL, 2))
    # L1 is not cut: what a part of L2 holds is read whole, so that it stays beyond L1.
    whole = in_l1 or bytes <= part.l2.size_kib * KIB
    size = -(-(bytes if whole else bytes // denominator) // granule) * granule
    tiles = -(-size // tile)
    resident = size <= part.l2.size_kib * KIB
    count = max(2 * tiles, L1_TILES) if in_l1 else min(max(tiles, FEWEST_TILES), LONGEST_TILES)
    trace_of = BufferReads(part.sm_count, size, resident=resident)
    warm, preload = (tiles, trace_of.preload) if in_l1 else (0, trace_of.preload)
    begin = warm + count // 2

    def cycles(number: int) -> int:
        return run([trace_of.build(number)], part, preload=preload).cycles

    first, last = cycles(begin), cycles(begin + count)
    rate = part.sm_count * count * tile / (last - first) * gpu.clock_mhz * 1e6
    return rate * gpu.sm_count / part.sm_count


def repeated_copy_bytes_per_second(gpu: Gpu, bytes: int) -> float:  # noqa: A002
    """A kernel copies a buffer to and fro, a word a thread and turn and nothing else of the thread in flight,
    as the published program's volatile words demand; events around the one launch.

    L2 is full of what a kernel before has written. The first turns are replayed, the others like the last.
    """
    part, denominator = slice_of(gpu)
    words = bytes // COPY_WORD // denominator
    before = flush(part)

    def cycles(turns: int) -> int:
        table = run([before, _copies(COPY_BLOCKS // denominator, words, turns)], part).kernels.iloc[1]
        return int(table.cycles + table.launch_cycles)

    few, more = cycles(COPY_TURNS), cycles(COPY_TURNS + COPY_STEP)
    total = more + (COPY_ROUNDS - COPY_TURNS - COPY_STEP) * (more - few) / COPY_STEP
    return 2 * bytes * COPY_ROUNDS / total * gpu.clock_mhz * 1e6


def strided_copy_share(gpu: Gpu, stride: int) -> float:
    """How fast every n-th word is copied to every n-th word, over a plain copy of as many."""
    part, _ = slice_of(gpu)
    return run([_strided(part, 1)], part).cycles / run([_strided(part, stride)], part).cycles


def throughput_operations_per_second(gpu: Gpu, operation: str, counts: int) -> float:
    """Operations of all SMs when every sub-core issues one class as fast as it can."""
    interval = probe_value(gpu, "operations", f"{operation}, independent")
    return counts * gpu.sm.sub_cores * gpu.sm_count / interval * gpu.clock_mhz * 1e6


def launch_seconds(gpu: Gpu, launch: str, busy_cycles: int) -> float:
    """What one more kernel takes beyond its work: of kernels that do nothing, or long enough to hide the
    host.
    """

    def seconds(count: int) -> float:
        kernels = [_busy(busy_cycles) for _ in range(count)]
        return float(run(kernels, gpu, launch=launch).time_us) * 1e-6

    one_more = (seconds(2 * EMPTY_KERNELS) - seconds(EMPTY_KERNELS)) / EMPTY_KERNELS
    return one_more - busy_cycles / (gpu.clock_mhz * 1e6)


def _busy(cycles: int) -> KernelTrace:
    k = KernelBuilder("busy", 1, LANES)
    if cycles:
        k.emit(Operation.OPAQUE, DATA, DATA, latency=cycles)
        k.alu(DATA, DATA)
    return k.build()


def _even_size(gpu: Gpu, size: int) -> int:
    """A buffer that all slices share evenly; left out: a few lines of each."""
    granule = gpu.l2.slices * 16 * gpu.line_bytes
    return max(size // granule, 1) * granule if size else 4 * granule


def _l1_loads(width: int, adder: str, turns: int) -> KernelTrace:
    buffer = GlobalMemory().tensor("x", L1_BYTES, "input")
    k = KernelBuilder("l1_read", 1, L1_WARPS * LANES)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    words = width // 4
    with repeat(k, turns):
        for part in range(L1_UNROLL):
            place = ((thread + part * LANES) % (L1_BYTES // width)) * width
            k.load(DATA + part * words, k.at(buffer, place), width, 4, tensor=buffer)
        if adder == "fp64":
            for part in range(0, L1_UNROLL * words, 2):
                first = DATA + part
                k.emit(Operation.DADD, (DATA - 2, DATA - 1), (DATA - 2, DATA - 1, first, first + 1))
    return k.build()


def _l2_accesses(
    blocks: int, size: int, width: int, turns: int, *, write: bool
) -> tuple[KernelTrace, TensorInfo]:
    buffer = GlobalMemory().tensor("x", size, "input")
    k = KernelBuilder("l2_access", blocks, THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    tile, words = THREADS * UNROLL, width // 4
    with repeat(k, turns) as turn:
        for part in range(UNROLL):
            index = (turn * blocks + block * STAGGER) * tile + part * THREADS + thread
            place = k.at(buffer, (index % (size // width)) * width)
            if write:
                k.store(DATA + part * words, place, width, 4, tensor=buffer)
            else:
                k.load(DATA + part * words, place, width, 4, cache="cg", tensor=buffer)
        if not write:
            for part in range(UNROLL):
                k.fadd(DATA - 2, DATA - 2, DATA + part * words)
        k.alu(4, 4)
    return k.build(), buffer


class BufferReads:
    """Kernels that read one buffer from every block, by the number of tiles: a word from each half of the
    buffer at a time, and many of them in flight, since the published program is unrolled 32 times.
    """

    def __init__(self, blocks: int, size: int, *, resident: bool) -> None:
        self.blocks, self.size = blocks, size
        self.buffer = GlobalMemory().tensor("x", size, "input")
        self.preload = [Preload(self.buffer.base_address, size)] if resident else []

    def build(self, tiles: int) -> KernelTrace:
        """The kernel that ends after so many tiles."""
        k = KernelBuilder("buffer_read", self.blocks, BUFFER_THREADS)
        k.s2r(THREAD)
        k.wide(4, THREAD)
        half = self.size // 2 // BUFFER_WORD
        with repeat(k, tiles) as turn:
            for part in range(BUFFER_UNROLL):
                index = (turn * (BUFFER_UNROLL // 2) + part // 2) * BUFFER_THREADS + thread
                place = (index % half + part % 2 * half) * BUFFER_WORD
                k.load(DATA + 2 * part, k.at(self.buffer, place), BUFFER_WORD, 4, tensor=self.buffer)
            for part in range(BUFFER_UNROLL):
                k.fadd(DATA - 2, DATA - 2, DATA + 2 * part)
            k.alu(4, 4)
        return k.build()


def _copies(blocks: int, words: int, turns: int) -> KernelTrace:
    memory = GlobalMemory()
    size = words * COPY_WORD
    first, second = memory.tensor("x", size, "input"), memory.tensor("y", size, "output")
    threads = blocks * COPY_THREADS
    k = KernelBuilder("copies", blocks, COPY_THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, turns // 2):
        for source, target in ((first, second), (second, first)):
            with repeat(k, -(-words // threads), 14) as turn:
                index = turn * threads + block * COPY_THREADS + thread
                with k.guard_unless(words % threads == 0, index, 0, words):
                    k.load(DATA, k.at(source, index * COPY_WORD), COPY_WORD, 4, cache="cv", tensor=source)
                    k.store(DATA, k.at(target, index * COPY_WORD), COPY_WORD, 4, tensor=target)
                k.alu(4, 4)
    return k.build()


def _strided(part: Gpu, stride: int) -> KernelTrace:
    elements = part.sm_count * THREADS * 2 * SHORTEST
    memory = GlobalMemory()
    source = memory.tensor("x", elements * stride * 4, "input")
    target = memory.tensor("y", elements * stride * 4, "output")
    k = KernelBuilder("strided_copy", elements // THREADS, THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    place = (block * THREADS + thread) * (4 * stride)
    k.load(DATA, k.at(source, place), 4, 4, tensor=source)
    k.store(DATA, k.at(target, place), 4, 4, tensor=target)
    return k.build()
