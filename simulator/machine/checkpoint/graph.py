"""Object graphs as plain numbers: how the reference engine's state is written down and put back.

A machine consists of *units* (SM, L1, slice, …), which the constructor builds, and of *records* (warps,
requests, packets, …) that come and go. Units are found by the way that leads to them from the components, so
a fresh machine has the same ones; their fields are overwritten. Records are made anew from a closed list of
declared types. What never changes (card, programs, traces) is not written but found again. Nothing in a
checkpoint names code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from hwmodels.errors import ResultError
from simulator.machine import messages, state, state_crossbar, state_dram, state_l2
from simulator.machine.order import Bell, Clockwork
from simulator.machine.program import Decoded, Program
from simulator.statistics import record
from simulator.trace.cursor import WarpCursor
from simulator.trace.schema import KernelTrace

UNIT_MODULE = "simulator.machine.reference."
SEQUENCES: dict[type, str] = {list: "l", deque: "q", set: "s"}
MAPPING = "d"
FIXED = (Bell, Clockwork, MethodType, FunctionType, BuiltinFunctionType)
"""Fields of units that stay as the constructor left them."""
FIXED_MODULES = ("hwmodels.", "simpy.", "simulator.machine.links")
REMADE = ("Footprints", "Routing", "Distances")
"""Units that only keep what follows from card and traces."""


def _declared(*modules: Any) -> dict[str, type]:
    found = {}
    for module in modules:
        short = module.__name__.rsplit(".", 1)[-1]
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                found[f"{short}.{name}"] = kind
    return found


RECORDS: dict[str, type] = _declared(state, state_l2, state_crossbar, state_dram, messages, record)
NAMES = {kind: name for name, kind in RECORDS.items()}


def fields_of(thing: object) -> Iterator[str]:
    """Names of the fields that an object has now, in the order of their declaration."""
    for kind in type(thing).__mro__:
        slots = getattr(kind, "__slots__", ())
        yield from ((slots,) if isinstance(slots, str) else slots)
    yield from getattr(thing, "__dict__", ())


def is_unit(thing: object) -> bool:
    """Whether the constructor of a machine builds things of this kind, and nothing else does."""
    kind = type(thing)
    return kind.__module__.startswith(UNIT_MODULE) and kind.__name__ not in REMADE


def is_fixed(thing: object) -> bool:
    """Whether a unit's field of this kind never changes."""
    kind = type(thing)
    return isinstance(thing, FIXED) or kind.__module__.startswith(FIXED_MODULES) or kind.__name__ in REMADE


def units_of(roots: list[Any]) -> list[Any]:
    """All units that hang on the components, in an order that two equal machines share."""
    found: list[Any] = []
    known: set[int] = set()
    waiting = list(reversed(roots))
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, list | tuple):
            waiting.extend(reversed(thing))
        elif is_unit(thing) and id(thing) not in known:
            known.add(id(thing))
            found.append(thing)
            waiting.extend(
                value
                for name in reversed(list(fields_of(thing)))
                if (is_unit(value := getattr(thing, name, None)) or _holds_units(value))
            )
    return found


