"""DRAM alone beside published simulators: unloaded, bound, loaded and mixed streams under their timings."""

import pytest

from experiments.probes.dram_peers import REFERENCE, figures, representative_rows, rows_of, summary
from experiments.probes.dram_reference import comparable_rows
from experiments.probes.dram_sets import peer_spec
from hwmodels.dram.clocks import timing_clocks

RAMULATOR = "Ramulator 2.1"


def rows(*words, tool=RAMULATOR):
    return [
        row
        for row in representative_rows(REFERENCE)
        if row["tool"] == tool and all(word in "/".join(row.values()) for word in words)
    ]


def test_five_in_eight_of_all_rows_have_a_counterpart():
    assert len(list(comparable_rows(REFERENCE))) > 450


def test_every_stream_of_the_method_runs():
    streams = {row["pattern"].split(" [")[0] for row in representative_rows(REFERENCE)}
    assert len(streams) == 19


@pytest.mark.parametrize("name", ["HBM2 1.754", "HBM2E 3.2", "HBM3 5.2"])
def test_a_derived_speed_keeps_nanoseconds_to_a_clock(name):
    derived = peer_spec(f"{RAMULATOR} {name}")
    base = peer_spec(f"{RAMULATOR} {'HBM3' if '3 ' in name else 'HBM2'}")
    own, other = timing_clocks(derived), timing_clocks(base)
    for key in ("cl", "rcd_rd", "rp", "ras", "rc", "faw", "wr"):
        nanoseconds = getattr(other, key) * base.timing.tck_fs
        assert 0 <= getattr(own, key) * derived.timing.tck_fs - nanoseconds < derived.timing.tck_fs
    assert (own.ccd_s, own.ccd_l) == (2, 4)


def test_unloaded_latencies_are_the_peers_within_a_clock():
    """Mean of a chase; refresh adds its share, the same for both within a nanosecond."""
    found = rows("pointer chase random", "NoRefresh")
    assert len(found) >= 2
    for row in found:
        pair = figures(row)
        assert abs(pair["latency_ours_ns"] - pair["latency_theirs_ns"]) <= 1.1, pair


@pytest.mark.parametrize(
    "stream", ["one bank new row", "one bank-group new row", "one PC only", "rotate bank"]
)
def test_bound_streams_are_the_peers_within_three_percent(stream):
    found = rows(stream)
    assert found
    for row in found[:3]:
        assert abs(figures(row)["achieved_difference_pct"]) <= 3, row


def test_copies_of_deep_queues_are_the_peers_within_three_percent():
    found = rows("copy", "q128", "bgil+")
    assert len(found) >= 5
    for row in found[:5]:
        assert abs(figures(row)["achieved_difference_pct"]) <= 3, row


def test_rows_and_summary_say_what_was_compared():
    pair = figures(rows("HBM2 2.0", "1pc", "rate=", "sequential mix")[0])
    share, latency = rows_of(pair)
    assert (share.unit, latency.unit) == ("of peak", "ns")
    assert abs(latency.error_percent) <= 10
    kinds = summary([share, latency])
    assert [(one["kind"], one["rows"]) for one in kinds] == [
        ("latency", 1),
        ("share, reads and writes mixed", 1),
    ]


@pytest.mark.slow
def test_all_streams():
    """Pure streams within 2 % in the median, latencies within 10 % in nine of ten."""
    found = {
        one["kind"]: one
        for one in summary([row for one in representative_rows(REFERENCE) for row in rows_of(figures(one))])
    }
    assert found["share, pure"]["median_pct"] <= 2
    assert found["latency"]["median_pct"] <= 3
    assert found["latency"]["p90_pct"] <= 12
    assert found["share, reads and writes mixed"]["median_pct"] <= 5
