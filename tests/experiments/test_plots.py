"""Pictures: the right size, the same bytes twice, every bar's length from the tables, and nothing drawn
from nothing.
"""

import json
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from experiments.plots.bandwidth import bandwidth_figure
from experiments.plots.bars import Bar, positions
from experiments.plots.latency import latency_figure
from experiments.plots.limits import distinct, limits_figure, percent
from experiments.plots.occupancy import occupancy_figure
from experiments.plots.pictures import KINDS, draw, draw_all
from experiments.plots.roofline import points_of
from experiments.plots.stalls import stalls_figure
from experiments.plots.style import PHASE_COLOURS, STATE_COLOURS, new_figure, numbered, outline
from experiments.plots.timeline import timeline_figure
from experiments.plots.windows import windows_figure, windows_in
from experiments.plots.work import peak_per_second
from hwmodels import Gpu
from hwmodels.errors import InputError
from simulator.statistics.facts import CardFacts
from simulator.statistics.phases import PHASE_NAMES, STATE_NAMES
from simulator.statistics.result import Result


def test_colours_name_every_phase_and_state_in_order() -> None:
    assert tuple(PHASE_COLOURS) == PHASE_NAMES
    assert tuple(STATE_COLOURS) == STATE_NAMES
    assert len(set(PHASE_COLOURS.values())) == len(PHASE_NAMES)
    assert len(set(STATE_COLOURS.values())) == len(STATE_NAMES)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"occupancy-limits"}))
def test_a_png_of_1200_pixels_and_the_same_bytes_twice(
    tmp_path: Path, two_results: list[Result], kind: str
) -> None:
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    draw(kind, two_results, first)
    draw(kind, two_results, second)
    data = first.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width == 1_200
    assert 200 < height < 2_000
    assert data == second.read_bytes()


def widths(figure, panel: int = 0) -> list[float]:
    return [patch.get_width() for patch in figure.axes[panel].patches]


def test_latency_bars_sum_to_the_mean_latencies(two_results: list[Result]) -> None:
    figure = latency_figure(two_results)
    tables = [result.latency.query("operation != 'store'") for result in two_results]
    assert sum(widths(figure)) == pytest.approx(sum(table["mean_cycles"].sum() for table in tables))
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels[:2] == ["conv · global load (20)", "conv · shared load (10)"]


def test_stores_are_drawn_where_there_is_nothing_else(make_result: Callable[[str], Result]) -> None:
    result = make_result("none")
    result.latency = result.latency.query("operation == 'store'")
    assert sum(widths(latency_figure([result]))) == pytest.approx(10)


def test_stall_shares_are_100_each_and_totals_stand_beside(two_results: list[Result]) -> None:
    figure = stalls_figure(two_results)
    assert sum(widths(figure)) == pytest.approx(300)
    assert widths(figure, 1) == [32.0, 4.0, 32.0]
    assert figure.axes[1].get_xlabel() == "warp-cycles [thousand]"


def test_occupancy_steps_hold_the_intervals_and_name_the_limiters(two_results: list[Result]) -> None:
    figure = occupancy_figure(two_results)
    assert len(figure.axes) == 2
    values, edges, _ = figure.axes[0].patches[0].get_data()
    assert list(values) == [8.0, 8.0]
    assert list(edges) == pytest.approx([1.0, 2.0, 3.0])
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts[0] == "1  conv\n25 % by registers, achieved 12 %"
    assert texts[1] == "2  relu\n100 % by registers and warps, achieved 3 %"


def test_roofline_counts_a_fused_multiply_add_twice_on_each_lane(two_results: list[Result]) -> None:
    points, without = points_of(two_results[:1])
    (point,) = points
    # 800 FFMA of 32 lanes in 2,000 cycles of 1 ns; 64 sectors from DRAM.
    assert point.per_second == pytest.approx(800 * 64 / 2e-6)
    assert point.intensities["DRAM"] == pytest.approx(800 * 64 / (64 * 32))
    assert without == ["none: relu"]


def test_peaks_are_the_published_ones() -> None:
    """TFLOP/s. V100: 112 to 125 tensor, 28 to 31 half, 14 to 16 single, by clock; A100: 312 and 19.5."""
    published = {
        "v100-sxm2-16gb": {"tensor": (112, 126), "half": (28, 32), "single": (14, 16), "double": (7, 8)},
        "a100-sxm-40gb": {"tensor": (311, 313), "single": (19, 20), "double": (9, 20)},
    }
    for name, units in published.items():
        card = CardFacts.of(Gpu.from_card(name))
        for unit, (low, high) in units.items():
            assert low <= peak_per_second(card, unit) / 10**12 <= high, (name, unit)


