"""Pictures: the right size, the same bytes twice, every bar's length from the tables, and nothing drawn
from nothing.
"""

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from experiments.plots.bars import Bar, positions
from experiments.plots.latency import latency_figure
from experiments.plots.occupancy import occupancy_figure
from experiments.plots.pictures import KINDS, draw, draw_all
from experiments.plots.stalls import stalls_figure
from experiments.plots.style import PHASE_COLOURS, STATE_COLOURS
from hwmodels.errors import InputError
from simulator.statistics.phases import PHASE_NAMES, STATE_NAMES
from simulator.statistics.result import Result


def test_colours_name_every_phase_and_state_in_order() -> None:
    assert tuple(PHASE_COLOURS) == PHASE_NAMES
    assert tuple(STATE_COLOURS) == STATE_NAMES
    assert len(set(PHASE_COLOURS.values())) == len(PHASE_NAMES)
    assert len(set(STATE_COLOURS.values())) == len(STATE_NAMES)


@pytest.mark.parametrize("kind", KINDS)
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
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == set(KINDS)
    for result in two_results:
        result.record.intervals = []
    bare = [result.named(result.variant) for result in two_results]
    with pytest.raises(InputError, match="have no intervals"):
        draw("occupancy", bare, tmp_path / "x.png")
    assert {path.stem for path in draw_all(bare, tmp_path)} == {"latency", "stalls"}
    assert not (tmp_path / "plots" / "occupancy.png").exists()


def test_an_unknown_kind_names_the_nearest(two_results: list[Result], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'stalls'"):
        draw("stall", two_results, tmp_path / "x.png")
