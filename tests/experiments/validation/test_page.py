"""The accuracy page says what the command says, and the table beside it knows which cards were compared."""

import pytest

from experiments.validation import validity
from experiments.validation.judge import COVERED, Judged, against_groups, refused
from experiments.validation.measurements import PUBLISHED, Measurement, read_measurements
from experiments.validation.page import PAGE, figure, page, validated
from experiments.validation.request import SHAPE, Refusal, Request
from experiments.validation.run import ask, validate
from hwmodels import Gpu

QUICK = ("shared chase",)
"""Replays of milliseconds."""


def judged(theirs, ours, quantity="lat.l1_hit", card="v100-pcie-16gb"):
    row = Measurement("rows.csv:2", "V100 PCIe", quantity, theirs, "cycles", "", "", "high")
    return Judged(row, card, ("latency", "GV100", "FFMA, dependent"), ours, COVERED)


def test_page_holds_every_compared_row_and_its_error():
    rows = [judged(25.0, 28.0), judged(27.0, 28.0), judged(50.0, 28.0)]
    rows.append(refused(rows[0].row, "v100-pcie-16gb", Refusal(SHAPE, "no size")))
    text = page(against_groups(rows))
    assert "| V100 PCIe | `lat.l1_hit` | 28 | 25 | cycles | +12.0 |  |" in text
    assert "| V100 PCIe | `lat.l1_hit` | 28 | 50 | cycles | -44.0 | contradicts its group |" in text
    assert "| `lat.` | 4 | 2 | 1 | 0 | 1 | shape unknown 1 |" in text
    # Of the two that count the median is 26, and the mean of both errors is (12 + 3.7) / 2.
    assert "| latency | 1 | 7.7 | 7.7 | 7.7 | 7.7 | latency / GV100 / FFMA, dependent |" in text
    assert "mean 7.9 %" in text
    assert "`l2.access_latency_cycles`" not in text or "fitted" in text


def test_without_replaying_rows_wait(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows = [row for row in read_measurements([PUBLISHED]) if row.quantity == "lat.l1_hit"]
    made = validate(rows, ["v100-pcie-16gb"], replaying=False)
    assert {one.why for one in made} == {"not replayed"}
    assert "2 rows have a replay that was not made" in page(made)


def test_table_of_validated_cards():
    made = validated([judged(25.0, 28.0), judged(27.0, 28.0)])
    assert made["cards"] == {"v100-pcie-16gb": {"latency": 2}}
    assert made["operations"] == {"GV100": ["FFMA"]}


def test_a_run_outside_says_so(monkeypatch):
    monkeypatch.setattr(validity, "validated", lambda: {"cards": {"v100-pcie-16gb": {"latency": 2}}})
    assert validity.outside(Gpu.from_card("v100-pcie-16gb").scaled("1/16")) == []
    (text,) = validity.outside(Gpu.from_card("v100-sxm2-16gb"))
    assert "of its die was v100-pcie-16gb" in text
    (text,) = validity.outside(Gpu.from_card("h100-sxm"))
    assert "nor of another card with its die" in text


@pytest.mark.skipif(not PAGE.exists(), reason="the page was never made")
def test_the_shipped_page_has_the_numbers_of_today():
    """Rows that take milliseconds are replayed again; each must stand on the page as it comes out."""
    rows = read_measurements([PUBLISHED])
    asked = ask(rows)
    chosen = [one.row for one in asked if isinstance(one.wanted, Request) and one.wanted.replay in QUICK]
    assert len(chosen) >= 5
    text = PAGE.read_text(encoding="utf-8")
    for one in validate(chosen, processes=1):
        line = f"| {one.row.gpu} | `{one.row.quantity}` | {figure(one.ours)} | {figure(one.row.value)} |"
        assert line in text, line
