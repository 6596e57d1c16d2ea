"""Time and order: what makes the order of events a property of the machine and not of the program.

Time is an integer number of femtoseconds. A component is the unit of atomicity: it owns its state, counts
cycles of its own clock, and meets the others only through messages that take time. A message carries the key
(arrival time, source, sequence number of the source), and a tick consumes what has arrived in the order of
that key, so neither the order in which parts are built nor the order of simultaneous SimPy events can show in
a result. Nothing of the hardware is modelled here.

No message takes less than one window (the shortest link of the card), so whatever can reach a component
within a window has been sent before it began. A woken component therefore does all its ticks of the window at
once: the same ticks in the same order as one SimPy event each would do, with fewer events.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from typing import Any

import simpy

NEVER = 1 << 62
"""A time after every other one, in femtoseconds."""

Message = tuple[int, int, int, int, Any]
"""(arrival time in fs, source component, sequence number of the source, kind, payload)."""


class Bell(simpy.Event):
    """An event that may be booked many times; each ring resumes the process that waits on it.

    A SimPy event happens once, and a process can't wait cheaply for "the timer or a message, whichever is
    earlier". A bell may be booked again at an earlier time: the earlier ring resumes the process, the later
    one finds nothing to do.
    """

    def __init__(self, env: simpy.Environment) -> None:
        self._waiting: list[Any] = []
        super().__init__(env)
        self._ok = True
        self._value = None

    @property
    def callbacks(self) -> list[Any]:
        """The processes that wait now."""
        return self._waiting

    @callbacks.setter
    def callbacks(self, value: list[Any] | None) -> None:
        self._waiting = [] if value is None else value


class Clockwork:
    """The SimPy environment of one run, with the hooks that tests and limits need."""

    def __init__(self, window_fs: int, priority: Callable[[], int] | None = None) -> None:
        self.env = simpy.Environment()
        self.window_fs = window_fs
        self.stop_fs = NEVER
        # Tests pass a random priority here: shuffling simultaneous events must change nothing.
        self.priority = priority
        self.components: list[Component] = []

    def add(self, component: Component) -> None:
        """Start the process of a component."""
        self.components.append(component)
        self.env.process(component.life())

    def run(self, until_fs: int) -> None:
        """Do all that is due before `until_fs` and nothing after."""
        self.stop_fs = until_fs
        peek, step = self.env.peek, self.env.step
        while peek() < until_fs:
            step()

    def horizon(self, now_fs: int) -> int:
        """How far a component may go on alone from `now_fs`: to the end of the window, or to the stop."""
        return min((now_fs // self.window_fs + 1) * self.window_fs, self.stop_fs)

    @property
    def now_fs(self) -> int:
        """The time of the last tick of any component."""
        return max(component.ticked_fs for component in self.components)

    @property
    def next_fs(self) -> int:
        """The time of the next event; NEVER if nothing is booked."""
        following = self.env.peek()
        return NEVER if following == float("inf") else int(following)


class Component:
    """Base of every part: an inbox, a clock, and a process that is only "wait, then tick"."""

    def __init__(self, clockwork: Clockwork, ident: int, period_fs: int, name: str) -> None:
        self.clockwork = clockwork
        self.env = clockwork.env
        self.ident = ident
        self.period_fs = period_fs
        self.name = name
        self.sequence = 0
        self.inbox: list[Message] = []
        self.booked_fs = NEVER
        self.ticked_fs = 0
        self.bell = Bell(self.env)
        clockwork.add(self)

    def send(self, target: Component, now_fs: int, delay_fs: int, kind: int, payload: Any) -> None:
        """Hand a message to a link; it arrives at the receiver's first edge at or after `now_fs +
        delay_fs`.
        """
        period = target.period_fs
        arrival = -(-(now_fs + delay_fs) // period) * period
        self.sequence += 1
        heapq.heappush(target.inbox, (arrival, self.ident, self.sequence, kind, payload))
        if arrival < target.booked_fs:
            target.book(arrival)

    def book(self, time_fs: int) -> None:
        """Ask for a tick at `time_fs` unless an earlier one is booked, which will book again by itself."""
        if time_fs >= self.booked_fs:
            return
        self.booked_fs = time_fs
        now = self.env.now
        if self.clockwork.priority is None:
            self.env.schedule(self.bell, delay=time_fs - now)
        else:
            self.env.schedule(self.bell, self.clockwork.priority(), time_fs - now)  # type: ignore[arg-type]

    def life(self) -> Generator[Bell, None, None]:
        """The SimPy process: wait for the bell, tick up to the horizon, book the next tick."""
        while True:
            yield self.bell
            following = int(self.env.now)
            if following < self.booked_fs:
                continue  # a ring that an earlier tick has made pointless
            self.booked_fs = 0
            horizon = self.clockwork.horizon(following)
            inbox = self.inbox
            while following < horizon:
                self.ticked_fs = following
                following = self.tick(following)
                if inbox and inbox[0][0] < following:
                    following = inbox[0][0]
            self.booked_fs = NEVER
            if following < NEVER:
                self.book(following)

    def tick(self, now_fs: int) -> int:
        """Do everything that is due at `now_fs`; return the time of the next tick that is known, or NEVER."""
        raise TypeError(f"{type(self).__name__} has no tick, at {now_fs} fs")

    def waits_for(self) -> list[str]:
        """For the watchdog: one sentence for each piece of unfinished work, naming who holds what it
        needs.
        """
        return []
