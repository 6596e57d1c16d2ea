"""Units: closed forms from clock and number of SMs."""

import pytest

from experiments.validation.measurements import MEASURED, PUBLISHED, read_file
from experiments.validation.units import convert, is_known
from hwmodels import Gpu
from hwmodels.errors import InputError

GPU = Gpu.from_card("v100-pcie-16gb")  # 80 SMs at 1,380 MHz


@pytest.mark.parametrize(
    ("kind", "value", "unit", "expected"),
    [
        ("cycles", 138.0, "cycles", 138.0),
        ("cycles", 138.0, "ns", 100.0),
        ("seconds", 1e-6, "us", 1.0),
        ("seconds", 1e-6, "cycles", 1380.0),
        ("bytes/s", 1.38e9 * 64 * 80, "B/clk/SM", 64.0),
        ("bytes/s", 1.38e9 * 2048, "B/clk", 2048.0),
        ("bytes/s", 900e9, "GB/s", 900.0),
        ("bytes/s", 2.0**40, "GiB/s", 1024.0),
        ("bytes/s", 80 * 160e9, "GB/s/SM", 160.0),
        ("operations/s", 1.38e9 * 80 * 128, "flop/clk/SM", 128.0),
        ("operations/s", 1.38e9 * 80 * 1024, "FMA/clk/SM", 512.0),
        ("operations/s", 310e12, "TFLOPS", 310.0),
        ("share", 0.5, "%", 50.0),
        ("share", 1.8, "x", 1.8),
    ],
)
def test_closed_forms(kind, value, unit, expected):
    assert convert(kind, value, unit, GPU) == pytest.approx(expected)


def test_a_unit_of_another_quantity_is_refused():
    with pytest.raises(InputError, match="the unit GB/s does not fit"):
        convert("cycles", 1.0, "GB/s", GPU, "rows.csv:7")


def test_all_published_units_are_known():
    assert all(is_known(row.unit) for row in read_file(PUBLISHED) if row.quantity.startswith(MEASURED))
