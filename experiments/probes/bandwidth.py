"""Bandwidth of each level: L1 and shared memory of an SM, L2 read by a card, DRAM read, written, copied.

L2: every SM reads the same resident buffer, each from a place of its own. DRAM: streaming kernels at full
occupancy on a slice of the card, whose shares of the peak are those of the card.
"""

import csv
from functools import cache
from statistics import median

from experiments.probes import shared
from experiments.probes.measure import FAST, marginal_cycles, one_sm, replayed
from experiments.probes.published import DATA as DATA_FOLDER
from experiments.probes.published import Published, die_boards, published
from experiments.probes.row import Row
from experiments.probes.steady import steady_bytes_per_second
from hwmodels import Gpu
from hwmodels.scale import divisor_of
from simulator.machine.options import Preload
from simulator.trace.builder import GlobalMemory, KernelBuilder
from simulator.trace.expression import block, thread
from simulator.trace.kernels.common import DATA, THREAD, repeat
from simulator.trace.kernels.streams import stream
from simulator.trace.schema import LANES, KernelTrace, TensorInfo

KIB, MIB, GIGA = 1 << 10, 1 << 20, 1e9
INTERVAL_CYCLES = 100
L2_THREADS, L2_BYTES_PER_LANE, L2_UNROLL = 1024, 8, 4
L2_STAGGERS = (7, 11, 13)
"""Tiles between the places of two SMs: the first without a common divisor with the SMs, so that none follows
another's steps."""
L2_TURNS = 4
WAVES, ELEMENT_BYTES, LITTLE_L2_KIB = 7, 8, 1024
L2_QUANTITIES = {
    "v100-pcie-16gb": ("V100 PCIe", [f"bw.cache_ws_{size}kB" for size in (384, 840, 2160, 4732)]),
    "a100-sxm-40gb": (
        "A100 SXM4 80GB",
        [
            "bw.cache_ws_1844kB",
            "bw.cache_ws_4044kB",
            "bw.cache_ws_19456kB",
            "bw.l2_ws_2048kB",
            "bw.l2_ws_8192kB",
        ],
    ),
    "a40": ("A40", [f"bw.cache_ws_{size}kB" for size in (788, 2022)]),
    "l40": ("L40", [f"bw.l2_ws_{size}kB" for size in (2048, 8192, 30720)]),
    "gh200": ("GH200", [f"bw.l2_ws_{size}kB" for size in (8192, 18432, 30720)]),
    "h100-pcie": ("H100 PCIe", [f"bw.l2_ws_{size}kB" for size in (7680, 18432, 30720)]),
}
"""Published L2 plateaus: the board, and working sets within the reach of every SM's own partition."""
FRACTIONS = DATA_FOLDER / "published_dram_fractions.csv"
DRAM_KINDS = {"read": "read", "write": "init", "copy": "copy"}
DRAM_COLUMNS = ("dram_read_bytes", "dram_write_bytes")


def bandwidth(gpu: Gpu) -> list[Row]:
    """All levels."""
    return [l1_read(gpu), *shared.bandwidth(gpu), l2_read(gpu), *dram_shares(gpu)]


def l1_read(gpu: Gpu) -> Row:
    """Bytes a cycle that 32 warps read from L1."""
    warps, unroll = 32, 8
    turn_cycles = marginal_cycles(one_sm(gpu), lambda n: [_l1_loads(warps, unroll, n)], 8)
    ours = warps * unroll * LANES * 4 / turn_cycles
    known = published(die_boards(gpu), ("bw.l1_per_clk", "bw.l1_fp32"))
    return Row(gpu.name, "L1 read", shared.BYTES_A_CYCLE, ours, known, "32 warps on one SM, 4-byte elements")


def l2_read(gpu: Gpu) -> Row:
    """GB/s that all SMs together read from L2."""
    trace, buffer = l2_loads(gpu.sm_count, l2_buffer_bytes(gpu), L2_TURNS)
    preload = [Preload(buffer.base_address, buffer.bytes)]
    result = replayed([trace], gpu, preload=preload, interval_cycles=INTERVAL_CYCLES, engine=FAST)
    ours = steady_bytes_per_second(result, ["l2_bytes"]) / GIGA
    board, quantities = L2_QUANTITIES.get(gpu.name, ("", []))
    how = f"{buffer.bytes // KIB} KiB resident, read by every SM"
    return Row(gpu.name, "L2 read", "GB/s", ours, published([board], quantities), how)


def l2_buffer_bytes(gpu: Gpu) -> int:
    """A buffer that all slices share evenly and that the first pass brings near to everyone."""
    return gpu.l2.slices * 16 * gpu.line_bytes * 4


