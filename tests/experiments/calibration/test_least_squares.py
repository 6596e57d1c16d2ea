"""The fit against models whose answer is known: recovery, bounds, directions that nothing reacts to."""

import numpy as np
import pytest

from experiments.calibration.least_squares import fit, held_out, solve

MATRIX = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.5, 1.0, 0.0], [0.0, 3.0, 0.0]])
TRUE = np.array([40.0, 120.0, 7.0])


def residuals(values):
    """Sums of parts, as latencies are, against those of the true values."""
    return np.log((MATRIX @ values + 10) / (MATRIX @ TRUE + 10))


def test_recovers_the_values_that_made_the_rows():
    made = fit(residuals, [60, 80, 7], [10, 10, 1], [200, 400, 14], rounds=8)
    assert made.values[:2] == pytest.approx(TRUE[:2], abs=1)
    assert made.values[2] == 7  # no row reacts to it
    assert np.abs(made.after).max() < 0.01
    assert np.abs(made.before).max() > 0.2


def test_stays_inside_the_bounds():
    made = fit(residuals, [60, 80, 7], [50, 10, 1], [200, 100, 14], rounds=8)
    assert made.values[0] >= 50
    assert made.values[1] <= 100


def test_a_perfect_start_is_left_alone():
    made = fit(residuals, TRUE, [10, 10, 1], [200, 400, 14])
    assert np.array_equal(made.values, TRUE)
    assert made.rounds == 0


def test_the_step_solves_the_normal_equations():
    generator = np.random.default_rng(1)
    jacobian, offset = generator.normal(size=(20, 3)), generator.normal(size=20) * 0.01
    exact = np.linalg.lstsq(jacobian, -offset, rcond=None)[0]
    assert solve(jacobian, offset) == pytest.approx(exact, rel=0.02, abs=1e-4)


def test_a_family_that_nobody_else_tells_about_is_held_out_unfitted():
    """Two families that react to a parameter of their own each: leaving one out leaves it where it was."""
    jacobian = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    left = held_out(jacobian, np.array([0.1, 0.1, 0.2, 0.2]), ["a", "a", "b", "b"], 2)
    assert left == pytest.approx([0.1, 0.1, 0.2, 0.2])
    # One parameter for both: the others' fit carries over.
    shared = np.ones((4, 1))
    left = held_out(shared, np.array([0.1, 0.1, 0.2, 0.2]), ["a", "a", "b", "b"], 2)
    assert left == pytest.approx([-0.1, -0.1, 0.1, 0.1], abs=1e-3)
