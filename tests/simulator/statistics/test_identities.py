"""Every identity, broken one at a time: each must notice, say its name, and leave a run that was cut short
alone.
"""

import pytest
from synthetic import HEADERS, synthetic_run

from hwmodels.errors import ResultError
from simulator.statistics.identities import balances, check, require
from simulator.statistics.phases import GLOBAL_LOAD
from simulator.statistics.record import RunRecord
from simulator.statistics.schema import COUNTER_NAMES, INDEX

BLOCKS = [header.grid_blocks for header in HEADERS]


def names(record: RunRecord) -> list[str]:
    return [balance.name for balance in check(record, BLOCKS)]


def test_a_sound_run_has_no_violation() -> None:
    record = synthetic_run()
    assert check(record, BLOCKS) == []
    require(record, BLOCKS)
    assert sum(1 for _ in balances(record, BLOCKS)) > 60


def bump(record: RunRecord, counter: str, by: int = 1) -> None:
    record.kernels[0].counts[INDEX[counter]] += by
    if record.intervals:
        record.intervals[0].counts[INDEX[counter]] += by


@pytest.mark.parametrize(
    ("counter", "expected"),
    [
        ("resident_warp_cycles", "warp states = resident warp-cycles"),
        ("warp_instructions", "selected warp-cycles = warp instructions"),
        ("warp_instructions", "instructions by operation = warp instructions"),
        ("warp_instructions", "warp instructions issued = warp instructions of the trace"),
        ("blocks", "blocks completed = blocks of the grid"),
        ("l1_global_load_hits", "l1_global_load: sectors = hits + misses + merges"),
        ("l1_local_load_merges", "l1_local_load: sectors = hits + misses + merges"),
        ("l1_async_copy_misses", "sectors missed in L1 = sectors read at L2"),
        ("l1_fill_sectors", "sectors read at L2 = sectors filled into L1"),
        ("l1_global_store_requests", "global store: requests finished = requests started"),
        ("shared_load_requests", "shared load: requests finished = requests started"),
        ("shared_atomic_requests", "shared atomic: requests finished = requests started"),
        ("l1_async_copy_requests", "global async_copy: requests finished = requests started"),
        ("request_packets", "request packets sent = requests at L2"),
        ("request_bytes", "request bytes sent = bytes written at L2"),
        ("reply_bytes", "reply bytes received = bytes read at L2 and by atomics"),
        ("acknowledgements", "reply bytes received = bytes read at L2 and by atomics"),
        ("l2_read_hits", "l2_read: sectors = hits + misses + merges"),
        ("l2_atomic_merges", "l2_atomic: sectors = hits + misses + merges"),
        ("link_read_hits", "link_read: sectors = hits + misses + merges"),
        ("l2_fill_sectors", "sectors filled into L2 = sectors from DRAM and home slices"),
        ("dram_read_sectors", "sectors missed in L2 = sectors asked of DRAM and of home slices"),
        ("dram_read_sectors", "DRAM read bursts + reads from the write queue = sectors read from DRAM"),
        ("dram_write_sectors", "DRAM write bursts = sectors written to DRAM"),
        ("l2_writeback_sectors", "sectors written back by L2 = sectors written to DRAM"),
    ],
)
def test_one_more_of_a_counter_breaks_its_identity(counter: str, expected: str) -> None:
    record = synthetic_run()
    bump(record, counter)
    assert expected in names(record)
    with pytest.raises(ResultError, match="identity violated"):
        require(record, BLOCKS)


@pytest.mark.parametrize("counter", COUNTER_NAMES)
def test_an_interval_that_lost_something_is_noticed(counter: str) -> None:
    record = synthetic_run()
    record.intervals[0].counts[INDEX[counter]] += 1
    broken = names(record)
    if counter.endswith("dirty_left"):
        assert broken == []
    else:
        assert broken == [f"conv: {counter} over the intervals = its total"]


def test_phases_must_sum_to_the_latency() -> None:
    record = synthetic_run()
    record.kernels[1].phases[GLOBAL_LOAD][3] += 1
    (broken,) = check(record, BLOCKS)
    assert (broken.name, broken.kernel) == ("global load: latency phases = finish - issue [fs]", 1)
    assert broken.left == broken.right + 1


def test_littles_law_and_leftovers() -> None:
    record = synthetic_run()
    record.meters[0].area += 1
    record.in_flight.append("SM 0: a load of line 7")
    assert names(record) == [
        "work in flight at the end = 0",
        "slice 0 input: occupancy integral = summed waits (Little's law)",
    ]
    with pytest.raises(ResultError, match="unfinished: SM 0: a load of line 7"):
        require(record, BLOCKS)


def test_row_outcomes_cover_all_bursts() -> None:
    record = synthetic_run()
    record.dram[5] -= 1
    assert names(record) == ["row hits + misses + conflicts = DRAM bursts"]


def test_the_error_is_one_line_and_names_the_kernel() -> None:
    record = synthetic_run()
    bump(record, "reply_bytes", 32)
    with pytest.raises(ResultError) as caught:
        require(record, BLOCKS)
    text = str(caught.value)
    assert text.startswith("kernel 0 (conv): identity violated: reply bytes received = ")
    assert "2080 is not 2048" in text
    assert "\n" not in text
    assert caught.value.exit_code == 1


def test_a_partial_run_is_not_judged() -> None:
    record = synthetic_run()
    bump(record, "reply_bytes")
    record.partial = True
    require(record, BLOCKS)


def test_a_reduction_is_acknowledged_and_an_atomic_answered_by_a_sector() -> None:
    """Their operands travel too, so bytes sent exceed bytes written; packets and replies must still agree."""
    record = synthetic_run()
    for counter in ("l2_atomic_requests", "request_packets"):
        bump(record, counter, 2)
    bump(record, "request_bytes", 256)
    bump(record, "acknowledgements")
    assert names(record) == ["reply bytes received = bytes read at L2 and by atomics"]
    bump(record, "reply_bytes", 32)
    assert names(record) == []
