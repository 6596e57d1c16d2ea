"""From a config to the kernels of a variant: what `workload.fold` changes, and what no cache may change."""

from pathlib import Path

import pytest

from experiments.config import make_config
from experiments.workload import description, make_variant
from hwmodels import Gpu
from simulator.workload.layout import FIRST_ADDRESS


@pytest.mark.parametrize(
    ("fold", "kernels"), [("none", ["conv", "bn", "relu"]), ("batch_norm", ["conv", "relu"])]
)
def test_a_batch_norm_is_folded_when_asked(fold, kernels):
    gpu = Gpu.from_card("a100-sxm-40gb")
    settings = {"workload.onnx": "light_resnet50", "workload.first": "n0", "workload.last": "n2"}
    config = make_config({**settings, "workload.fold": fold}, "x")
    variant = make_variant(config, "none", gpu)
    assert [kernel.name.split(":")[0].split("_")[0] for kernel in variant.kernels] == kernels
    assert ("batch norms folded" in description(config, gpu)[0]) == (fold == "batch_norm")


def test_kept_prices_decide_no_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search makes candidates' kernels only where no earlier run has kept their prices."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings = {"workload.onnx": "light_resnet50", "workload.parts": [["n0", "n2"], ["n10", "n15"]]}
    config = make_config(settings, "x")
    gpu = Gpu.from_card("a100-sxm-40gb")
    for name in ("vertical", "horizontal", "vertical-then-horizontal"):
        first, second = (make_variant(config, name, gpu).kernels for _ in range(2))
        assert first == second
        assert min(one.base_address for one in first[0].tensors) == FIRST_ADDRESS
