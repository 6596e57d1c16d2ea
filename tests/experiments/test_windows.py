"""Windows cut by hand: `workload.window` cuts a graph into pieces, `fusion: whole` makes each piece one
kernel.
"""

import pytest

from experiments.config import make_config
from experiments.run import cards_of
from experiments.workload import make_variant, parts_of
from hwmodels.errors import InputError

SHAPE = [1, 32, 16, 16]
CHAIN = [
    {"op": "Add", "inputs": [f"t{place}", f"s{place}"], "output": f"t{place + 1}", "shape": SHAPE}
    for place in range(5)
]
BASE = {"workload.operators": CHAIN, "gpu": ["v100-sxm2-16gb"], "set": {"gpu.scale": "1/16"}}


def kernels(variant: str, **values):
    config = make_config(
        {**BASE, **{key.replace("__", "."): value for key, value in values.items()}}, "c.yaml"
    )
    return make_variant(config, variant, cards_of(config)[0]).kernels


@pytest.mark.parametrize(
    ("size", "pieces"), [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (4, [4, 1]), (5, [5]), (9, [5])]
)
def test_each_piece_is_one_kernel_of_so_many_operators(size: int, pieces: list[int]) -> None:
    config = make_config({**BASE, "workload.window": size}, "c.yaml")
    assert [len(part.operators) for part in parts_of(config)] == pieces
    assert [len(kernel.operators) for kernel in kernels("whole", workload__window=size)] == pieces


def test_a_window_of_one_is_nothing_fused() -> None:
    """The same kernels as with `none`: what one writes, the next one reads at the same place."""

    def shapes(made):
        return [(kernel.name, kernel.grid, kernel.registers_per_thread, kernel.tensors) for kernel in made]

    alone, cut = kernels("none"), kernels("whole", workload__window=1)
    assert [shape[:3] for shape in shapes(alone)] == [shape[:3] for shape in shapes(cut)]
    for one, other in zip(alone, cut, strict=True):
        assert [tensor.base_address for tensor in one.tensors] == [
            tensor.base_address for tensor in other.tensors
        ]


def test_whole_fuses_under_a_cap_that_makes_it_spill() -> None:
    (kernel,) = kernels("whole", registers__cap=24)
    assert kernel.local_bytes_per_thread > 0


def test_what_can_not_be_one_kernel_is_one_error() -> None:
    item = {"op": "MatMul", "inputs": ["x", "w"], "output": "y", "shape": [64, 64]}
    product = item | {"input_shapes": {"x": [64, 64], "w": [64, 64]}}
    again = product | {"inputs": ["y", "v"], "output": "z", "input_shapes": {"v": [64, 64]}}
    with pytest.raises(InputError, match="n0 to n1 can't be one kernel"):
        kernels("whole", workload__operators=[product, again])
