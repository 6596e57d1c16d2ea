"""The grammar of bandwidths, throughputs and times: which replay a `bw.`, `tput.`, `derived.` or `time.` row
asks for.

Sizes stand in the quantity (`ws_716kB`), in the conditions, or not at all, where the level's own size is
meant. Names are read word by word; nothing here knows a single row.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from experiments.validation.conditions import KIB, count_of, size_bytes
from experiments.validation.latency_quantities import SHAPES, Answer
from experiments.validation.measurements import Measurement
from experiments.validation.request import FEATURE, SHAPE, Refusal, request
from hwmodels import Gpu

Handler = Callable[[re.Match[str], Measurement, Gpu], Answer]
KINDS = {"read": "read", "init": "init", "write": "init", "copy": "copy", "scale": "scale", "triad": "triad"}
WIDTHS = {"float4": 16, "fp64": 8, "64bit": 8, "double": 8, "fp32": 4, "32bit": 4, "float": 4, "": 4}
THROUGHPUT = {"fp32": "FFMA", "fp64": "DFMA", "fp16": "HFMA2", "int32": "IMAD", "sfu": "MUFU"}
OPERATIONS_A_LANE = {"FFMA": 2, "DFMA": 2, "HFMA2": 4, "IMAD": 2, "MUFU": 1}
L1_READ, L2_READ = "L1 read", "L2 read"
"""What programs read whose buffer lies in L1, or in L2 near every SM: one plateau each, however they walk
through it.
"""
HIDING_CYCLES = 20_000
"""An overhead is what a kernel adds to work that is long enough to hide the host."""
MULTIPLY_ADDS = re.compile(r"m(\d+)n(\d+)k(\d+)")


def bandwidth_request(row: Measurement, gpu: Gpu) -> Answer:
    """What the row asks for."""
    prefix, _, name = row.quantity.partition(".")
    for pattern, handler in HANDLERS[prefix]:
        found = re.fullmatch(pattern, name)
        if found:
            return handler(found, row, gpu)
    return Refusal(FEATURE, f"no rule reads {row.quantity}")


def occupancy_stream(found: re.Match[str], row: Measurement, gpu: Gpu) -> Answer:
    """A stream kernel with few threads resident."""
    resident = count_of(row.conditions, r"(\d+) resident threads")
    if resident is None:
        share = float(found["percent"]) / 100
        resident = round(share * gpu.sm.warp_slots * 32 / 16) * 16 * gpu.sm_count
    an_sm = max(16, round(resident / gpu.sm_count))
    kind = KINDS[found["kind"]]
    turn = found.groupdict().get("turn") is not None
    family = f"stream {kind}, {an_sm} threads an SM"
    if turn:
        return request("turnaround", "seconds", family, "turn-round", pattern=kind, threads=an_sm)
    return request("stream", "bytes/s", family, pattern=kind, threads=an_sm)


def working_set(found: re.Match[str], _: Measurement, gpu: Gpu) -> Answer:
    """All SMs read one buffer of some size; `l2_ws` has blocks share parts of it, `cache_ws` has each SM
    read all.
    """
    size = size_bytes(found["size"], found["unit"])
    if found["which"] == "l2":
        if _beyond_l2(size, gpu):
            return request("l2 shared read", "bytes/s", "DRAM read by all", "shared blocks", bytes=size)
        # Within a partition every working set is near to all SMs once it was read.
        near = size * gpu.l2.partitions <= gpu.l2.size_kib * KIB
        if near:
            return request("l2 read", "bytes/s", L2_READ, bytes=0, width=8)
        where = f"L2 read across partitions, {size // KIB} KiB"
        return request("l2 shared read", "bytes/s", where, bytes=size)
    l1_bytes = gpu.l1.usable_kib(0) * KIB
    where = L1_READ if size <= l1_bytes else f"L1 edge, {size // KIB} KiB" if size < 2 * l1_bytes else L2_READ
    if _beyond_l2(size, gpu):
        where = f"beyond L2, {size // KIB} KiB"
    method = "" if where in {L1_READ, L2_READ} else "one buffer, all SMs"
    return request("shared buffer", "bytes/s", where, method, bytes=size)


def _beyond_l2(size: int, gpu: Gpu) -> bool:
    return size > gpu.l2.size_kib * KIB


def l1(found: re.Match[str], row: Measurement, gpu: Gpu) -> Answer:
    """L1 of every SM, by the width of a lane's load."""
    width = WIDTHS[found["width"] or ""]
    adder = "fp64" if found["width"] in {"fp64", "64bit", "double"} and "adder" in row.conditions else "fp32"
    del gpu
    # One plateau however wide the loads are, but where the additions of what is read set the pace.
    method = "" if adder == "fp32" else adder
    return request("l1 read", "bytes/s", L1_READ, method, width=width, adder=adder)


