"""Timelines: spans of a track never cross, launches lead to kernels, counters hold the bytes of tables, the
fields that PyTorch's profiler writes are there, and the size is said before anything is written.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.timeline.blocks import PLACES, Window, chosen_sms, places
from experiments.timeline.document import timeline
from hwmodels import Gpu
from simulator import replay
from simulator.statistics.record import BlockRecord
from simulator.statistics.result import Result
from simulator.trace.kernels import from_spec

KINETO = {
    "External id",
    "queued",
    "device",
    "context",
    "stream",
    "correlation",
    "registers per thread",
    "shared memory",
    "blocks per SM",
    "warps per SM",
    "grid",
    "block",
    "est. achieved occupancy %",
}
"""Arguments of a kernel in the traces that torch.profiler exports."""


@pytest.fixture(scope="module")
def replayed() -> Result:
    gpu = Gpu.from_card("v100-sxm2-16gb").with_overrides({"scale": "1/16"})
    kernels = [*from_spec("kernel:copy,megabytes=0.0625"), *from_spec("kernel:copy,megabytes=0.03125")]
    return replay(kernels, gpu, "reference", interval_cycles=500, keep_blocks=1_000)


@pytest.fixture(scope="module")
def document(replayed: Result) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(timeline([replayed, replayed.named("again")], Window(sms=5)).text)
    return made


def spans(document: dict[str, Any], category: str = "") -> list[dict[str, Any]]:
    return [one for one in document["traceEvents"] if one["ph"] == "X" and category in {"", one["cat"]}]


def nanoseconds(event: dict[str, Any]) -> tuple[int, int]:
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def test_spans_of_a_track_lie_inside_or_beside_each_other(document: dict[str, Any]) -> None:
    tracks = defaultdict(list)
    for event in spans(document):
        tracks[event["pid"], event["tid"]].append(nanoseconds(event))
    assert len(tracks) > 10
    for own in tracks.values():
        open_until: list[int] = []
        for start, end in sorted(own, key=lambda one: (one[0], -one[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)


def test_every_kernel_is_a_span_with_the_profilers_fields_and_an_arrow_from_its_launch(
    document: dict[str, Any], replayed: Result
) -> None:
    kernels = spans(document, "kernel")
    assert len(kernels) == 2 * len(replayed.kernels)
    launches = {one["args"]["correlation"]: one for one in spans(document, "cuda_runtime")}
    arrows = defaultdict(dict)
    for event in document["traceEvents"]:
        if event["ph"] in {"s", "f"}:
            arrows[event["id"]][event["ph"]] = event
    for event in kernels:
        number = event["args"]["correlation"]
        assert set(event["args"]) >= KINETO
        launch, arrow = launches[number], arrows[number]
        assert arrow["s"]["ts"] == launch["ts"] <= arrow["f"]["ts"] == event["ts"]
        assert (arrow["s"]["pid"], arrow["s"]["tid"]) == (launch["pid"], launch["tid"])
        assert (arrow["f"]["pid"], arrow["f"]["tid"]) == (event["pid"], event["tid"])
        assert arrow["f"]["bp"] == "e"
    first = [event for event in kernels if event["pid"] == 0]
    assert [event["dur"] for event in first] == pytest.approx(
        [(one.end_fs - one.start_fs) / 10**9 for one in replayed.record.kernels], abs=0.001
    )


def test_blocks_lie_inside_their_kernel_and_all_of_them_are_there(
    document: dict[str, Any], replayed: Result
) -> None:
    own = [event for event in spans(document, "block") if event["pid"] == 500]
    assert len(own) == sum(header.grid_blocks for header in replayed.source.headers)
    times = {one["name"]: nanoseconds(one) for one in spans(document, "kernel") if one["pid"] == 0}
    for event in own:
        start, end = nanoseconds(event)
        begin, last = times[event["args"]["kernel"]]
        assert begin <= start < end <= last
        assert event["tid"] // PLACES == event["args"]["sm"]


def test_counters_times_their_interval_are_the_bytes_of_the_tables(
    document: dict[str, Any], replayed: Result
) -> None:
    samples = [one for one in document["traceEvents"] if one["ph"] == "C" and one["name"] == "DRAM GB/s"]
    own = sorted((one["ts"], sum(one["args"].values())) for one in samples if one["pid"] == 0)
    moved = sum((after[0] - one[0]) * 1000 * one[1] for one, after in pairwise(own))
    assert own[-1][1] == 0
    assert moved == pytest.approx(replayed.dram_bytes, rel=0.01)


def test_a_block_takes_the_lowest_free_place() -> None:
    blocks = [
        BlockRecord(0, index, 0, *times)
        for index, times in enumerate([(0, 5), (0, 9), (5, 8), (6, 7), (8, 9)])
    ]
    assert [(block.index, place) for place, block in places(blocks)] == [
        (0, 0),
        (1, 1),
        (2, 0),
        (3, 2),
        (4, 0),
    ]


def test_chosen_sms_are_spread() -> None:
    assert chosen_sms(80, 4) == [0, 20, 40, 60]
    assert chosen_sms(2, 4) == [0, 1]
    assert chosen_sms(5, 0) == []


def test_a_window_leaves_out_blocks_that_begin_outside(replayed: Result) -> None:
    cut = replayed.source.edge(replayed.record.kernels[1].start_fs)
    shown = spans(json.loads(timeline([replayed], Window(5, cut, None)).text), "block")
    assert {one["args"]["kernel"] for one in shown} == {"copy #2"}
    shown = spans(json.loads(timeline([replayed], Window(5, 0, cut)).text), "block")
    assert {one["args"]["kernel"] for one in shown} == {"copy"}


def test_streams_side_by_side_have_tracks_of_their_own(make_result: Callable[[str], Result]) -> None:
    document = json.loads(timeline([make_result("none"), make_result("vertical")]).text)
    assert {event["args"]["stream"] for event in spans(document, "kernel")} == {7, 107}
    operators = [event["name"] for event in spans(document, "cpu_op") if event["pid"] == 1_000]
    assert operators == ["n0 + n1", "n2"]


def test_too_many_blocks_are_thinned_and_counted(replayed: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.timeline.document.MOST_BLOCK_SPANS", 10)
    made = timeline([replayed], Window(sms=5))
    total = sum(header.grid_blocks for header in replayed.source.headers)
    assert made.blocks <= 10
    assert made.blocks + made.blocks_left_out == total
    assert f"{made.blocks_left_out} more left out" in made.size


def test_the_command_says_the_size_and_an_old_timeline_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "replay",
        "kernel:copy,megabytes=0.0078125",
        "--gpu",
        "v100-sxm2-16gb",
        "--set",
        "gpu.scale=1/16",
    ]
    assert main([*words, "--out", str(tmp_path / "out"), "--timeline", "--timeline-blocks", "1"]) == 0
    assert "timeline.json: 0." in capsys.readouterr().err
    assert len(spans(json.loads((tmp_path / "out" / "timeline.json").read_text()), "block")) == 1
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert not (tmp_path / "out" / "timeline.json").exists()
    assert main([*words, "--timeline"]) == 2
    assert "give --out DIR too" in capsys.readouterr().err
    assert main([*words, "--out", str(tmp_path / "out"), "--timeline-blocks", "3"]) == 2


@pytest.mark.slow
def test_holistic_trace_analysis_reads_the_same_times(replayed: Result, tmp_path: Path) -> None:
    """HTA's own breakdown of busy and idle time is the simulation's."""
    analysis = pytest.importorskip("hta.trace_analysis", reason="install the extra `hta`")
    path = tmp_path / "timeline.json"
    timeline([replayed]).write(path)
    found = analysis.TraceAnalysis(trace_files={0: str(path)})
    row = found.get_temporal_breakdown(visualize=False).iloc[0]
    busy_us = sum(one.end_fs - one.start_fs for one in replayed.record.kernels) / 10**9
    assert row["compute_time(us)"] == pytest.approx(busy_us, abs=2)
    _, kernels = found.get_gpu_kernel_breakdown(visualize=False)
    assert set(kernels["name"]) >= {"copy"}
