"""A card is put out of tune, the rows come from the model itself: the fit must find the numbers again."""

import json

import pytest

from experiments.calibration.calibrate import calibrate
from experiments.calibration.fitted_card import card_text, write_card
from experiments.calibration.parameters import PARAMETERS, ranges
from experiments.cli import main
from experiments.validation import machine
from experiments.validation.measurements import read_measurements
from experiments.validation.replays import answer
from experiments.validation.run import ask
from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.gpu import gpu_keys

CARD = "v100-pcie-16gb"
KEYS = ("shared_memory.access_latency_cycles", "l1.tag_latency_cycles")
ROWS = (
    ("lat.shared", "no conflict"),
    ("lat.shared", "p-chase p50"),
    ("lat.l1_hit", "random pointer chase, footprint 32 kB"),
)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """Tiny replays need no compiled engine, and no answers of other runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "ENGINE", "reference")
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def rows(quiet, tmp_path_factory):
    """What the shipped card answers, as a table of measurements."""
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    header = "gpu,quantity,value,unit,conditions,source,confidence\n"
    text = [f'{CARD},{name},1,cycles,"{how}",model,high\n' for name, how in ROWS]
    path.write_text(header + "".join(text))
    gpu = Gpu.from_card(CARD)
    answers = [answer(one.wanted, gpu) for one in ask(read_measurements([path]))]
    text = [line.replace(",1,cycles", f",{value},cycles") for line, value in zip(text, answers, strict=True)]
    path.write_text(header + "".join(text))
    return path


@pytest.fixture(scope="module")
def detuned(tmp_path_factory):
    """The card with two latencies that are wrong by half."""
    path = tmp_path_factory.mktemp("card") / "detuned.yaml"
    path.write_text(
        f"extends: {CARD}\nshared_memory:\n  access_latency_cycles: 7\nl1:\n  tag_latency_cycles: 14\n"
    )
    return path


@pytest.fixture(scope="module")
def made(rows, detuned):
    """The fit."""
    return calibrate(str(detuned), read_measurements([rows]), KEYS, processes=1)


def test_recovers_parameters_that_were_put_out_of_tune(made):
    assert made.rows == len(ROWS)
    true = {key: one.value for key, one in zip(KEYS, ranges(Gpu.from_card(CARD), KEYS), strict=True)}
    assert {one.key: one.after for one in made.parameters} == true
    assert made.mean_before_pct > 5
    assert made.mean_after_pct < 1
    assert all(one.sensitivity > 0.05 and one.rows for one in made.parameters)


def test_the_fitted_card_is_a_card(made, tmp_path):
    out = tmp_path / "fitted.yaml"
    write_card(out, made, ["rows.csv"])
    assert Gpu.from_card(str(out)).digest() == Gpu.from_card(CARD).digest()
    assert f"fit to rows.csv: {len(ROWS)} rows" in card_text(made, ["rows.csv"])


def test_command(made, rows, detuned, tmp_path, capsys):
    """The same fit by the command, from answers that are kept."""
    out = tmp_path / "fitted.yaml"
    options = [word for key in KEYS for word in ("--parameter", key)]
    command = ["calibrate", str(detuned), "--data", str(rows), "--out", str(out), "--jobs", "1", *options]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == made.document()
    assert Gpu.from_card(str(out)).digest() == Gpu.from_card(CARD).digest()


def test_rows_that_move_nothing_are_an_error(quiet, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "gpu,quantity,value,unit,conditions,source,confidence\nV100 PCIe,spec.sms,80,SM,,whitepaper,high\n"
    )
    with pytest.raises(InputError, match="no row of this card moves a parameter"):
        calibrate(CARD, read_measurements([path]), processes=1)


def test_parameters_are_keys_with_bounds_around_every_cards_value():
    assert {one.key for one in PARAMETERS} <= set(gpu_keys())
    for one in ranges(Gpu.from_card("a100-sxm-40gb")):
        assert one.low <= one.value <= one.high
    with pytest.raises(InputError, match="unknown parameter"):
        ranges(Gpu.from_card(CARD), ("l2.size",))
