"""The shipped examples of a cap on registers show both directions that silicon shows: one that wins because
more warps fit, one that loses because spills take more than they give.
"""

from typing import Any

import pytest

from experiments.config import load_config
from experiments.run import run


def replayed(name: str, cap: int | None) -> dict[Any, Any]:
    """The one kernel's row of a shipped config under a cap."""
    config = load_config(name, {"registers.cap": cap})
    outcome = run(config, workers=1)
    rows = [row for result in outcome.results for row in result.kernels.to_dict("records")]
    assert len(rows) == 1
    return dict(rows[0])


@pytest.mark.parametrize("name", ["cap-wins", "cap-loses"])
def test_the_examples_sweep_the_cap(name: str) -> None:
    assert load_config(name)["sweep"] == {"registers.cap": [None, 32]}


def test_a_cap_wins_where_occupancy_decides() -> None:
    free, capped = (replayed("cap-wins", cap) for cap in (None, 32))
    assert free["registers_per_thread"] > 32 >= capped["registers_per_thread"]
    assert (free["blocks_per_sm"], capped["blocks_per_sm"]) == (12, 16)
    assert capped["local_bytes"] > 0 == free["local_bytes"]
    assert capped["achieved_occupancy_pct"] > 1.3 * free["achieved_occupancy_pct"]
    assert capped["cycles"] < 0.95 * free["cycles"]


def test_a_cap_loses_where_spills_decide() -> None:
    """A kernel that needs far more than 64 registers, in 32; shared memory keeps occupancy where it was."""
    free, capped = (replayed("cap-loses", cap) for cap in (None, 32))
    assert free["registers_per_thread"] >= 64
    assert capped["registers_per_thread"] <= 32
    assert free["blocks_per_sm"] == capped["blocks_per_sm"]
    assert capped["spill_bytes_per_thread"] > 4 * 32
    assert capped["local_bytes"] > 0 == free["local_bytes"]
    assert capped["cycles"] > 1.5 * free["cycles"]
