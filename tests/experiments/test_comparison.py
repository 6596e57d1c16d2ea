"""Who wins and why: the sentence must follow the numbers, also when fusing loses or nothing differs."""

from dataclasses import replace

import pytest

from experiments.comparison import Totals, readable, totals_of, winner_of
from experiments.summary import summary_of
from experiments.table import (
    KERNEL_HEADINGS,
    VARIANT_HEADINGS,
    conscience,
    kernel_lines,
    variant_lines,
    verdict,
)
from simulator.statistics.phases import STATE_NAMES
from simulator.statistics.result import Result

STALLS = {"selected": 100_000, "long_scoreboard": 12_000_000, "barrier": 10_000}
ZERO = dict.fromkeys(STATE_NAMES, 0)
NONE = Totals(
    variant="none", kernels=3, kernels_not_begun=0, cycles=30_000, launch_cycles=6_000, time_us=36.0,
    kernel_time_us=30.0, dram_bytes=8_000_000, dirty_bytes_left=0, l2_read_bytes=9_000_000,
    warp_instructions=1_000, registers_per_thread=96, achieved_occupancy_pct=25.0,
    mean_access_latency_cycles=400.0, stalls={**ZERO, **STALLS}, partial=False,
    energy_uj=5.0,
)  # fmt: skip
FUSED = replace(
    NONE, variant="vertical", kernels=1, launch_cycles=2_000, time_us=22.0, kernel_time_us=20.0,
    dram_bytes=4_000_000, l2_read_bytes=6_000_000, registers_per_thread=128, achieved_occupancy_pct=20.0,
    stalls={**ZERO, **STALLS, "long_scoreboard": 3_000_000},
)  # fmt: skip


def test_the_sentence_holds_time_launches_bytes_stall_and_registers() -> None:
    winner, reason = winner_of([NONE, FUSED])
    assert winner == "vertical"
    assert reason == (
        "22.0 µs against the 36.0 µs of none (1.64×): 1 launch instead of 3, 10.0 µs less in kernels and "
        "4.0 µs less in launch gaps; DRAM traffic went from 8.00 MB to 4.00 MB; of the stalls "
        "long_scoreboard fell most, from 12 million to 3 million warp-cycles; at most 128 registers a thread "
        "against 96, achieved "
        "occupancy 20 % against 25 %"
    )


def test_fusing_can_lose() -> None:
    slow = replace(FUSED, time_us=40.0, kernel_time_us=38.0, stalls={**ZERO, "long_scoreboard": 60_000_000})
    winner, reason = winner_of([NONE, slow])
    assert winner == "none"
    assert reason.startswith(
        "36.0 µs against the 40.0 µs of vertical (1.11×): 3 launches instead of 1, 8.0 µs less in kernels"
    )
    assert "4.0 µs more in launch gaps" in reason
    assert "long_scoreboard fell most, from 60 million to 12 million" in reason


def test_the_same_time_is_called_the_same() -> None:
    winner, reason = winner_of([NONE, replace(NONE, variant="vertical", time_us=36.1)])
    assert (winner, reason) == ("none", "within 0.5 % of vertical, which counts as the same time")


def test_the_fastest_is_compared_with_none_and_not_with_the_second() -> None:
    best = replace(FUSED, variant="best", time_us=21.0)
    winner, reason = winner_of([NONE, FUSED, best])
    assert winner == "best"
    assert "the 36.0 µs of none" in reason


def test_nothing_is_claimed_from_a_partial_run_or_a_single_variant() -> None:
    assert winner_of([NONE]) == ("", "")
    winner, reason = winner_of([NONE, replace(FUSED, partial=True)])
    assert winner == ""
    assert "cut the replay short" in reason


def test_totals_are_the_sums_of_the_tables(two_results: list[Result]) -> None:
    totals = totals_of(two_results[0])
    assert (totals.kernels, totals.cycles, totals.launch_cycles) == (2, 3_000, 2_000)
    assert (totals.time_us, totals.kernel_time_us) == (5.0, 3.0)
    assert (totals.dram_bytes, totals.dirty_bytes_left, totals.l2_read_bytes) == (2_048, 1_024, 2_560)
    assert totals.stalls["long_scoreboard"] == 33_900
    assert totals.achieved_occupancy_pct == pytest.approx(
        (12.5 * 2_000 + 100 * 4_000 / 128_000 * 1_000) / 3_000
    )


def test_summary_has_what_the_interface_asks_for(two_results: list[Result]) -> None:
    summary = summary_of(two_results, {"name": "x"}, ["Replayed: a made-up run."], wall_seconds=2.5)
    card = summary["gpus"]["paper-gpu"]
    assert card["winner"] == "vertical"
    for key in ("cycles", "time_us", "dram_bytes", "speedup_vs_none", "mean_access_latency_cycles"):
        assert key in card["variants"]["none"]
    assert card["variants"]["none"]["speedup_vs_none"] == 1.0
    assert card["variants"]["vertical"]["speedup_vs_none"] == pytest.approx(5 / 3)
    assert summary["identities"]["violated"] == []
    assert summary["identities"]["checked"] > 100
    for key in (
        "engine",
        "versions",
        "digests",
        "wall_seconds",
        "warp_instructions_per_second",
        "peak_memory_mb",
    ):
        assert key in summary
    assert summary["warp_instructions_per_second"] == (900 + 800) / 2.5
    assert summary["cpu_seconds"] == 1.5 + 1.5
    assert "1,700 warp instructions in 2.5 s (680 a second; 3.0 CPU seconds in replays)" in conscience(
        summary
    )


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (7_710, "7,710"),
        (999_999, "999,999"),
        (70_712_345, "70.7 million"),
        (3_000_000, "3 million"),
        (1_234_567_890, "1,230 million"),
        (12_345_678_901_234, "12,300,000 million"),
    ],
)
def test_counts_are_said_as_a_person_says_them(number: int, words: str) -> None:
    assert readable(number) == words


def test_few_bytes_are_not_shown_as_none() -> None:
    small = replace(FUSED, dram_bytes=31_200, l2_read_bytes=9_000_000)
    assert "DRAM traffic went from 8.00 MB to 31.2 kB" in winner_of([NONE, small])[1]


def test_lines_for_people_fit_their_headings(two_results: list[Result]) -> None:
    card = summary_of(two_results, {"name": "x"}, [], 1.0)["gpus"]["paper-gpu"]
    lines = kernel_lines(two_results)
    assert [len(line) for line in lines] == [len(KERNEL_HEADINGS)] * 3
    assert lines[0][:4] == ("none", "conv", "2.0", "1.0")
    assert "long_scoreboard 94 %" in lines[0]
    assert [len(line) for line in variant_lines(card)] == [len(VARIANT_HEADINGS)] * 2
    assert verdict(card).startswith("Fastest: vertical, 3.0 µs against the 5.0 µs of none")


def test_a_resumed_run_has_no_rate(two_results: list[Result]) -> None:
    summary = summary_of(two_results, {"name": "x"}, [], 2.5, resumed=True)
    assert summary["warp_instructions_per_second"] is None
    assert "some of them before the checkpoint" in conscience(summary)
