"""Where the random cards and traces of the tests get their choices from: a seed, or hypothesis.

Both throw the same dice, so a generator is written once. A seeded die makes the same machine in every
session; a drawn one lets hypothesis shrink a failure towards the first and lowest choices.
"""

import random
from collections.abc import Sequence
from typing import Any, Protocol

from hypothesis import strategies as st


class Dice(Protocol):
    """What a generator may ask for."""

    def number(self, low: int, high: int) -> int: ...
    def choice(self, options: Sequence[Any]) -> Any: ...


class SeededDice:
    """The same throws for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def choice(self, options: Sequence[Any]) -> Any:
        return options[self.random.randrange(len(options))]


class DrawnDice:
    """Throws that hypothesis makes, keeps and shrinks."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def choice(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))