def _holds_units(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and is_unit(value[0])


class Constants:
    """What records point to that never changes, by name."""

    def __init__(self, traces: list[KernelTrace], programs: list[Program]) -> None:
        self.traces = traces
        self.programs = programs
        self.names: dict[int, list[Any]] = {}
        for kernel, (trace, program) in enumerate(zip(traces, programs, strict=True)):
            self.names[id(trace)] = ["t", kernel]
            self.names[id(program)] = ["p", kernel]
            for place, decoded in enumerate(program.decoded):
                self.names[id(decoded)] = ["i", kernel, place]
        # Kernels may share a trace; any of them finds the same program text.
        self.kernel_of_flat = {id(trace.flat()): kernel for kernel, trace in enumerate(traces)}

    def find(self, name: list[Any]) -> KernelTrace | Program | Decoded:
        """The constant of a name."""
        kernel: int = name[1]
        if name[0] == "t":
            return self.traces[kernel]
        program = self.programs[kernel]
        return program if name[0] == "p" else program.decoded[int(name[2])]


class Writer:
    """Writes units and everything that they hold as lists of numbers."""

    def __init__(self, units: list[Any], constants: Constants) -> None:
        self.units, self.constants = units, constants
        self.unit_at = {id(unit): place for place, unit in enumerate(units)}
        self.place: dict[int, int] = {}
        self.objects: list[list[Any]] = []
        self._waiting: list[tuple[Any, int]] = []

    def write(self) -> dict[str, Any]:
        """{"units": fields of each unit, "objects": [type, content] of each object in them}."""
        units = []
        for unit in self.units:
            fields = {
                name: value for name in fields_of(unit) if not is_fixed(value := getattr(unit, name, None))
            }
            units.append([type(unit).__name__, {name: self.value(value) for name, value in fields.items()}])
        while self._waiting:
            thing, place = self._waiting.pop()
            self.objects[place].append(self._content(thing))
        return {"units": units, "objects": self.objects}

    def value(self, thing: Any) -> Any:
        """An integer, a truth value or None as it is; [tag, …] for everything else."""
        if thing is None or type(thing) in (int, bool):
            return thing
        if isinstance(thing, str):
            return ["x", thing]
        if type(thing) is tuple:
            return ["u", [self.value(item) for item in thing]]
        if id(thing) in self.unit_at:
            return ["n", self.unit_at[id(thing)]]
        if id(thing) in self.constants.names:
            return self.constants.names[id(thing)]
        if isinstance(thing, WarpCursor):
            return ["c", self.constants.kernel_of_flat[id(thing.flat)], thing.dump()]
        return ["r", self._object(thing)]

    def _object(self, thing: Any) -> int:
        if id(thing) not in self.place:
            kind = MAPPING if type(thing) is dict else SEQUENCES.get(type(thing)) or NAMES.get(type(thing))
            if isinstance(thing, deque) and thing.maxlen is not None:
                kind = f"q{thing.maxlen}"
            if kind is None:
                raise ResultError(
                    "checkpoint", f"no place for a {type(thing).__qualname__}", "report it; run without one"
                )
            self.place[id(thing)] = len(self.objects)
            self._waiting.append((thing, len(self.objects)))
            self.objects.append([kind])
        return self.place[id(thing)]

    def _content(self, thing: Any) -> Any:
        if isinstance(thing, set):
            return [self.value(item) for item in sorted(thing)]
        if type(thing) in SEQUENCES:
            return [self.value(item) for item in thing]
        if type(thing) is dict:
            return [[self.value(key), self.value(item)] for key, item in thing.items()]
        return [self.value(getattr(thing, name, None)) for name in fields_of(thing)]


class Reader:
    """Puts back into a fresh machine what a Writer took from another."""

    def __init__(self, units: list[Any], constants: Constants, document: Mapping[str, Any]) -> None:
        self.units, self.constants, self.document = units, constants, document
        self.objects: list[Any] = []

    def read(self) -> None:
        """Overwrite the fields of all units."""
        self.objects = [self._empty(entry[0]) for entry in self.document["objects"]]
        for thing, (_, content) in zip(self.objects, self.document["objects"], strict=True):
            self._fill(thing, content)
        for unit, (kind, fields) in zip(self.units, self.document["units"], strict=True):
            if type(unit).__name__ != kind:
                raise KeyError(kind)
            for name, value in fields.items():
                setattr(unit, name, self.value(value))

    def value(self, written: Any) -> Any:
        """What `Writer.value` was given."""
        if not isinstance(written, list):
            return written
        tag = written[0]
        if tag == "x":
            return written[1]
        if tag == "u":
            return tuple(self.value(item) for item in written[1])
        if tag == "n":
            return self.units[written[1]]
        if tag == "c":
            return self._cursor(written[1], written[2])
        if tag == "r":
            return self.objects[written[1]]
        return self.constants.find(written)

    def _cursor(self, kernel: int, dump: list[int]) -> WarpCursor:
        cursor = self.constants.traces[kernel].cursor(0, 0)
        cursor.restore(dump)
        return cursor

    @staticmethod
    def _empty(kind: str) -> Any:
        if kind == MAPPING:
            return {}
        for known, name in SEQUENCES.items():
            if kind == name:
                return known()
        if kind[0] == "q":
            return deque(maxlen=int(kind[1:]))
        return object.__new__(RECORDS[kind])

    def _fill(self, thing: Any, content: list[Any]) -> None:
        if isinstance(thing, set):
            thing.update(self.value(item) for item in content)
        elif type(thing) in SEQUENCES:
            thing.extend(self.value(item) for item in content)
        elif type(thing) is dict:
            thing.update((self.value(key), self.value(item)) for key, item in content)
        else:
            for name, value in zip(fields_of(thing), content, strict=True):
                setattr(thing, name, self.value(value))
