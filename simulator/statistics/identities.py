"""What must add up in every complete run, whatever the card and the trace: the simulator's own conscience.

Each identity compares two numbers that were counted in different places (the sum of the states with the
residency, the bytes that left one part with those that reached the next), so that a slip in either shows. A
balance is one identity for one kernel, or for the whole run (kernel -1). A run that was cut short by a
limit has work in flight, and its balances are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hwmodels.errors import ResultError
from simulator.statistics.phases import (
    ACCESS_CLASSES,
    SELECTED,
    SHARED_ATOMIC,
    SHARED_LOAD,
    SHARED_STORE,
    STATE_NAMES,
)
from simulator.statistics.record import KernelRecord, RunRecord
from simulator.statistics.schema import COUNTER_NAMES, DRAM_COUNTERS, INDEX

SECTOR_BYTES = 32
WHOLE_RUN = -1
AT_THE_END = frozenset({"l1_dirty_left", "l2_dirty_left"})
"""Counters that are taken after the last tick, so no interval holds them."""
DRAM_INDEX = {counter.name: place for place, counter in enumerate(DRAM_COUNTERS)}


class Balance(NamedTuple):
    """One identity: it holds when `left` equals `right`. The name says both sides."""

    name: str
    kernel: int
    left: int
    right: int

    @property
    def holds(self) -> bool:
        """Whether both sides agree."""
        return self.left == self.right


def check(record: RunRecord, blocks: Sequence[int] = ()) -> list[Balance]:
    """The balances that don't hold. `blocks`: the grid size of each kernel, where it is known."""
    return [balance for balance in balances(record, blocks) if not balance.holds]


def require(record: RunRecord, blocks: Sequence[int] = ()) -> None:
    """Raise a ResultError that names the first violation of a complete run and counts the others."""
    if record.partial:
        return
    broken = check(record, blocks)
    if not broken:
        return
    first = broken[0]
    place = (
        "run" if first.kernel == WHOLE_RUN else f"kernel {first.kernel} ({record.kernels[first.kernel].name})"
    )
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    unfinished = f"; unfinished: {record.in_flight[0]}" if record.in_flight else ""
    raise ResultError(
        place,
        f"identity violated: {first.name}: {first.left} is not {first.right}{more}{unfinished}",
        "this is a fault of the simulator; please report it with the trace and the card",
    )


def balances(record: RunRecord, blocks: Sequence[int] = ()) -> Iterator[Balance]:
    """Every identity of the run, holding or not."""
    for place, kernel in enumerate(record.kernels):
        for name, left, right in _of_kernel(kernel):
            yield Balance(name, place, left, right)
        if place < len(blocks):
            yield Balance(
                "blocks completed = blocks of the grid", place, _get(kernel, "blocks"), blocks[place]
            )
        expected = record.expected_instructions[place] if place < len(record.expected_instructions) else -1
        if expected >= 0:
            issued = _get(kernel, "warp_instructions")
            yield Balance(
                "warp instructions issued = warp instructions of the trace", place, issued, expected
            )
    for name, left, right in (*_of_dram(record), *_of_queues(record), *_of_intervals(record)):
        yield Balance(name, WHOLE_RUN, left, right)


def _get(kernel: KernelRecord, *names: str) -> int:
    return sum(kernel.counts[INDEX[name]] for name in names)


_Row = tuple[str, int, int]


def _of_kernel(kernel: KernelRecord) -> Iterator[_Row]:
    yield "warp states = resident warp-cycles", sum(kernel.states), _get(kernel, "resident_warp_cycles")
    issued = _get(kernel, "warp_instructions")
    yield "selected warp-cycles = warp instructions", kernel.states[SELECTED], issued
    if kernel.operations:
        yield "instructions by operation = warp instructions", sum(kernel.operations), issued
    yield from _requests(kernel)
    yield from _lookups(kernel)
    yield from _boundaries(kernel)


def _requests(kernel: KernelRecord) -> Iterator[_Row]:
    for place, (space, operation) in enumerate(ACCESS_CLASSES):
        what = f"{space} {operation}"
        yield (
            f"{what}: latency phases = finish - issue [fs]",
            sum(kernel.phases[place]),
            kernel.latency_fs[place],
        )
        entered = _get(kernel, _entry_counter(place))
        yield f"{what}: requests finished = requests started", kernel.requests[place], entered


def _entry_counter(access_class: int) -> str:
    space, operation = ACCESS_CLASSES[access_class]
    if access_class in {SHARED_LOAD, SHARED_STORE, SHARED_ATOMIC}:
        return f"shared_{operation}_requests"
    if operation == "async_copy":
        return "l1_async_copy_requests"
    return f"l1_{space}_{operation}_requests"


