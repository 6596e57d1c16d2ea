"""Configs: what the interface shows is accepted, what is wrong is one line with the nearest valid choice."""

from pathlib import Path

import pytest
import yaml

from experiments.config import SHIPPED, Config, load_config, make_config
from experiments.keys import KEYS, SOURCES
from hwmodels.errors import InputError

FULL = """
name: resnet50-conv-bn-relu
gpu: [a100-sxm-40gb]
workload:
  onnx: light_resnet50
  first: n0
  last: n2
  batch: 32
  dtype: float16
  l2_state: cold
fusion: [none, vertical, horizontal, horizontal-then-vertical, vertical-then-horizontal, best]
registers: {cap: null}
launch: stream
intervals: {cycles: 10000}
engine: compiled
sample: null
sweep: {gpu.register_file.size_kib: [64, 128, 256, 512], registers.cap: [null, 32, 64]}
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return str(path)


def test_the_interface_example_is_accepted_whole(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, FULL))
    assert config["gpu"] == ("a100-sxm-40gb",)
    assert config.parts == (("n0", "n2"),)
    assert config["sweep"]["registers.cap"] == [None, 32, 64]
    assert config.source == "onnx"


def test_resolved_form_is_a_config_again(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, FULL))
    again = load_config(written(tmp_path, yaml.safe_dump(config.nested())))
    assert again.values == config.values


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_configs_are_sound_and_found_by_name(path: Path) -> None:
    assert load_config(path.stem).values == load_config(str(path)).values
    assert load_config(path.stem)["name"] == path.stem


def test_settings_go_to_the_config_and_to_the_card(tmp_path: Path) -> None:
    settings = {"workload.batch": 2, "gpu.scale": "1/4", "registers.cap": 32, "fusion": ["none"]}
    config = load_config(written(tmp_path, FULL), settings)
    assert (config["workload.batch"], config["registers.cap"], config["fusion"]) == (2, 32, ("none",))
    assert config["set"] == {"gpu.scale": "1/4"}


def test_every_key_can_be_set_and_shows_in_the_resolved_form() -> None:
    values = {
        "name": "other", "gpu": ["h100-sxm"], "set": {"gpu.scale": "1/4"}, "workload.onnx": "m.onnx",
        "workload.traces": ["a.npz"], "workload.operators": [{"op": "Relu"}],
        "workload.kernels": [{"name": "copy"}],
        "workload.first": "n1", "workload.last": "n3", "workload.parts": [["n0", "n2"]], "workload.batch": 7,
        "workload.window": 3,
        "workload.dtype": "float32", "workload.fold": "batch_norm", "workload.rounding": "operator",
        "workload.l2_state": "warm", "fusion": ["vertical"], "registers.cap": 40,
        "launch": "graph", "intervals.cycles": 5, "engine": "reference", "threads": 2, "sample": 0.02,
        "sweep": {"launch": ["graph"]},
    }  # fmt: skip
    assert set(values) == set(KEYS)
    for key, value in values.items():
        base = {} if key in SOURCES else {"workload.onnx": "light_resnet50"}
        plain = Config({**{name: one.default for name, one in KEYS.items()}, **base}, "x").nested()
        changed = make_config({**base, key: value}, "x").nested()
        assert changed != plain, key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("gpus: [x]", "unknown key 'gpus'; did you mean 'gpu'"),
        ("workload: {onnx: m, batches: 2}", "unknown key 'workload.batches'; did you mean 'workload.batch'"),
        ("workload: {onnx: m, batch: 0}", "0 is outside 1 to 65536 images; 1 is the nearest"),
        ("workload: {onnx: m, batch: true}", "'True' is not a whole number"),
        ("workload: {onnx: m, dtype: float15}", "unknown choice 'float15'; did you mean 'float16'"),
        ("workload: {onnx: m}\nfusion: [vertica]", "unknown choice 'vertica'; did you mean 'vertical'"),
        ("workload: {onnx: m}\nfusion: [none, none]", "'none' stands twice"),
        ("workload: {onnx: m}\nfusion: []", "a list of 0"),
        ("workload: {onnx: m}\nengine: compild", "did you mean 'compiled'"),
        (
            "workload: {onnx: m}\nregisters: {cap: 300}",
            "300 is outside 16 to 255 registers; 255 is the nearest",
        ),
        ("workload: {onnx: m}\nsample: 2", "'2' is no share between 0 and 1; such as 0.02 for 2 %"),
        ("workload: {onnx: m}\nset: {l2.size_kib: 4}", "not a key of the card; did you mean gpu.l2.size_kib"),
        ("workload: {onnx: m}\nset: 4", "not a mapping"),
        ("workload: {onnx: m}\nsweep: {launch: graph}", "not a mapping of keys to lists"),
        ("workload: {onnx: m, parts: [n0, n2]}", "not a list of [first, last]"),
        ("workload: {onnx: m, first: n0, parts: [[n0, n2]]}", "stands beside first or last"),
        ("workload: {onnx: m, traces: [a]}", "workload.onnx beside workload.traces; give exactly one"),
        ("workload: {kernels: [{name: copy}], first: n0}", "has no nodes to choose from"),
        ("workload: {kernels: copy}", "not a list of mappings"),
        ("name: x", "no workload; give exactly one of workload.onnx"),
        ("name: ../../etc", "not of the right form"),
        ("- a", "not a mapping"),
        ("name: &a x\ngpu: *a", "anchors and aliases"),
        ("name: !!python/object:os.system x", "tag"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config(written(tmp_path, change))
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert "config.yaml" in text
    assert caught.value.exit_code == 2


def test_a_setting_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"--set workload.batsh: unknown key .*did you mean 'workload.batch'"
    ):
        load_config(written(tmp_path, FULL), {"workload.batsh": 2})


def test_a_config_that_does_not_exist_names_the_nearest_shipped_one() -> None:
    with pytest.raises(InputError, match="did you mean 'resnet50-conv-bn-relu'"):
        load_config("resnet50-conv-bn-rel")


def test_trace_paths_are_relative_to_the_config(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "workload: {traces: [a.trace.npz, 'kernel:copy', 'kernel:copy']}"))
    assert config["workload.traces"] == (str(tmp_path / "a.trace.npz"), "kernel:copy", "kernel:copy")
