"""A function over many things in as many processes as there are cores.

Workers are forked, so that what the function holds (graphs, kernels, closures) need not travel; where a
platform can't fork, the things are done one by one.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from simulator.processors import processors

Given = TypeVar("Given")
Made = TypeVar("Made")
_work: list[tuple[Callable[[Any], Any], Sequence[Any]]] = []
"""What forked workers find: the function and the things, the last one asked for."""


def side_by_side(
    function: Callable[[Given], Made], things: Sequence[Given], processes: int | None = None
) -> Iterator[Made]:
    """The function of each thing, in their order, each as soon as it and all before it are there."""
    count = min(processes or processors(), len(things))
    daemon = multiprocessing.current_process().daemon
    if count < 2 or daemon or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(function, things)
        return
    # The first is done here: what it loads or compiles, all workers then have from the start.
    yield function(things[0])
    things = things[1:]
    _work.append((function, things))
    try:
        with multiprocessing.get_context("fork").Pool(count, _begin) as pool:
            yield from pool.imap(_one, range(len(things)))
    finally:
        _work.pop()


def _begin() -> None:
    # The pool ends its workers by SIGTERM, and the terminal's interruption is for the parent: whatever the
    # parent does about signals, a worker must not.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(place: int) -> Any:
    function, things = _work[-1]
    return function(things[place])
