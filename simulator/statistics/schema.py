"""Every counter of the machine, declared once: name, unit, one sentence. Both engines and all tables read
this list.

A counter belongs to a kernel and to the component that counts it; the result sums over components. The
module's constants are plain integers (the place in the list), because the inner loops of the engines index
lists with them. What must add up is in `identities.py`; warp states and latency phases have lists of their
own in `phases.py`.
"""

from __future__ import annotations

from typing import NamedTuple


class Counter(NamedTuple):
    """One counter: what is counted, in which unit, in one sentence."""

    name: str
    unit: str
    sentence: str


def _l1_rows() -> list[Counter]:
    rows = []
    for kind in ("global_load", "local_load", "async_copy"):
        rows += [
            Counter(f"l1_{kind}_requests", "warp requests", f"{kind} instructions that reached L1"),
            Counter(f"l1_{kind}_sectors", "sectors", f"sectors that {kind} instructions asked of L1"),
            Counter(f"l1_{kind}_hits", "sectors", "of these, present in L1"),
            Counter(f"l1_{kind}_misses", "sectors", "of these, requested from L2"),
            Counter(f"l1_{kind}_merges", "sectors", "of these, already on their way"),
        ]
    for kind in ("global_store", "local_store", "global_atomic", "global_reduction"):
        rows += [
            Counter(f"l1_{kind}_requests", "warp requests", f"{kind} instructions that reached L1"),
            Counter(f"l1_{kind}_sectors", "sectors", f"sectors that {kind} instructions touched"),
        ]
    return rows


COUNTERS: tuple[Counter, ...] = (
    Counter("warp_instructions", "instructions", "warp instructions issued"),
    Counter("thread_instructions", "instructions", "lanes active in the issued instructions, summed"),
    Counter("blocks", "blocks", "blocks completed"),
    Counter(
        "resident_warp_cycles", "warp-cycles", "from acceptance of the block to the end of each warp's drain"
    ),
    Counter("operand_conflict_cycles", "cycles", "issue cycles lost to register-bank conflicts"),
    Counter("instruction_misses", "lines", "instruction lines that a sub-core did not hold"),
    Counter("access_count", "accesses", "first consumptions of an (operator, input tensor, warp, register)"),
    Counter("access_fs", "fs", "their latencies, summed"),
    Counter("shared_load_requests", "warp requests", "shared-memory loads"),
    Counter("shared_store_requests", "warp requests", "shared-memory stores"),
    Counter("shared_atomic_requests", "warp requests", "shared-memory atomics"),
    Counter("shared_load_bytes", "bytes", "bytes that active lanes read from shared memory"),
    Counter("shared_store_bytes", "bytes", "bytes that active lanes wrote to shared memory"),
    Counter("shared_passes", "cycles", "data-port cycles of shared-memory instructions"),
    Counter("shared_bank_conflicts", "cycles", "of these, beyond what the width of the access needs"),
    *_l1_rows(),
    Counter("l1_data_passes", "cycles", "data-port cycles of global and local memory instructions"),
    Counter("l1_store_bytes", "bytes", "bytes that active lanes stored to global memory"),
    Counter("l1_dirty_evictions", "sectors", "dirty local-memory sectors evicted from L1 to L2"),
    Counter("l1_dirty_left", "sectors", "dirty local-memory sectors dropped or left in L1 at the end"),
    Counter("l1_fill_sectors", "sectors", "sectors that arrived from L2"),
    Counter("tlb_misses", "requests", "requests beyond the reach of the first TLB level"),
    Counter("request_packets", "packets", "packets that an SM put into the request network"),
    Counter("request_bytes", "bytes", "data in these packets"),
    Counter("reply_packets", "packets", "packets with data that an SM took from the reply network"),
    Counter("reply_bytes", "bytes", "data in these packets"),
    Counter("acknowledgements", "packets", "acknowledgements of stores and reductions"),
    Counter("l2_read_requests", "requests", "read requests of SMs at their first slice"),
    Counter("l2_read_sectors", "sectors", "sectors in these"),
    Counter("l2_read_hits", "sectors", "of these, present at the first slice"),
    Counter("l2_read_misses", "sectors", "of these, asked of DRAM or of the home slice"),
    Counter("l2_read_merges", "sectors", "of these, already on their way"),
    Counter("l2_write_requests", "requests", "write requests of SMs"),
    Counter("l2_write_sectors", "sectors", "sectors in these"),
    Counter("l2_write_bytes", "bytes", "data in these"),
    Counter("l2_atomic_requests", "requests", "atomics and reductions"),
    Counter("l2_atomic_sectors", "sectors", "sectors in these"),
    Counter("l2_atomic_hits", "sectors", "of these, present in L2"),
    Counter("l2_atomic_misses", "sectors", "of these, fetched from DRAM first"),
    Counter("l2_atomic_merges", "sectors", "of these, already on their way"),
    Counter("l2_fill_sectors", "sectors", "sectors that arrived from DRAM or over the partition link"),
    Counter("l2_writeback_sectors", "sectors", "dirty sectors sent to DRAM"),
    Counter("l2_dirty_left", "sectors", "dirty sectors left in L2 at the end"),
    Counter("link_read_requests", "requests", "requests of a near slice at the home slice"),
    Counter("link_read_sectors", "sectors", "sectors in these"),
    Counter("link_read_hits", "sectors", "of these, present at the home slice"),
    Counter("link_read_misses", "sectors", "of these, asked of DRAM"),
    Counter("link_read_merges", "sectors", "of these, already on their way"),
    Counter("link_bytes", "bytes", "data over the partition link, both directions"),
    Counter("link_invalidations", "requests", "stale copies dropped in the other partition"),
    Counter("dram_read_sectors", "sectors", "sectors read from DRAM"),
    Counter("dram_write_sectors", "sectors", "sectors written to DRAM"),
)

COUNTER_NAMES: tuple[str, ...] = tuple(counter.name for counter in COUNTERS)
INDEX: dict[str, int] = {name: place for place, name in enumerate(COUNTER_NAMES)}

DRAM_COUNTERS: tuple[Counter, ...] = (
    Counter("reads", "bursts", "read bursts"),
    Counter("writes", "bursts", "write bursts"),
    Counter("activates", "commands", "rows opened"),
    Counter("precharges", "commands", "rows closed"),
    Counter("refreshes", "commands", "refresh commands"),
    Counter("row_hits", "requests", "requests whose row was open at their first command"),
    Counter("row_misses", "requests", "requests that found their bank closed"),
    Counter("row_conflicts", "requests", "requests that found another row open"),
    Counter("turnarounds", "switches", "changes of direction of the data bus"),
    Counter("busy_clocks", "clocks", "clocks in which the data bus carried data"),
    Counter("forwarded", "reads", "reads answered from the write queue, without a burst"),
)
"""Counters of a DRAM channel; a command serves no single kernel, so these belong to the run."""