def l2(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """L2 read or written by all SMs; a name with a width is of the program whose warps each go on by one
    warp's elements.
    """
    if found["how"] == "_write":
        return request("l2 write", "bytes/s", "L2 write")
    if found["width"]:
        return request("l2 sliding read", "bytes/s", L2_READ, width=WIDTHS[found["width"]])
    return request("l2 read", "bytes/s", L2_READ, bytes=0, width=8)


def dram(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """DRAM streamed by a full card."""
    kind = KINDS[found["kind"] or "read"]
    return request("stream", "bytes/s", f"DRAM {kind}", pattern=kind, threads=0)


def copy(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """A copy of a buffer again and again, counted in and out."""
    size = size_bytes(found["size"], found["unit"])
    return request("repeated copy", "bytes/s", f"copy of {found['size']} {found['unit']}", bytes=size)


def stride(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """Cycles of an L1 load at a stride."""
    name = f"L1 load, stride {found[1]}"
    return request("probe", "cycles", name, group="strides", quantity=name)


def shared(_: re.Match[str], __: Measurement, ___: Gpu) -> Answer:
    """Shared memory of every SM."""
    return request("shared read", "bytes/s", "shared memory read")


def copy_aligned(_: re.Match[str], __: Measurement, ___: Gpu) -> Answer:
    """A copy with full lines."""
    return request("stream", "bytes/s", "DRAM copy", pattern="copy", threads=0)


def stride_efficiency(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """Bandwidth of a strided copy over that of a plain one."""
    return request("strided copy share", "share", f"copy at stride {found[1]}", stride=int(found[1]))


def elementwise(_: re.Match[str], row: Measurement, __: Gpu) -> Answer:
    """An element-wise kernel given by its bandwidth: `N x B / T` in the conditions."""
    numbers = re.search(r"(\d{5,})\s*x\s*(\d+) B", row.conditions)
    if not numbers:
        return Refusal(SHAPE, "no number of elements")
    elements = int(numbers[1])
    return request("relu rate", "bytes/s", "ReLU", elements=elements, element_bytes=int(numbers[2]) // 2)


def reduction(_: re.Match[str], __: Measurement, ___: Gpu) -> Answer:
    """A sum of a long vector."""
    return request("stream", "bytes/s", "DRAM read", "reduction", pattern="read", threads=0)


def throughput(found: re.Match[str], _: Measurement, gpu: Gpu) -> Answer:
    """Operations a second of one class on all SMs."""
    operation = THROUGHPUT[found["name"]]
    if operation not in {one.name for one in gpu.operations}:
        return Refusal(FEATURE, f"{operation} is not on this card")
    counts = OPERATIONS_A_LANE[operation] * 32
    return request("throughput", "operations/s", f"{operation} rate", operation=operation, counts=counts)


def matrix_throughput(found: re.Match[str], _: Measurement, gpu: Gpu) -> Answer:
    """The same of a matrix instruction."""
    name, shape = SHAPES.get(found["shape"]), MULTIPLY_ADDS.search(found["shape"])
    if name is None or shape is None or name not in {one.name for one in gpu.operations}:
        return Refusal(FEATURE, f"no matrix instruction {found['shape']}")
    counts = 2 * int(shape[1]) * int(shape[2]) * int(shape[3])
    return request("throughput", "operations/s", f"{name} rate", operation=name, counts=counts)


def launch(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
    """One more empty kernel in a stream or graph."""
    how = "graph" if "graph" in found[0] else "stream"
    busy = HIDING_CYCLES if "overhead" in found[0] else 0
    return request("launch", "seconds", f"one more kernel in a {how}", launch=how, busy_cycles=busy)


def absent(what: str, reason: str = FEATURE) -> Handler:
    """Something that has no replay."""

    def handler(_: re.Match[str], __: Measurement, ___: Gpu) -> Answer:
        return Refusal(reason, what)

    return handler


KIND_NAMES = "|".join(KINDS)
SIZED = r"(?P<size>[\d.]+)\s*(?P<unit>[kMG]i?B)"
OCCUPANCY = rf"(?P<kind>{KIND_NAMES})_occ(?P<percent>[\d.]+)%"
WIDTH_NAMES = "|".join(name for name in WIDTHS if name)
HANDLERS: dict[str, tuple[tuple[str, Handler], ...]] = {
    "bw": (
        (rf"stream_{OCCUPANCY}", occupancy_stream),
        (rf"(?P<which>cache|l2)_ws_{SIZED}", working_set),
        (r"l1_stride(\d+)_cycles_per_warp_load", stride),
        (rf"l1(?:_per_clk|_per_SM)?(?:_(?P<width>{WIDTH_NAMES}))?", l1),
        (rf"l2(?P<how>_read|_write)?(?:_(?P<width>{WIDTH_NAMES}))?", l2),
        (rf"dram(?:_(?P<kind>{KIND_NAMES}))?", dram),
        (rf"copy_{SIZED}", copy),
        (r"shared(?:_chip)?", shared),
        (r"\w+\.copy_aligned", copy_aligned),
        (r"\w+\.copy_stride(\d+)_efficiency", stride_efficiency),
        (r"relu_derived", elementwise),
        (r"reduction_large", reduction),
        (r"\w+\.matmul_\S+", absent("sizes of the products", SHAPE)),
        (r"l2_persist\S*", absent("persistence controls of L2")),
        (r"(?:tma|dsmem)\S*", absent("asynchronous copies of clusters")),
    ),
    "derived": ((rf"(?P<turn>thread_turnaround)_{OCCUPANCY}", occupancy_stream),),
    "tput": (
        (rf"(?P<name>{'|'.join(THROUGHPUT)})", throughput),
        (r"mma\.sync\.(?P<shape>\S+)", matrix_throughput),
        (r"cublas\S*", absent("a library's tiles")),
    ),
    "time": (
        (r"launch_(?:overhead_in_stream|stream|cuda_graph|graph)", launch),
        (r"\S*grid_sync\S*", absent("synchronisation of a grid")),
        (r"launch\S*", absent("the host's side of a launch")),
        (r"kernel_\S+", absent("the kernel", SHAPE)),
    ),
}
