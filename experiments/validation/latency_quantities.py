"""The grammar of latencies: which replay a `lat.` row asks for.

Three methods are kept apart, since silicon gives them different numbers: a chase (of pointers, or of indices
with address arithmetic between the loads), a direct measurement of one location, and a clustered one, which
tells single accesses apart. Names are read word by word; nothing here knows a single row.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from experiments.validation.conditions import KIB, MIB, footprint_bytes
from experiments.validation.measurements import Measurement
from experiments.validation.request import (
    FEATURE,
    SHAPE,
    Refusal,
    Request,
    request,
)
from hwmodels import Gpu

Answer = Request | Refusal
CLUSTERED = ("cluster", "gaussian", "local partition", "remote partition")
DIRECT = ("single dependent", "one location", "fine-grained", "l2 miss, tlb hit")
POINTERS = ("random pointer chase",)
INDICES = ("chase", "plateau")
MIXED = ("mix of partitions",)
LEVELS = {
    "l1": "l1",
    "l1_hit": "l1",
    "shared": "shared",
    "shared_load": "shared",
    "l2": "l2",
    "l2_hit": "l2",
    "l2_near": "l2",
    "l2_hit_near": "l2",
    "l2_far": "between",
    "l2_hit_far": "far",
    "l2_miss_near": "dram near",
    "l2_miss_far": "dram far",
    "dram": "dram",
    "global": "dram",
    "global_mem": "dram",
    "dram_tlb_hit": "dram",
    "global_mem_wide": "dram",
}
DEFAULT_BYTES = {"l1": 32 * KIB, "l2": MIB, "dram": 1024 * MIB}
FAMILIES = {
    "l1": "L1 hit",
    "l2": "L2 hit near",
    "between": "L2 between one partition and two",
    "dram": "DRAM",
}
INDEX_CYCLES = 6
"""Arithmetic between two loads of a chase of indices: 29 cycles in shared memory where 23 were measured."""
CLASSES = {
    "ffma": "FFMA",
    "fadd": "FADD",
    "fmul": "FMUL",
    "iadd3": "ALU",
    "lop3": "ALU",
    "shf": "ALU",
    "imad": "IMAD",
    "isetp": "PREDICATE",
    "fsetp": "PREDICATE",
    "hfma2": "HFMA2",
    "hadd2": "HADD2",
    "hmul2": "HMUL2",
    "dfma": "DFMA",
    "dadd": "DADD",
    "dmul": "DMUL",
    "popc": "POPC",
    "mufu": "MUFU",
    "shfl": "SHUFFLE",
    "add.f16": "HADD2",
    "mul.f16": "HMUL2",
    "fma.rn.f16": "HFMA2",
    "add.f32": "FADD",
    "mul.f32": "FMUL",
    "mad.rn.f32": "FFMA",
    "fma.rn.f32": "FFMA",
    "add.u32": "ALU",
    "add.s32": "ALU",
    "sub.u32": "ALU",
    "and.b32": "ALU",
    "min.u32": "ALU",
    "max.u32": "ALU",
    "mul.lo.u32": "IMAD",
    "mul.lo.s32": "IMAD",
    "mad.lo.u32": "IMAD",
    "mad.lo.s32": "IMAD",
    "add.f64": "DADD",
    "mul.f64": "DMUL",
    "fma.rn.f64": "DFMA",
    "mad.rn.f64": "DFMA",
    "popc.b32": "POPC",
    "rsqrt.f32": "MUFU",
    "rcp.f32": "MUFU",
    "fp32_fma": "FFMA",
    "int32": "IMAD",
    "fp64": "DFMA",
    "half": "HFMA2",
    "sfu": "MUFU",
}
"""Instructions of the assembly language and of the virtual one, and our class of each."""
NO_CHAINS = ("rsqrt.f32", "rcp.f32")
SHAPES = {
    "f16.f16.m16n8k8": "HMMA_1688_F16",
    "f16.f32.m16n8k8": "HMMA_1688_F32",
    "f16.f16.m16n8k16": "HMMA_16816_F16",
    "f16.f32.m16n8k16": "HMMA_16816_F32",
    "bf16.f32.m16n8k8": "HMMA_1688_F32",
    "bf16.f32.m16n8k16": "HMMA_16816_F32",
    "tf32.f32.m16n8k4": "TF32_1684",
    "tf32.f32.m16n8k8": "TF32_1688",
    "s8.s32.m8n8k16": "IMMA_8816",
    "s8.s32.m16n8k16": "IMMA_16816",
    "s8.s32.m16n8k32": "IMMA_16832",
}
Handler = Callable[[re.Match[str], Measurement, Gpu], Answer]


def latency_request(row: Measurement, gpu: Gpu) -> Answer:
    """What a `lat.` row asks for."""
    name = row.quantity.removeprefix("lat.")
    for pattern, handler in HANDLERS:
        found = re.fullmatch(pattern, name)
        if found:
            return handler(found, row, gpu)
    return Refusal(FEATURE, f"no rule reads {row.quantity}")


def method_of(row: Measurement) -> str:
    """How it was measured: "cluster", "direct", "pointers" or "indices" (chases of them), or "plain" where
    nothing is said.
    """
    words = row.conditions.casefold()
    if any(word in words for word in CLUSTERED):
        return "cluster"
    if any(word in words for word in DIRECT):
        return "direct"
    if any(word in words for word in POINTERS):
        return "pointers"
    return "indices" if any(word in words for word in INDICES) else "plain"


def level(found: re.Match[str], row: Measurement, gpu: Gpu) -> Answer:
    """A level of the hierarchy by name."""
    where, method = LEVELS[found["level"]], method_of(row)
    footprint, two = footprint_bytes(row.conditions), gpu.l2.partitions > 1
    if where == "shared":
        return _shared(row, method)
    if method == "cluster":
        return _clustered(where, two=two)
    if where in {"dram near", "dram far"}:
        return _clustered(where, two=two)
    words = row.conditions.casefold()
    plain = "pointer chase" in words and method == "indices" and footprint is None
    if where in {"l2", "dram"} and two and (plain or any(word in words for word in MIXED)):
        return Refusal(SHAPE, "a mixture of near and far in shares that are not given")
    if method == "direct":
        return _direct(where)
    if where in {"far", "between"}:
        if footprint is None:
            return _clustered("far", two=two)
        where = "between"
    footprint = footprint or DEFAULT_BYTES[where]
    cycles = INDEX_CYCLES if method == "indices" else 0
    return request(
        "chase", "cycles", FAMILIES[where], method, footprint_bytes=footprint, address_cycles=cycles
    )


def edge(_: re.Match[str], row: Measurement, __: Gpu) -> Answer:
    """A point on the edge between two levels."""
    footprint = footprint_bytes(row.conditions)
    if footprint is None:
        return Refusal(SHAPE, "no footprint")
    family = row.quantity
    return request("chase", "cycles", family, "pointers", footprint_bytes=footprint, address_cycles=0)


def _shared(row: Measurement, method: str) -> Answer:
    chased = method in {"pointers", "indices"} and "chase" in row.conditions.casefold()
    cycles = INDEX_CYCLES if chased else 0
    return request(
        "shared chase", "cycles", "shared load", "chase" if chased else "direct", address_cycles=cycles
    )


def _clustered(where: str, *, two: bool) -> Answer:
    if not two and where in {"far", "dram far"}:
        return Refusal(FEATURE, "this card has one L2 partition")
    which = {"l2": "hit near", "far": "hit far", "between": "hit far", "dram near": "miss near"}
    wanted = which.get(where, "miss far")
    return request("cluster", "cycles", f"L2 {wanted}", "cluster", which=wanted)


def _direct(where: str) -> Answer:
    if where == "l1":
        return request(
            "chase", "cycles", "L1 hit", "direct", footprint_bytes=DEFAULT_BYTES["l1"], address_cycles=0
        )
    return request("one location", "cycles", f"one location, {where}", "direct", level=where)


def operation(found: re.Match[str], _: Measurement, gpu: Gpu) -> Answer:
    """An operation class by one or more instructions of it."""
    classes = {CLASSES.get(one) for one in found["names"].casefold().split("/")}
    names = [one for one in classes if one is not None]
    if not names or found["names"].casefold() in NO_CHAINS:
        return Refusal(FEATURE, f"{found['names']} is no single instruction of the model")
    how = found.groupdict().get("how") or "dependent"
    return _operation(min(names, key=_own_timing), how, gpu)


def _own_timing(name: str) -> tuple[bool, str]:
    return name == "ALU", name


def matrix(found: re.Match[str], _: Measurement, gpu: Gpu) -> Answer:
    """A matrix instruction by its types and shape."""
    name = SHAPES.get(found["shape"].casefold())
    if name is None:
        return Refusal(FEATURE, f"no matrix instruction {found['shape']}")
    return _operation(name, "dependent", gpu)


def _operation(name: str, how: str, gpu: Gpu) -> Answer:
    if name not in {one.name for one in gpu.operations}:
        return Refusal(FEATURE, f"{name} is not on this card")
    return request("operation", "cycles", f"{name}, {how}", operation=name, how=how)


def probe(group: str, quantity: str) -> Handler:
    """A row of a probe, whose name is the pattern's groups put into `quantity`."""

    def handler(found: re.Match[str], _: Measurement, __: Gpu) -> Answer:
        name = quantity.format(*found.groups())
        return request("probe", "cycles", name, group=group, quantity=name)

    return handler