def _lookups(kernel: KernelRecord) -> Iterator[_Row]:
    for prefix in ("l1_global_load", "l1_local_load", "l1_async_copy", "l2_read", "l2_atomic", "link_read"):
        outcome = _get(kernel, f"{prefix}_hits", f"{prefix}_misses", f"{prefix}_merges")
        yield f"{prefix}: sectors = hits + misses + merges", _get(kernel, f"{prefix}_sectors"), outcome


def _boundaries(kernel: KernelRecord) -> Iterator[_Row]:
    misses = _get(kernel, "l1_global_load_misses", "l1_local_load_misses", "l1_async_copy_misses")
    read = _get(kernel, "l2_read_sectors")
    yield "sectors missed in L1 = sectors read at L2", misses, read
    yield "sectors read at L2 = sectors filled into L1", read, _get(kernel, "l1_fill_sectors")
    arrived = _get(kernel, "l2_read_requests", "l2_write_requests", "l2_atomic_requests")
    yield "request packets sent = requests at L2", _get(kernel, "request_packets"), arrived
    # An atomic whose result is read is answered by one sector; stores and reductions are only acknowledged.
    posted = _get(kernel, "l2_write_requests", "l2_atomic_requests")
    answered = posted - _get(kernel, "acknowledgements")
    replied = _get(kernel, "reply_bytes")
    yield "reply bytes received = bytes read at L2 and by atomics", replied, SECTOR_BYTES * (read + answered)
    if not _get(kernel, "l2_atomic_requests"):
        # The operands of atomics travel too, and no counter of L2 has their bytes.
        yield (
            "request bytes sent = bytes written at L2",
            _get(kernel, "request_bytes"),
            _get(kernel, "l2_write_bytes"),
        )
    fetched = _get(kernel, "dram_read_sectors", "link_read_sectors")
    missed = _get(kernel, "l2_read_misses", "l2_atomic_misses", "link_read_misses")
    yield "sectors missed in L2 = sectors asked of DRAM and of home slices", missed, fetched
    yield (
        "sectors filled into L2 = sectors from DRAM and home slices",
        _get(kernel, "l2_fill_sectors"),
        fetched,
    )
    written = _get(kernel, "dram_write_sectors")
    yield (
        "sectors written back by L2 = sectors written to DRAM",
        _get(kernel, "l2_writeback_sectors"),
        written,
    )


def _of_dram(record: RunRecord) -> Iterator[_Row]:
    dram = {name: record.dram[place] for name, place in DRAM_INDEX.items()}
    read = sum(_get(kernel, "dram_read_sectors") for kernel in record.kernels)
    written = sum(_get(kernel, "dram_write_sectors") for kernel in record.kernels)
    answered = dram["reads"] + dram["forwarded"]
    yield "DRAM read bursts + reads from the write queue = sectors read from DRAM", answered, read
    yield "DRAM write bursts = sectors written to DRAM", dram["writes"], written
    rows = dram["row_hits"] + dram["row_misses"] + dram["row_conflicts"]
    yield "row hits + misses + conflicts = DRAM bursts", rows, dram["reads"] + dram["writes"]


def _of_queues(record: RunRecord) -> Iterator[_Row]:
    yield "work in flight at the end = 0", len(record.in_flight), 0
    for meter in record.meters:
        yield f"{meter.name}: items left at the end = 0", meter.left, 0
        yield f"{meter.name}: occupancy integral = summed waits (Little's law)", meter.area, meter.waits


def _of_intervals(record: RunRecord) -> Iterator[_Row]:
    """Over all intervals each counter and state sums to its total; one row stands for all that agree."""
    if not record.intervals:
        return
    for place, kernel in enumerate(record.kernels):
        own = [interval for interval in record.intervals if interval.kernel == place]
        summed = [sum(column) for column in zip(*(interval.counts for interval in own), strict=True)]
        spent = [sum(column) for column in zip(*(interval.states for interval in own), strict=True)]
        rows = [
            *zip(COUNTER_NAMES, summed or [0] * len(COUNTER_NAMES), kernel.counts, strict=True),
            *zip(STATE_NAMES, spent or [0] * len(STATE_NAMES), kernel.states, strict=True),
        ]
        wrong = [row for row in rows if row[1] != row[2] and row[0] not in AT_THE_END]
        for name, left, right in wrong or [("warp_instructions", *rows[INDEX["warp_instructions"]][1:])]:
            yield f"{kernel.name}: {name} over the intervals = its total", left, right
