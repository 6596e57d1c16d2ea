"""Progress of a long command, on standard error.

On a terminal one line is rewritten in place, a few times a second; elsewhere (a log file, CI) a line is
written at most every ten seconds. Nothing is shown for work that ends at once.
"""

import sys
import time
from types import TracebackType
from typing import Self

TERMINAL_INTERVAL_S = 0.25
LOG_INTERVAL_S = 10.0
LEAST_FRACTION = 0.02
"""Share of the work from which its rate says something."""


class Progress:
    """Shows how far a piece of work has come. Use as a context; call `update` as often as you like."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._terminal = sys.stderr.isatty()
        self._interval_s = TERMINAL_INTERVAL_S if self._terminal else LOG_INTERVAL_S
        self._began_s = self._shown_at_s = time.monotonic()
        self._shown = False

    def update(self, text: str, fraction: float | None = None) -> None:
        """Say where the work is; `fraction` of all of it, where that is known."""
        now_s = time.monotonic()
        if now_s - self._shown_at_s < self._interval_s:
            return
        self._shown_at_s = now_s
        self._shown = True
        share = "" if fraction is None else f" {100 * min(max(fraction, 0.0), 1.0):.0f} %"
        line = f"{self._title}:{share} {text}{time_left(now_s - self._began_s, fraction)}"
        print(
            f"\r\033[K{line[:100]}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
        )
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal and self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def time_left(passed_s: float, fraction: float | None) -> str:
    """How long it will take by the rate so far, with a comma before; nothing while that can't be said."""
    if fraction is None or not LEAST_FRACTION <= fraction < 1:
        return ""
    left_s = passed_s / fraction * (1 - fraction)
    if left_s < 90:
        return f", about {max(1, round(left_s))} s left"
    minutes = round(left_s / 60)
    return f", about {minutes} min left" if minutes < 90 else f", about {left_s / 3600:.1f} h left"
