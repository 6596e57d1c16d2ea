"""From a config to the kernels of a variant: what `workload.fold` changes."""

import pytest

from experiments.config import make_config
from experiments.workload import description, make_variant
from hwmodels import Gpu


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
