"""What a page simulates in place of the whole: how a card is cut, when it is, and that the page says so."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.config import make_config
from experiments.folder import read
from experiments.report.chain import recorded
from experiments.report.compared import COMPARED, compared
from experiments.report.demonstrations import whole
from experiments.report.graphs import behind
from experiments.report.share import batch_of, cut, shares
from experiments.report.windows import Windows, windows
from experiments.report.words import sentences
from experiments.run import cards_of
from experiments.workload import parts_of
from hwmodels import Gpu
from tests.experiments.report.conftest import OPERATORS, VALUES

BATCHED = [{**one, "shape": [16, *one["shape"][1:]]} for one in OPERATORS]


def setting(**values):
    config = make_config({**VALUES, **values}, "c.yaml")
    return config, parts_of(config), cards_of(config)[0]


def test_shares_get_smaller_by_card_and_batch_alike() -> None:
    config, parts, gpu = setting(set={}, **{"workload.batch": 32})
    found = list(shares(config, parts, gpu))
    assert found[0].gpu is gpu
    assert found[0].words == ""
    assert [one.config["workload.batch"] for one in found[1:]] == [16, 8, 4, 2, 1]
    assert [gpu.memory_partitions // one.gpu.memory_partitions for one in found[1:]] == [2, 4, 8, 16, 32]
    assert [one.gpu.sm_count for one in found[1:]] == [40, 20, 10, 5, 2]
    assert "5 of 80 SMs" in found[-2].words
    assert "a batch of 2 of 32" in found[-2].words
    shapes = {found[-2].parts[0].tensors[one].shape[0] for one in ("a", "b", "c")}
    assert shapes == {2}


def test_multiprocessors_are_rounded_where_they_do_not_divide() -> None:
    gpu = Gpu.from_card("a100-sxm-40gb")
    part = cut(gpu, 10)
    assert (part.sm_count, part.memory_partitions, part.l2.size_kib) == (11, 4, 4096)
    assert part.dram.bandwidth_gb_s == pytest.approx(gpu.dram.bandwidth_gb_s / 10)


def test_a_graph_without_a_batch_and_a_slice_have_only_the_whole() -> None:
    assert len(list(shares(*setting(set={})))) == 1
    sliced = setting(**{"workload.batch": 32})
    assert len(list(shares(*sliced))) == 1
    config, parts, _ = setting(**{"workload.operators": BATCHED})
    assert batch_of(config, parts) == 16


def test_what_takes_too_long_is_replayed_on_a_slice_and_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, parts, gpu = setting(set={}, **{"workload.batch": 16})
    monkeypatch.setattr("experiments.report.share.RATE", 150)
    made = windows(config, parts, gpu, 60)
    assert "5 of 80 SMs" in made["share"]
    assert made["left_out"] == 0
    assert sum("cycles" in row for row in made["windows"]) >= 4
    others = compared(config, parts, gpu, read(folder), 120)
    assert [one["variant"] for one in others["motions"]] == list(COMPARED)
    assert others["share"]
    document = {"windows": made, "others": others}
    assert not whole(document)
    said = sentences(document)
    assert made["share"] in said["windows"][0]
    assert others["share"] in said["merging"][0]


def test_runs_that_prove_too_slow_give_way_to_a_smaller_share(monkeypatch: pytest.MonkeyPatch) -> None:
    config, parts, gpu = setting(set={}, **{"workload.batch": 16})
    clock = [0.0]

    def rows(self, _config, one):
        clock[0] += one.work / 2  # far slower than estimated
        return [{"cap": one.cap, "first": one.first, "size": one.size}]

    monkeypatch.setattr("experiments.report.windows.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("experiments.report.chain.Chain.rows", rows)
    whole_work = Windows(next(shares(config, parts, gpu))).work
    made = windows(config, parts, gpu, whole_work / 2 * 0.9)
    assert "40 of 80 SMs" in made["share"]
    assert made["left_out"] == 0


def test_a_strategy_with_the_kernels_of_another_is_not_replayed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = behind(folder)
    monkeypatch.setattr("experiments.run.replay_variant", lambda *_: pytest.fail("replayed"))
    only = replace(found.config, values={**found.config.values, "workload.operators": OPERATORS[:3]})
    others = compared(only, tuple(parts_of(only)), cards_of(only)[0], read(folder), 60)
    assert [one["variant"] for one in others["motions"]] == ["horizontal", "vertical-then-horizontal"]
    assert (others["share"], others["left_out"]) == ("", [])


def test_what_is_recorded_of_the_chain_is_found(folder: Path) -> None:
    ends = recorded(read(folder), "v100-sxm2-16gb", ["n0", "n1", "n2"])
    assert [(one["variant"], one["launches"]) for one in ends] == [("none", 3), ("vertical", 1)]
    rows = read(folder)[1].kernels.to_dict("records")
    assert ends[1]["cycles"] == rows[0]["cycles"] + rows[0]["launch_cycles"]
    assert recorded(read(folder), "another", ["n0", "n1", "n2"]) == []


def test_more_time_makes_again_what_was_left_out(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "cards").mkdir()
    for path in [*folder.glob("*.*"), *folder.glob("cards/*")]:
        if path.name != "demonstrations.json" and path.is_file():
            (copy / path.relative_to(folder)).write_bytes(path.read_bytes())
    kept = copy / "demonstrations.json"
    assert main(["report", str(copy), "--max-seconds", "0.001"]) == 0
    assert json.loads(kept.read_text())["windows"]["left_out"] > 0
    assert main(["report", str(copy)]) == 0
    assert json.loads(kept.read_text())["windows"]["left_out"] == 0
