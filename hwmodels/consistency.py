"""Whether the numbers of a card fit together.

Each number was checked against its own range before; here stand the relations between them: what must
divide what, what must not exceed what, what a link may not be. The first relation that fails is one error
that names both keys and the nearest value that would do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hwmodels.errors import InputError

Finding = tuple[str, str, str]
MOST_WARPS = 64
"""Warps that one scheduler can choose from, in either engine."""


def check(values: Mapping[str, Any]) -> None:
    """Raise an InputError for the first relation that does not hold. Values are in the form of card files."""
    for rules in (_sm, _memories, _partitions, _crossbar, _dram, _timing):
        for key, problem, remedy in rules(values):
            raise InputError(f"gpu.{key}", problem, remedy)


def _sm(v: Mapping[str, Any]) -> Iterator[Finding]:
    sub_cores, warps = v["sm.sub_cores"], v["sm.warp_slots"]
    if warps % sub_cores:
        yield (
            "sm.warp_slots",
            f"{warps} do not divide among {sub_cores} sub-cores",
            _multiple(warps, sub_cores),
        )
    if warps > MOST_WARPS * sub_cores:
        most = MOST_WARPS * sub_cores
        yield "sm.warp_slots", f"{warps} are more than {MOST_WARPS} a sub-core", f"at most {most}"
    if v["sm.max_threads_per_block"] > 32 * warps:
        yield "sm.max_threads_per_block", f"more than {warps} warps hold", f"at most {32 * warps}"
    if v["sm.fetch_line_bytes"] % v["sm.instruction_bytes"]:
        near = _multiple(v["sm.fetch_line_bytes"], v["sm.instruction_bytes"])
        yield "sm.fetch_line_bytes", "not a whole number of instructions", near
    share = v["register_file.size_kib"] * 256 // sub_cores
    if v["register_file.allocation_unit"] > share:
        yield "register_file.allocation_unit", f"a sub-core has only {share} registers", f"at most {share}"


def _memories(v: Mapping[str, Any]) -> Iterator[Finding]:
    unified, carveout = v["l1.size_kib"], v["shared_memory.size_kib"]
    room = unified - -(-v["l1.ways"] * v["l1.line_bytes"] // 1024)
    if room < 1:
        yield (
            "l1.ways",
            f"{unified} KiB of L1 hold no set of {v['l1.ways']} lines",
            f"at most {unified * 8 - 8}",
        )
    if carveout > room:
        yield (
            "shared_memory.size_kib",
            f"a carve-out of {carveout} KiB leaves no L1 of {unified}",
            f"at most {room}",
        )
    if v["l1.unusable_kib"] > room:
        yield "l1.unusable_kib", f"leaves no L1 of {unified} KiB", f"at most {room}"
    if v["l1.tag_banks"] & (v["l1.tag_banks"] - 1):
        yield "l1.tag_banks", f"{v['l1.tag_banks']} is not a power of two", _power(v["l1.tag_banks"])
    if v["shared_memory.reserved_per_block_bytes"] >= carveout * 1024:
        yield (
            "shared_memory.reserved_per_block_bytes",
            "takes the whole carve-out",
            f"below {carveout * 1024}",
        )


def _partitions(v: Mapping[str, Any]) -> Iterator[Finding]:
    parts, slices, sides = v["memory_partitions"], v["l2.slices"], v["l2.partitions"]
    if parts % sides:
        yield (
            "memory_partitions",
            f"{parts} do not divide between {sides} L2 partitions",
            _multiple(parts, sides),
        )
    for key in ("l2.slices", "dram.channels"):
        if v[key] % parts:
            yield key, f"{v[key]} do not divide among {parts} memory partitions", _multiple(v[key], parts)
    set_kib_64ths = slices * v["l2.ways"] * 8
    if (v["l2.size_kib"] * 64) % set_kib_64ths:
        step = set_kib_64ths // _gcd(set_kib_64ths, 64)
        problem = (
            f"{v['l2.size_kib']} KiB are not whole sets of {v['l2.ways']} lines in each of {slices} slices"
        )
        yield "l2.size_kib", problem, _multiple(v["l2.size_kib"], step)
    if sides == 2:
        for name in ("bytes_per_cycle", "latency_cycles"):
            if v[f"crossbar.partition_link_{name}"] == 0:
                yield f"crossbar.partition_link_{name}", "0 with two L2 partitions", "at least 1"


def _crossbar(v: Mapping[str, Any]) -> Iterator[Finding]:
    if v["crossbar.packet_bytes"] % 32:
        yield (
            "crossbar.packet_bytes",
            "not whole sectors of 32 bytes",
            _multiple(v["crossbar.packet_bytes"], 32),
        )
    if v["crossbar.reply_lookahead"] > v["crossbar.reply_fifo_packets"]:
        yield (
            "crossbar.reply_lookahead",
            "more than the FIFO holds",
            f"at most {v['crossbar.reply_fifo_packets']}",
        )
    shortest = min(v["crossbar.request_latency_cycles"], v["crossbar.reply_latency_cycles"])
    if v["crossbar.spread_cycles"] > 2 * (shortest - 2):
        problem = "the nearest SM and slice would be joined without latency"
        yield "crossbar.spread_cycles", problem, f"at most {2 * (shortest - 2)}"


def _dram(v: Mapping[str, Any]) -> Iterator[Finding]:
    if not v["dram.drain_low"] < v["dram.drain_high"]:
        yield (
            "dram.drain_low",
            f"not below drain_high ({v['dram.drain_high']})",
            f"at most {v['dram.drain_high'] - 1}",
        )
    if v["dram.drain_high"] > v["dram.write_queue_depth"]:
        problem = f"above write_queue_depth ({v['dram.write_queue_depth']}), so writing would never start"
        yield "dram.drain_high", problem, f"at most {v['dram.write_queue_depth']}"
    for name in ("bank_groups", "banks_per_group", "rows", "row_bytes"):
        size = v[f"dram.{name}"]
        if size & (size - 1):
            yield (
                f"dram.{name}",
                f"{size} is not a power of two, so addresses cannot be cut into bits",
                _power(size),
            )


def _timing(v: Mapping[str, Any]) -> Iterator[Finding]:
    at_least = (("rc", "ras"), ("ccd_l", "ccd_s"), ("rrd_l", "rrd_s"), ("wtr_l", "wtr_s"))
    for longer, shorter in at_least:
        low = v[f"dram.timing.{shorter}_ns"]
        if v[f"dram.timing.{longer}_ns"] < low:
            yield f"dram.timing.{longer}_ns", f"shorter than {shorter}_ns", f"at least {low}"
    banks = v["dram.bank_groups"] * v["dram.banks_per_group"]
    if v["dram.refresh"] == "all_bank" and v["dram.timing.rfc_ns"] >= v["dram.timing.refi_ns"]:
        yield (
            "dram.timing.refi_ns",
            "the memory would only refresh",
            f"above rfc_ns ({v['dram.timing.rfc_ns']})",
        )
    if v["dram.refresh"] == "per_bank" and v["dram.timing.rfc_pb_ns"] >= banks * v["dram.timing.refi_pb_ns"]:
        low = v["dram.timing.rfc_pb_ns"] / banks
        yield (
            "dram.timing.refi_pb_ns",
            "the banks would only refresh",
            f"above {low:g} (rfc_pb_ns over {banks} banks)",
        )


def _multiple(number: int, step: int) -> str:
    below = number // step * step
    return f"{below} or {below + step}" if below else f"{step}"


def _power(number: int) -> str:
    below = 1 << (number.bit_length() - 1)
    return f"{below} or {2 * below}"


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a
