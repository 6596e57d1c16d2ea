"""Bounded least squares of a few parameters by linear steps: Gauss-Newton with damping, for models whose
parameters are whole numbers.

Residuals are logarithms of ours over theirs, so that 10 % too high weighs as 10 % too low. Parameters are
counted in shares of their first value. A direction that no row reacts to is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Evaluate = Callable[[Vector], Vector]
Column = Callable[[Vector, int, float], Vector]
DAMPING = 1e-3
LARGEST_STEP = 0.5
PROBE_STEP = 0.15
INSENSITIVE = 1e-4
ENOUGH = 1e-3
HALVINGS = 3


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a fit has ended: the values, residuals before and after, and how each residual reacts to a share
    of each value.
    """

    values: Vector
    before: Vector
    after: Vector
    jacobian: Vector
    rounds: int


def fit(
    evaluate: Evaluate, start: Sequence[float], low: Sequence[float], high: Sequence[float], rounds: int = 4
) -> Fit:
    """Values between the bounds that make the residuals small."""
    scale = np.maximum(np.abs(np.asarray(start, dtype=float)), 1.0)
    values, least, most = (np.asarray(one, dtype=float) for one in (start, low, high))
    residuals = before = evaluate(values)
    jacobian = sensitivities(evaluate, values, residuals, scale, least, most)
    made = 0
    for _ in range(rounds):
        moved, new = _step(evaluate, values, residuals, jacobian, scale, least, most)
        if moved is None or new is None:
            break
        made += 1
        gain = 1 - float(new @ new) / max(float(residuals @ residuals), 1e-30)
        values, residuals = moved, new
        jacobian = sensitivities(evaluate, values, residuals, scale, least, most)
        if gain < ENOUGH:
            break
    return Fit(values, before, residuals, jacobian, made)


def sensitivities(
    evaluate: Evaluate, values: Vector, residuals: Vector, scale: Vector, low: Vector, high: Vector
) -> Vector:
    """Change of each residual for a change of each value by its own size; differences inside the bounds."""
    columns = []
    for place in range(len(values)):
        step = max(1.0, round(PROBE_STEP * scale[place]))
        up = values[place] + step <= high[place] or values[place] - step < low[place]
        moved = values.copy()
        moved[place] = min(values[place] + step, high[place]) if up else values[place] - step
        share = (moved[place] - values[place]) / scale[place]
        columns.append((evaluate(moved) - residuals) / share if share else np.zeros_like(residuals))
    return np.stack(columns, axis=1) if columns else np.zeros((len(residuals), 0))


def solve(jacobian: Vector, residuals: Vector) -> Vector:
    """The damped linear step, in shares; 0 for what nothing reacts to."""
    count = jacobian.shape[1]
    active = np.abs(jacobian).max(axis=0, initial=0) > INSENSITIVE
    step = np.zeros(count)
    if not active.any():
        return step
    chosen = jacobian[:, active]
    normal = chosen.T @ chosen
    normal += DAMPING * np.diag(np.diag(normal)) + 1e-12 * np.eye(len(normal))
    step[active] = np.linalg.solve(normal, -chosen.T @ residuals)
    return np.clip(step, -LARGEST_STEP, LARGEST_STEP)


def _step(
    evaluate: Evaluate,
    values: Vector,
    residuals: Vector,
    jacobian: Vector,
    scale: Vector,
    low: Vector,
    high: Vector,
) -> tuple[Vector | None, Vector | None]:
    step = solve(jacobian, residuals)
    for _ in range(HALVINGS):
        moved: Vector = np.asarray(np.round(np.clip(values + step * scale, low, high)), dtype=np.float64)
        if np.array_equal(moved, values):
            break
        new = evaluate(moved)
        if float(new @ new) < float(residuals @ residuals):
            return moved, new
        step /= 2
    return None, None


def held_out(jacobian: Vector, residuals: Vector, families: Sequence[str], folds: int) -> Vector:
    """Residuals of each family when values are fitted to the others only, to first order around the fit."""
    names = sorted(set(families))
    fold_of = {name: number % folds for number, name in enumerate(names)}
    own = np.array([fold_of[name] for name in families])
    found = residuals.copy()
    for number in range(min(folds, len(names))):
        rest = own != number
        if not rest.any():
            continue
        step = solve(jacobian[rest], residuals[rest])
        found[~rest] = residuals[~rest] + jacobian[~rest] @ step
    return found