def dram_shares(gpu: Gpu) -> list[Row]:
    """Shares of the DRAM's peak that streaming kernels reach at full occupancy."""
    part = slice_for_streams(gpu)
    return [dram_share(gpu, part, kind) for kind in DRAM_KINDS]


def dram_share(gpu: Gpu, part: Gpu, kind: str) -> Row:
    """One of them: "read", "write" or "copy"."""
    if kind != "read":
        part = with_little_l2(part)
    # DRAM sees the first write when L2 is full of them.
    waves_mib = WAVES * part.sm_count * part.sm.warp_slots * LANES * ELEMENT_BYTES / MIB
    written_mib = 0 if kind == "read" else 2.5 * part.l2.size_kib / KIB
    megabytes = round(max(waves_mib, written_mib) * KIB) / KIB
    trace = stream(DRAM_KINDS[kind], megabytes, 1024)
    result = replayed(trace, part, interval_cycles=INTERVAL_CYCLES, engine=FAST)
    peak = part.dram.bandwidth_gb_s * GIGA
    ours = steady_bytes_per_second(result, DRAM_COLUMNS) / peak
    how = f"stream kernel, full occupancy, {part.scale} of the card, L2 of {part.l2.size_kib} KiB"
    return Row(gpu.name, f"DRAM {kind}", "of peak", ours, published_shares().get((gpu.name, kind)), how)


def with_little_l2(part: Gpu) -> Gpu:
    """The slice with 1 to 2 MiB of L2, so that write-backs begin soon; a whole number of sets stays.

    Several times what its resident threads have in flight, as on a whole card, or lines would be written back
    in pieces.
    """
    size_kib = part.l2.size_kib
    while size_kib % 2 == 0 and size_kib >= 2 * LITTLE_L2_KIB:
        size_kib //= 2
    # Keys name numbers of the whole card.
    whole_kib = size_kib * divisor_of(part.scale)
    return part.with_overrides({"l2.size_kib": whole_kib}) if size_kib < part.l2.size_kib else part


def slice_for_streams(gpu: Gpu) -> Gpu:
    """A slice small enough for a second of streaming, large enough that channels meet by chance."""
    for denominator in (4, 2):
        counts = (gpu.sm_count, gpu.l2.slices // gpu.l2.partitions, gpu.memory_partitions, gpu.dram.channels)
        if not any(count % denominator for count in counts):
            return gpu.scaled(f"1/{denominator}")
    return gpu


@cache
def published_shares() -> dict[tuple[str, str], Published]:
    """(card, kind) → the middle of what sources say."""
    found: dict[tuple[str, str], list[float]] = {}
    with FRACTIONS.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["gpu"], row["kind"]), []).append(float(row["share"]))
    return {key: Published(median(values), "of peak", "high", len(values)) for key, values in found.items()}


def _l1_loads(warps: int, unroll: int, turns: int) -> KernelTrace:
    buffer = GlobalMemory().tensor("x", 16 * KIB, "input")
    k = KernelBuilder("l1_read", 1, warps * LANES)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    with repeat(k, turns):
        for part in range(unroll):
            place = ((thread + part * LANES) % (4 * KIB)) * 4
            k.load(DATA + part, k.at(buffer, place), 4, 4, tensor=buffer)
    return k.build()


def l2_loads(blocks: int, size: int, turns: int, *, in_step: bool = False) -> tuple[KernelTrace, TensorInfo]:
    """Blocks that read a buffer over and over, each from its own place or all in step; and the buffer."""
    buffer = GlobalMemory().tensor("x", size, "input")
    k = KernelBuilder("l2_read", blocks, L2_THREADS)
    k.s2r(THREAD)
    k.wide(4, THREAD)
    stagger = next(one for one in L2_STAGGERS if blocks % one)
    tile, words = L2_THREADS * L2_UNROLL, L2_BYTES_PER_LANE // 4
    with repeat(k, turns) as turn:
        for part in range(L2_UNROLL):
            start = turn if in_step else turn * blocks + block * stagger
            index = start * tile + part * L2_THREADS + thread
            place = (index % (size // L2_BYTES_PER_LANE)) * L2_BYTES_PER_LANE
            k.load(DATA + part * words, k.at(buffer, place), L2_BYTES_PER_LANE, 4, cache="cg", tensor=buffer)
        for part in range(L2_UNROLL):
            k.fadd(DATA - 2, DATA - 2, DATA + part * words)
        k.alu(4, 4)
    return k.build(), buffer
