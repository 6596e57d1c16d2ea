"""One line of a probe's answer: what was measured, in which unit, ours, and what was published for that card.

The published figure is the median over one die, quantity and method; where nothing was published the row
still stands, since a number that nobody measured on silicon is a prediction.
"""

from dataclasses import asdict, dataclass
from typing import Any

from experiments.probes.published import Published


@dataclass(frozen=True, slots=True)
class Row:
    """Ours beside published. `conditions` says how ours was measured, in the words of a person."""

    gpu: str
    quantity: str
    unit: str
    ours: float
    published: Published | None = None
    conditions: str = ""
    series: str = ""
    """The curve that the row is a point of, if it is one."""
    x: float | None = None
    """Its place on the curve: bytes, threads, ways, whatever the curve runs over."""

    @property
    def error_percent(self) -> float | None:
        """Ours less published over published."""
        if self.published is None:
            return None
        return 100 * (self.ours - self.published.value) / self.published.value

    def document(self) -> dict[str, Any]:
        """The row as plain values, for JSON."""
        return {**asdict(self), "error_percent": self.error_percent}
