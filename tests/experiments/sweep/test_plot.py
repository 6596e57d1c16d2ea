"""The picture of a sweep: which key goes where, what stands for a place, holes that stay holes."""

import itertools
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.plots.sweep import draw_sweep, sweep_figure
from experiments.plots.sweep_choice import FREE, LIMITED, SPILLS, as_number, panels_of, roles_of
from experiments.sweep.row import columns
from experiments.sweep.table import csv_of, read_sweep
from hwmodels.errors import InputError

SIZES, WINDOWS, CAPS = (32, 64, 128, 1024), (1, 2, 4), ("null", 32)


def row(number: int, chain: str, window: int, cap: object, size: int) -> dict:
    """Made-up: bigger windows are faster but need room; a cap costs time, and lets what is too big launch."""
    needs = window * 24
    hole = cap == "null" and needs > size
    spills = cap != "null" and window == 4
    numbers = {
        **dict.fromkeys(columns(), 0),
        "cycles": 4000 // window + 64_000 // size + (1500 if spills else 0),
        "time_us": 1.0,
        "spill_bytes_per_thread": 16 if spills else 0,
        "limiters": "registers" if size < 128 else "warps",
        "bound": "l2",
    }
    shown = dict.fromkeys(columns()) if hole else numbers
    return {
        "point": number,
        "workload.first": f"{chain}1",
        "workload.last": f"{chain}7",
        "workload.window": window,
        "registers.cap": cap,
        "gpu.register_file.size_kib": size,
        "gpu": "card",
        "variant": "whole",
        "status": "failed" if hole else "ok",
        "error": "can't launch" if hole else "",
        **shown,
        "speedup_vs_none": None,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    points = itertools.product(("light", "heavy"), WINDOWS, CAPS, SIZES)
    rows = [row(number, *point) for number, point in enumerate(points)]
    (tmp_path / "sweep.csv").write_text(csv_of(rows))
    return tmp_path


def test_keys_find_their_roles_by_kind_and_number(folder: Path) -> None:
    roles = roles_of(read_sweep(folder))
    assert roles.along == "gpu.register_file.size_kib"
    assert roles.lines == "workload.window"
    assert roles.panels == ("workload.first", "workload.last")
    assert roles.best_of == ("registers.cap",)


def test_the_fastest_of_what_is_left_over_stands_for_a_place(folder: Path) -> None:
    table = read_sweep(folder)
    panels = panels_of(table, roles_of(table))
    assert [panel.title for panel in panels] == ["light1 to light7", "heavy1 to heavy7"]
    panel = panels[0]
    assert panel.along == SIZES
    for place in panel.places.values():
        mine = table[
            (table["workload.first"] == "light1")
            & (table["workload.window"] == place.line)
            & (table["gpu.register_file.size_kib"] == place.along)
        ]
        assert place.cycles == mine["cycles"].min()
    # At 32 KiB the window of four launches only under the cap, where it spills: two are best there.
    small, large = panel.along[0], panel.along[-1]
    assert panel.places[4, small].regime == SPILLS
    assert panel.places[2, panel.along[1]].regime == LIMITED
    assert panel.places[2, large].regime == FREE
    best = {along: panel.best(along).line for along in panel.along}
    assert (best[small], best[large]) == (2, 4)


def test_a_place_without_any_replay_is_a_hole(folder: Path) -> None:
    text = (folder / "sweep.csv").read_text().splitlines()
    kept = [line for line in text if ",4,32,32," not in line]
    (folder / "sweep.csv").write_text("\n".join(kept) + "\n")
    table = read_sweep(folder)
    place = panels_of(table, roles_of(table))[0].places[4, table["gpu.register_file.size_kib"].min()]
    assert place.row is None
    assert place.cycles != place.cycles
    figure = sweep_figure(folder)
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert "hole" in texts


def test_the_picture_is_1200_pixels_wide_and_comes_by_the_command(folder: Path) -> None:
    path = folder / "p.png"
    assert main(["plot", str(folder), "--kind", "sweep", "--out", str(path)]) == 0
    width = int.from_bytes(path.read_bytes()[16:20], "big")
    assert width == 1200
    again = folder / "q.png"
    draw_sweep(folder, again)
    assert again.read_bytes() == path.read_bytes()


def test_a_sweep_of_words_only_is_one_error(tmp_path: Path) -> None:
    rows = [{**row(0, "light", 1, "null", 32), "launch": word} for word in ("stream", "graph")]
    for place, one in enumerate(rows):
        rows[place] = {
            "point": place,
            "launch": one.pop("launch"),
            **{k: v for k, v in one.items() if "." not in k and k != "point"},
        }
    (tmp_path / "sweep.csv").write_text(csv_of(rows))
    with pytest.raises(InputError, match="no swept key has numbers"):
        sweep_figure(tmp_path)


def test_shares_are_numbers() -> None:
    assert [as_number(value) for value in ("1/16", "32", 0.5, "graph", "1/0")] == [
        1 / 16,
        32.0,
        0.5,
        None,
        None,
    ]