def atomics(found: re.Match[str], _: Measurement, gpu: Gpu) -> Answer:
    """Atomics of a card on one address; a block an SM."""
    blocks, threads = int(found[1]), int(found[2])
    if blocks > gpu.sm_count * gpu.sm.block_slots:
        return Refusal(FEATURE, "more blocks than fit")
    return request(
        "global atomics", "cycles", "atomics on one address", f"{threads}", blocks=blocks, threads=threads
    )


def absent(what: str) -> Handler:
    """Something that the model does not have."""

    def handler(_: re.Match[str], __: Measurement, ___: Gpu) -> Answer:
        return Refusal(FEATURE, what)

    return handler


LEVEL_NAMES = "|".join(sorted(LEVELS, key=len, reverse=True))
HANDLERS: tuple[tuple[str, Handler], ...] = (
    (rf"(?:chase\.)?(?P<level>{LEVEL_NAMES})(?:_[\d.]+\s*[kMG]i?B)?", level),
    (r"(?:chase\.)?\w+_edge_\S+", edge),
    (r"(?:alu|incore)\.(?P<names>\S+)", operation),
    (r"cpi_(?P<how>dependent|independent)\.(?P<names>\S+)", operation),
    (r"(?P<names>fp32_fma|int32|fp64|half|sfu)", operation),
    (r"mma\.sync\.(?P<shape>\S+)", matrix),
    (r"shared_bank_conflict_(\d+)way", probe("conflicts", "shared load, {}-way conflict")),
    (r"ldmatrix_x(\d)", probe("conflicts", "matrix load x{}")),
    (r"atomic_shared_(\d+)threads", probe("conflicts", "shared atomic, {} contenders")),
    (r"bar\.sync_(\d+)warps", probe("barrier", "barrier, {} warps")),
    (r"bar\.sync_(\d+)warps_2CTA_per_SM", probe("barrier", "barrier, {} warps, two blocks")),
    (r"atomicAdd_same_address_(\d+)blk_(\d+)thr", atomics),
    (r"shfl(?:_sync)?", probe("operations", "SHUFFLE, dependent")),
    (r"const_l1", probe("latency", "constant, first level")),
    (r"const_l\d\S*", absent("constant caches always hit")),
    (r"dram_tlb_miss\S*", absent("page walks of a cold first touch")),
    (r"(?:wgmma|tma|dsmem)\S*", absent("asynchronous copies and matrix products of clusters")),
    (
        r"(?:threadfence|grid_sync|tile_sync|syncwarp|coalesced_sync|cluster)\S*",
        absent("fences and sync groups"),
    ),
    (r"(?:shared_store|wmma|hmma|imma)\S*", absent("a sequence of instructions that is not given")),
)
