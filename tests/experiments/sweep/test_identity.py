"""The key of a result follows everything that decides it, and nothing else."""

from pathlib import Path

import pytest

from experiments.config import Config, make_config
from experiments.keys import KEYS
from experiments.sweep import identity
from experiments.sweep.identity import key_of
from hwmodels import Gpu
from hwmodels.gpu import LABELS, gpu_keys

CARD = Gpu.from_card("v100-sxm2-16gb").scaled("1/16")
BASE = {"workload.kernels": [{"name": "copy", "megabytes": 1}]}
OTHER = {
    "set": {"gpu.sm_count": 40}, "workload.kernels": [{"name": "copy", "megabytes": 2}], "workload.batch": 3,
    "workload.dtype": "float32", "workload.fold": "batch_norm", "workload.rounding": "operator",
    "workload.l2_state": "warm",
    "registers.cap": 40, "launch": "graph", "intervals.cycles": 5, "engine": "reference", "sample": 0.02,
}  # fmt: skip
OUTSIDE = {
    "name": "other",
    "gpu": ["h100-sxm"],
    "set": {"gpu.sm_count": 40},
    "fusion": ["vertical"],
    "sweep": {"launch": ["graph"]},
    "threads": 2,
}
"""Labels, and what reaches the key by the card and the variant that are given beside the config."""


def key(values, gpu=CARD, variant="none") -> str:
    return key_of(make_config({**BASE, **values}, "c.yaml"), gpu, variant)


def test_each_key_that_reaches_a_replay_changes_it() -> None:
    keys = [key({name: value}) for name, value in OTHER.items() if name != "set"]
    assert len({key({}), *keys}) == len(keys) + 1
    for name, value in OUTSIDE.items():
        assert key({name: value}) == key({}), name


def test_a_key_that_somebody_adds_to_configs_counts_by_itself(monkeypatch) -> None:
    monkeypatch.setitem(KEYS, "fusion.depth", KEYS["workload.batch"])
    assert key({"fusion.depth": 2}) != key({"fusion.depth": 3})


def test_card_and_variant_change_it_and_the_name_of_the_card_does_not() -> None:
    assert key({}, CARD.with_overrides({"gpu.l2.size_kib": 3072})) != key({})
    assert key({}, variant="vertical") != key({})
    assert key({}, CARD.with_overrides({"gpu.name": "mine"})) == key({})


def test_every_number_of_a_card_is_in_its_digest() -> None:
    """A sample of kinds of number: whole, list, word."""
    changes = {
        "gpu.clock_mhz": 1000,
        "gpu.dram.timing.trcdrd_ns": 30.0,
        "gpu.launch.stream_gap_ns": 5000,
        "gpu.sm.scheduler": "lrr",
    }
    known = {f"gpu.{name}" for name in gpu_keys()}
    used = {name: value for name, value in changes.items() if name in known}
    assert len(used) >= 3
    assert len({CARD.with_overrides({name: value}).digest() for name, value in used.items()}) == len(used)
    assert "name" in LABELS


@pytest.mark.parametrize("kind", ["workload.traces", "workload.onnx"])
def test_the_content_of_a_file_counts_and_its_place_does_not(kind: str, tmp_path: Path) -> None:
    def own(path: Path) -> str:
        value = [str(path)] if kind == "workload.traces" else str(path)
        return key_of(make_config({kind: value}, "c.yaml"), CARD, "none")

    suffix = ".trace.npz" if kind == "workload.traces" else ".onnx"
    (tmp_path / "far").mkdir()
    first, second = tmp_path / f"a{suffix}", tmp_path / "far" / f"b{suffix}"
    first.write_bytes(b"one")
    second.write_bytes(b"one")
    before = own(first)
    assert own(second) == before
    first.write_bytes(b"two!")
    assert own(first) != before
    first.write_bytes(b"one")
    assert own(first) == before
    first.unlink()
    assert own(first) != before


def test_the_kernels_of_a_traced_run_count(tmp_path: Path) -> None:
    listed = tmp_path / "kernelslist.g"
    listed.write_text("kernel-1.traceg\n")
    kernel = tmp_path / "kernel-1.traceg"
    kernel.write_text("one")
    config = make_config({"workload.traces": [str(listed)]}, "c.yaml")
    before = key_of(config, CARD, "as-given")
    kernel.write_text("other")
    assert key_of(config, CARD, "as-given") != before


def test_another_version_of_the_program_has_other_keys(monkeypatch, tmp_path: Path) -> None:
    before = key({})
    (tmp_path / "simulator").mkdir()
    (tmp_path / "simulator" / "rule.py").write_text("x = 1\n")
    monkeypatch.setattr("simulator.sources.ROOT", tmp_path)
    identity.model_version.cache_clear()
    try:
        changed = key({})
    finally:
        monkeypatch.undo()
        identity.model_version.cache_clear()
    assert changed != before
    assert key({}) == before


def test_the_key_does_not_depend_on_the_order_of_keys() -> None:
    config = make_config(BASE, "c.yaml")
    turned = Config(dict(reversed(config.values.items())), "elsewhere.yaml")
    assert key_of(turned, CARD, "none") == key_of(config, CARD, "none")
