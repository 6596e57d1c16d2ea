"""The page and its data: sums are those of the tables, windows are what a replay of them gives, strangers'
names stay words, and nothing points outside the file.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from experiments.cli import main
from experiments.config import load_config
from experiments.folder import read
from experiments.report import demonstrations as module
from experiments.report.chain import Chain, chain_of
from experiments.report.graphs import behind, drawing
from experiments.report.images import renamed
from experiments.report.motion import LINKS, MOST_STEPS, motion
from experiments.report.page import embedded, page
from experiments.report.tables import cell, table_of
from experiments.report.windows import marks_of
from experiments.run import cards_of
from experiments.workload import parts_of
from simulator.statistics.result import Result
from tests.experiments.report.conftest import HOSTILE, OPERATORS


class Addresses(HTMLParser):
    """Everything that a browser would fetch or follow, and whether tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in {"src", "href", "action", "data", "srcset"}]
        if tag not in {"meta", "link", "img", "br", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes seconds and other tests look at it."""
    monkeypatch.setattr("experiments.report.page.images", lambda *_: [])


def data_of(text: str) -> dict:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def test_nothing_points_outside_and_tags_are_closed(report: Path) -> None:
    parser = Addresses()
    parser.feed(report.read_text(encoding="utf-8"))
    assert parser.open == []
    assert all(address.startswith(("#", "data:")) for address in parser.found)
    ids = set(re.findall(r'\bid="([^"]+)"', report.read_text(encoding="utf-8")))
    assert {address[1:] for address in parser.found if address.startswith("#")} <= ids


def test_motion_holds_the_bytes_of_the_tables(folder: Path, report: Path) -> None:
    motions = data_of(report.read_text(encoding="utf-8"))["motions"]
    results = read(folder)
    assert [one["variant"] for one in motions] == [result.variant for result in results]
    for shown, result in zip(motions, results, strict=True):
        traffic = result.traffic.groupby(["level", "operation"])["bytes"].sum()
        assert sum(shown["links"]["dram_to_l2"]) == traffic["dram", "read"]
        assert sum(shown["links"]["l2_to_dram"]) == traffic.get(("dram", "write"), 0)
        assert sum(shown["links"]["l2_to_l1"]) == traffic["crossbar", "reply"]
        assert sum(shown["links"]["l1_to_registers"]) == traffic["l1", "global_load"]
        accesses, spent = sum(shown["sums"]["access_count"]), sum(shown["sums"]["access_fs"])
        assert spent / accesses / shown["sm_period_fs"] == pytest.approx(result.mean_access_latency_cycles)
        assert shown["end_us"] == result.time_us


def test_joined_steps_lose_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = read(folder)[0]
    whole = motion(result)
    monkeypatch.setattr("experiments.report.motion.MOST_STEPS", 5)
    few = motion(result)
    assert len(few["starts_us"]) <= 5 < len(whole["starts_us"]) <= MOST_STEPS
    for name in LINKS:
        assert sum(few["links"][name]) == sum(whole["links"][name])
    assert (few["starts_us"][0], few["ends_us"][-1]) == (whole["starts_us"][0], whole["ends_us"][-1])


def test_without_intervals_a_kernel_is_a_step(folder: Path) -> None:
    result = read(folder)[0]
    result.record.intervals = []
    bare = motion(Result(result.record, result.source.headers, result.card, "none"))
    assert len(bare["starts_us"]) == len(result.record.kernels)
    assert sum(bare["links"]["dram_to_l2"]) == int(result.kernels["dram_read_bytes"].sum())


def test_windows_are_what_a_replay_gives(folder: Path, report: Path) -> None:
    document = data_of(report.read_text(encoding="utf-8"))["windows"]
    assert [one["kind"] for one in document["operators"]] == ["Relu", "Sigmoid", "Add"]
    assert document["left_out"] == 0
    whole = {(row["cap"], row["first"], row["size"]): row for row in document["windows"]}
    possible = sum(row["size"] == 1 and "cycles" in row for row in document["windows"]) // 3
    assert len(whole) == len(document["caps"]) * 4 + 2 * possible
    alone = [whole[None, first, 1] for first in range(3)]
    assert len({row["cycles"] for row in alone}) == 1
    assert sum(row["window_cycles"] for row in alone) < alone[0]["cycles"]
    rows = [whole[None, 0, length] for length in (1, 2, 3)]
    assert [row["launches"] for row in rows] == [3, 2, 1]
    assert rows[0]["dram_bytes"] > rows[2]["dram_bytes"]
    assert rows[0]["cycles"] > rows[1]["cycles"] > rows[2]["cycles"]
    # The fused chain is the first kernel of the variant `vertical`, which also begins with a cold L2.
    fused = next(one for one in read(folder) if one.variant == "vertical").kernels.iloc[0]
    assert rows[2]["registers_per_thread"] == fused["registers_per_thread"]
    assert rows[2]["window_cycles"] == fused["cycles"]


def test_marks_stand_where_spilling_and_losing_begin() -> None:
    def row(size: int, cycles: int, spilled: int, first: int = 0) -> dict:
        return {"size": size, "first": first, "cycles": cycles, "spill_bytes_per_thread": spilled}

    rows = [
        row(1, 90, 0),
        row(2, 60, 0),
        row(3, 50, 4),
        row(4, 55, 8),
        row(5, 70, 40),
        row(2, 1, 99, first=1),
    ]
    assert marks_of(rows) == {"spills_from": 3, "loses_from": 4}
    assert marks_of(rows[:2]) == {"spills_from": None, "loses_from": None}
    assert marks_of([{"size": 1, "first": 0, "why_not": "no"}]) == {"spills_from": None, "loses_from": None}


def test_a_drawing_has_every_operator_in_a_place_of_its_own(folder: Path) -> None:
    shown = drawing(behind(folder).parts)
    places = [(node["column"], node["row"]) for node in shown["nodes"]]
    assert len(set(places)) == len(places) == len(OPERATORS)
    columns = {node["name"]: node["column"] for node in shown["nodes"]}
    assert all(columns[one] < columns[other] for one, other in shown["edges"])
    assert len(shown["edges"]) == 2


def test_a_second_report_simulates_nothing(
    folder: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(module, "windows", refuse)
    assert page(folder, 60) == report.read_text(encoding="utf-8")


@pytest.mark.usefixtures("without_pictures")
def test_demonstrations_of_something_else_are_not_taken(folder: Path, report: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (other / path.name).write_bytes(path.read_bytes())
    config = (other / "config.yaml").read_text().replace("cold", "warm")
    (other / "config.yaml").write_text(config)
    (other / "cards").mkdir()
    for path in (folder / "cards").iterdir():
        (other / "cards" / path.name).write_bytes(path.read_bytes())
    assert data_of(page(other, 0))["windows"] is None
    (other / "config.yaml").unlink()
    text = page(other, 0)
    assert "The folder has no config.yaml" in text


@pytest.mark.usefixtures("without_pictures")
def test_names_of_strangers_stay_words(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    raw = json.loads((tmp_path / "raw.json").read_text())
    summary = json.loads((tmp_path / "summary.json").read_text())
    name = raw["results"][0]["headers"][0]["name"]
    for document, file in ((raw, "raw.json"), (summary, "summary.json")):
        text = json.dumps(document).replace(json.dumps(name)[1:-1], json.dumps(HOSTILE)[1:-1])
        (tmp_path / file).write_text(text)
    summary["name"] = HOSTILE
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    text = page(tmp_path, 0)
    assert "<img src=x" not in text
    parser = Addresses()
    parser.feed(text)
    assert any(HOSTILE in words for words in parser.texts)
    assert data_of(text)["motions"][0]["labels"][0].startswith(HOSTILE[:20])


def test_parts_of_a_picture_are_numbered() -> None:
    picture = '<a id="p0123456789"/><b href="#p0123456789"/><c id="mabcdefabcd" x="m0"/>'
    assert renamed(picture) == '<a id="part0"/><b href="#part0"/><c id="part1" x="m0"/>'


def test_embedded_data_hold_no_mark_up() -> None:
    text = embedded({"a": "</script><script>&", "b": float("nan")})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": "</script><script>&", "b": None}


def test_cells_read_well_and_sort_by_value() -> None:
    assert cell(1234567).text == "1,234,567"
    assert (cell(0.123456).text, cell(0.123456).value) == ("0.12", "0.123456")
    assert (cell(float("nan")).text, cell(float("nan")).value) == ("–", "")
    assert cell(True).text == "yes"
    assert "L1TEX" in cell("long_scoreboard").sentence
    made = table_of("t", "T", pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    assert [column.numeric for column in made.columns] == [True, False]


@pytest.mark.usefixtures("without_pictures")
def test_the_command_says_what_is_wrong(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert main(["report", str(folder), "--out", str(tmp_path / "x.pdf")]) == 2
    assert main(["report", str(folder), "--max-seconds", "-1"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 3
    (tmp_path / "summary.json").write_text("{")
    (tmp_path / "raw.json").write_bytes((folder / "raw.json").read_bytes())
    assert main(["report", str(tmp_path)]) == 2
    assert "summary.json: not valid JSON" in capsys.readouterr().err
    assert main(["report", str(folder), "--no-simulation", "--json", "--out", str(tmp_path / "x.html")]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(tmp_path / "x.html")}


@pytest.mark.usefixtures("without_pictures")
def test_a_report_of_named_kernels_has_no_graph(tmp_path: Path) -> None:
    words = [
        "replay",
        "kernel:copy,megabytes=0.0078125",
        "--gpu",
        "v100-sxm2-16gb",
        "--set",
        "gpu.scale=1/16",
    ]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    text = page(tmp_path / "out", 60)
    assert "there is no graph of operators to fuse" in text
    assert data_of(text)["graph"] is None


def test_the_shipped_windows_spill_from_the_middle_on() -> None:
    """Registers grow with the window; under the cap of 7/8 short windows fit and long ones spill."""
    config = load_config("fusion-window")
    part, operators = chain_of(parts_of(config))
    chain = Chain(part, operators, cards_of(config)[0])
    assert len(operators) == 8
    free, cap, _ = chain.caps(config["registers.cap"])
    assert free is None
    kernels = {
        limit: [chain.traces(limit, operators[:size])[0] for size in range(1, 9)] for limit in (None, cap)
    }
    registers = [trace.registers_per_thread for trace in kernels[None]]
    assert registers[0] < registers[2] < registers[5]
    assert not any(trace.local_bytes_per_thread for trace in kernels[None])
    spilled = [trace.local_bytes_per_thread for trace in kernels[cap]]
    assert spilled[:3] == [0, 0, 0]
    assert spilled[5] > 0
    assert all(trace.registers_per_thread <= cap for trace in kernels[cap])
