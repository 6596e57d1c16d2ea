"""What a row asks for: the replay that measures it as it was measured, or the reason why there is none.

The reasons are a closed list. A request is plain data, so that it can be cached, compared, and sent to
another process.
"""

from __future__ import annotations

from dataclasses import dataclass

Value = int | float | str
Parameters = tuple[tuple[str, Value], ...]

OVERHEAD = "framework overhead"
SHAPE = "shape unknown"
FEATURE = "feature not modelled"
CLOCK = "clock unknown"
NO_CARD = "no such card"
NO_MEASUREMENT = "not a measurement"
NOT_REPLAYED = "not replayed"
"""No reason of a row's own: somebody asked for kept answers only."""
OWN_SPILLS = "spills of our own"
"""The method of a row whose number counts beside another one's only."""
REASONS = (OVERHEAD, SHAPE, FEATURE, CLOCK, NO_CARD, NO_MEASUREMENT)


@dataclass(frozen=True, slots=True)
class Request:
    """A replay by name with its parameters; the kind of number that it answers with (see `units.convert`);
    the group that its row belongs to beside the card: what is measured, and by which method.
    """

    replay: str
    parameters: Parameters
    kind: str
    family: str
    method: str = ""

    def get(self, name: str) -> Value:
        """One parameter."""
        return dict(self.parameters)[name]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a row has no replay: one of `REASONS`, and what is missing."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


def request(replay: str, kind: str, family: str, method: str = "", **parameters: Value) -> Request:
    """A request with its parameters in a fixed order."""
    return Request(replay, tuple(sorted(parameters.items())), kind, family, method)
