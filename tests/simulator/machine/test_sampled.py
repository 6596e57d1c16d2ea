"""Sampled replays, reference engine: inside the stated bound, marked, and exact where nothing is left out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.config import make_config
from experiments.run import run
from hwmodels import Gpu
from hwmodels.errors import InputError
from simulator import Result, replay
from simulator.statistics import identities
from simulator.statistics.schema import INDEX
from simulator.trace.expand import recorded
from simulator.trace.kernels import from_spec
from simulator.trace.schema import KernelTrace
from simulator.trace.tally import tally

CARD = {
    "gpu.sm_count": 2,
    "gpu.memory_partitions": 1,
    "gpu.l2.slices": 2,
    "gpu.l2.size_kib": 384,
    "gpu.dram.channels": 2,
}
SLICE = Gpu.from_card("v100-sxm2-16gb").with_overrides(CARD)
NARROW = "stream,kind=copy,megabytes=0.04,threads=32,shared_bytes=65536"
"""164 blocks of one warp, one an SM: 82 waves of this card, and all of it fits in L2."""


def narrow(count: int = 1) -> list[KernelTrace]:
    return [trace for _ in range(count) for trace in from_spec(NARROW)]


@pytest.fixture(scope="module")
def whole() -> Result:
    return replay(narrow(), SLICE)


@pytest.fixture(scope="module")
def sampled() -> Result:
    return replay(narrow(), SLICE, sample=0.1)


def test_cycles_are_within_the_stated_bound(whole: Result, sampled: Result) -> None:
    (row,) = sampled.kernels.to_dict("records")
    assert row["sampled"]
    assert row["grid_blocks"] == 164
    assert 32 <= row["replayed_blocks"] <= 54
    assert 0 < row["sample_error_pct"] <= 10
    assert 100 * abs(sampled.cycles - whole.cycles) <= row["sample_error_pct"] * whole.cycles


def test_what_each_block_does_is_carried_on_exactly(whole: Result, sampled: Result) -> None:
    ours, theirs = sampled.record.kernels[0], whole.record.kernels[0]
    for name in (
        "blocks",
        "warp_instructions",
        "l1_global_load_sectors",
        "l2_write_bytes",
        "dram_read_sectors",
    ):
        # The last block of the grid is not full, and every run of a sample has only full ones.
        assert ours.counts[INDEX[name]] == pytest.approx(theirs.counts[INDEX[name]], rel=0.02), name
    assert ours.counts[INDEX["blocks"]] == 164
    assert sum(ours.states) == ours.counts[INDEX["resident_warp_cycles"]]
    assert ours.launch_fs == theirs.launch_fs


def test_identities_are_those_of_the_runs_that_were_made(sampled: Result) -> None:
    assert len(sampled.sampling.parts) >= 4
    assert sampled.identities["holds"].all()
    for part in sampled.sampling.parts:
        assert identities.check(part.record, part.blocks) == []
        (trace,) = narrow()
        assert part.record.kernels[0].counts[INDEX["warp_instructions"]] < sum(tally(trace))
    longest = sampled.sampling.parts[-1]
    assert longest.blocks == (sampled.sampling.kernels[0].replayed_blocks,)


def test_nothing_is_sampled_unless_asked_for(whole: Result) -> None:
    assert not whole.sampling.extrapolated
    assert not whole.kernels["sampled"].any()
    assert list(whole.kernels["replayed_blocks"]) == [164]
    assert make_config({"workload.kernels": [{"name": "copy"}]}, "x")["sample"] is None


@pytest.mark.parametrize(
    ("traces", "reason"),
    [
        ([recorded(one) for one in from_spec("copy,megabytes=0.03125")], "a recording"),
        (from_spec("copy,megabytes=0.25"), "too few waves or periods of blocks"),
    ],
)
def test_a_kernel_that_cannot_be_sampled_is_replayed_whole(
    traces: Sequence[KernelTrace], reason: str
) -> None:
    sampled, whole = replay(traces, SLICE, sample=0.02), replay(traces, SLICE)
    assert [one.reason for one in sampled.sampling.kernels] == [reason]
    assert not sampled.kernels["sampled"].any()
    assert sampled.kernels["sample_error_pct"].sum() == 0
    ours, theirs = sampled.record.kernels[0], whole.record.kernels[0]
    assert (ours.start_fs, ours.end_fs, ours.counts) == (theirs.start_fs, theirs.end_fs, theirs.counts)


def test_a_tolerance_that_no_part_reaches_replays_the_grid(whole: Result) -> None:
    strict = replay(narrow(), SLICE, sample=1e-5)
    assert strict.sampling.kernels[0].replayed_blocks == 164
    assert strict.cycles == whole.cycles


def test_kernels_in_a_row_follow_each_other_as_in_a_whole_replay() -> None:
    whole, sampled = replay(narrow(2), SLICE), replay(narrow(2), SLICE, sample=0.1)
    for ours, theirs in zip(
        sampled.kernels.to_dict("records"), whole.kernels.to_dict("records"), strict=True
    ):
        assert ours["sampled"]
        assert 100 * abs(ours["cycles"] - theirs["cycles"]) <= ours["sample_error_pct"] * theirs["cycles"]
        assert ours["launch_cycles"] == pytest.approx(theirs["launch_cycles"], abs=1)
        # The second finds in L2 what the first has read, though most of the first did not run.
        assert ours["l2_hit_pct"] == pytest.approx(theirs["l2_hit_pct"], abs=1)


def test_a_sampled_result_is_saved_and_loaded_whole(sampled: Result, tmp_path: Path) -> None:
    loaded = Result.load(sampled.save(tmp_path))
    assert loaded.sampling == sampled.sampling
    assert loaded.kernels.equals(sampled.kernels)
    assert loaded.identities.equals(sampled.identities)


def test_summary_says_what_was_carried_on() -> None:
    kernel = dict(item.split("=") for item in NARROW.split(",")[1:])
    values = {"gpu": ["v100-sxm2-16gb"], "set": CARD, "sample": 0.1, "engine": "reference"}
    outcome = run(make_config({**values, "workload.kernels": [{"name": "stream", **kernel}]}, "x"), workers=1)
    said = outcome.summary["sampled"]
    assert (said["kernels"], said["of_kernels"], said["of_blocks"]) == (1, 1, 164)
    assert 0 < said["largest_error_pct"] <= 10
    assert outcome.summary["identities"]["violated"] == []
    assert "of long kernels only the first, within 10 %." in outcome.replayed[0]
    assert f"cycles within {said['largest_error_pct']:.2f} %." in outcome.replayed[-1]


def test_a_limit_of_seconds_leaves_out_what_it_did_not_reach() -> None:
    result = replay(narrow(2), SLICE, sample=0.1, max_seconds=1e-9)
    assert result.partial
    assert result.kernels.empty


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": 1.5}, "1.5 is no share between 0 and 1"),
        ({"sample": 0.1, "max_cycles": 100}, "a limit of cycles means nothing"),
        ({"sample": 0.1, "keep_requests": True}, "can't be kept"),
    ],
)
def test_what_a_sample_cannot_do_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(narrow(), SLICE, **options)  # type: ignore[arg-type]


def test_kernels_of_several_streams_are_refused() -> None:
    first, second = narrow(2)
    with pytest.raises(InputError, match="several streams"):
        replay([first, replace(second, stream=1)], SLICE, sample=0.1)


def test_progress_only_grows() -> None:
    shares: list[float] = []
    replay(narrow(2), SLICE, sample=0.1, progress=lambda share, _: shares.append(share))
    assert shares == sorted(shares)