def test_limits_are_the_occupancy_calculators(tmp_path: Path, two_results: list[Result]) -> None:
    gpu = Gpu.from_card("v100-sxm2-16gb")
    assert percent(gpu, (256, 96, 8_192)) == pytest.approx(25)
    assert percent(gpu, (256, 32, 0)) == pytest.approx(100)
    assert percent(gpu, (1024, 255, 0)) == 0
    cards = {"paper-gpu": gpu}
    with pytest.raises(InputError, match="cards of these results are missing"):
        draw("occupancy-limits", two_results, tmp_path / "x.png")
    for result in two_results:
        assert set(distinct([result])) <= {(256, 96, 8_192), (128, 32, 0)}
    figure = limits_figure(two_results, cards)
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in marks] == [96, 32]


def test_bandwidth_times_time_is_the_bytes(two_results: list[Result]) -> None:
    figure = bandwidth_figure(two_results[:1])
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "L2"]
    area_gb_us = np.trapezoid(line.get_ydata(), line.get_xdata())
    assert area_gb_us * 1_000 == pytest.approx(two_results[0].intervals["l2_bytes"].sum())


def test_an_outline_is_zero_in_a_gap() -> None:
    edges, stairs = outline(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 6.0]))
    assert list(zip(edges, stairs(np.array([3, 4, 5])), strict=True)) == [
        (0, 3),
        (1, 3),
        (1, 4),
        (2, 4),
        (2, 0),
        (5, 0),
        (5, 5),
        (6, 5),
    ]


def test_timeline_bars_are_the_kernels(two_results: list[Result]) -> None:
    figure = timeline_figure(two_results)
    bars = figure.axes[0].patches
    spans = [edge / 1e9 for one in two_results[0].record.kernels for edge in (one.start_fs, one.end_fs)]
    drawn = [edge for bar in bars for edge in (bar.get_x(), bar.get_x() + bar.get_width())]
    assert drawn == pytest.approx(spans)


def test_bars_keep_their_groups_apart() -> None:
    bars = [Bar("a", "1", {}), Bar("a", "2", {}), Bar("b", "3", {})]
    places, headings = positions(bars)
    assert [name for _, name in headings] == ["a", "b"]
    assert places == sorted(places)
    assert all(second - first >= 1 for first, second in pairwise(places))


def test_nothing_to_draw_says_so_and_removes_an_old_picture(
    tmp_path: Path, two_results: list[Result]
) -> None:
    draw_all(two_results, tmp_path)
    without_card = {"occupancy-limits"}
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == set(KINDS) - without_card
    for result in two_results:
        result.record.intervals = []
    bare = [result.named(result.variant) for result in two_results]
    with pytest.raises(InputError, match="have no intervals"):
        draw("occupancy", bare, tmp_path / "x.png")
    assert {path.stem for path in draw_all(bare, tmp_path)} == {"latency", "stalls", "roofline"}
    assert not (tmp_path / "plots" / "occupancy.png").exists()


def test_an_unknown_kind_names_the_nearest(two_results: list[Result], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'stalls'"):
        draw("stall", two_results, tmp_path / "x.png")


def test_windows_show_each_number_of_the_document(tmp_path: Path) -> None:
    rows = [
        {"cap": cap, "first": 0, "size": size, "cycles": 100 - 10 * size, "registers_per_thread": 20 * size}
        for cap in (None, 40)
        for size in (1, 2, 3)
    ]
    document = {
        "gpu": "g",
        "operators": [{"name": "a", "kind": "Add"}] * 3,
        "caps": [None, 40],
        "windows": [*rows[:2], *rows[3:], {"cap": None, "first": 1, "size": 2, "cycles": 1}],
        "marks": {"40": {"spills_from": None, "loses_from": 3}},
    }
    (tmp_path / "demonstrations.json").write_text(json.dumps({"windows": document}))
    figure = windows_figure(windows_in(tmp_path))
    registers, cycles = figure.axes[0], figure.axes[5]
    free, capped = (line.get_ydata() for line in registers.lines)
    assert list(capped) == [20, 40, 60]
    assert list(free[:2]) == [20, 40]
    assert np.isnan(free[2])
    assert [
        (line.get_xdata()[0], line.get_ydata()[0]) for line in cycles.lines if line.get_marker() == "X"
    ] == [(3, 70)]
    with pytest.raises(InputError, match="has no windows"):
        windows_in(tmp_path / "nowhere")


def test_numbers_that_would_cover_each_other_share_their_words() -> None:
    _, (axes,) = new_figure(4.0)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    numbered(axes, [(10, 10), (80, 80), (10.5, 10.2), (10, 90)])
    assert [text.get_text() for text in axes.texts] == ["1, 3", "2", "4"]
