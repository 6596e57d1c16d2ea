"""Reads the PyTorch profiler's trace (Kineto's JSON, plain or gzip, old and new category names).

Only complete events (`ph: X`) of kernels, launches and CPU operators are kept. A kernel that lacks a number
which every kernel has is an error that names the event; a device or an operator that is not described stays
unknown. Not read: Python stacks, memory events, flow arrows (correlation numbers say the same).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.profiles.fields import Fields
from experiments.profiles.json_stream import JsonStream
from experiments.profiles.launches import joined
from experiments.profiles.limits import DEFAULT_LIMITS, ProfileLimits
from experiments.profiles.profile import Device, Launch, Profile, ProfiledKernel, ProfiledOperator, Shape
from experiments.profiles.text_stream import TextStream
from hwmodels.errors import InputError
from simulator.trace import limits as trace_limits

EVENTS = "traceEvents"
DEVICES = "deviceProperties"
KERNELS = {"kernel", "Kernel"}
COPIES = {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}
LAUNCHES = {"cuda_runtime", "cuda_driver", "Runtime"}
OPERATORS = {"cpu_op", "Operator", "user_annotation_op"}
DEVICE_FIELDS = {"id", "name", "computeMajor", "computeMinor", "numSms"}
EXTERNAL_IDS = ("External id", "external id", "External Id")
DIMENSIONS = ("Input Dims", "Input dims")
TYPES = ("Input type", "Input Type")


class KinetoReader:
    """Collects what matters from the events of one file."""

    def __init__(self, path: Path, limits: ProfileLimits = DEFAULT_LIMITS) -> None:
        self.path = path
        self.limits = limits
        self.profile = Profile(str(path))
        self.launches: dict[int, Launch] = {}
        self.operators: dict[tuple[str, str], list[ProfiledOperator]] = {}
        self.operator_count = 0
        self.texts: dict[str, str] = {}

    def read(self) -> Profile:
        """The profile; an InputError where the file is none, is broken or is beyond the limits."""
        with TextStream(self.path, self.limits) as stream:
            json = JsonStream(stream, self.limits)
            if json.peek() == "[":  # the bare form: a list of events
                self._events(json)
            else:
                self._members(json)
            if json.peek():
                json.refuse("", "more text after the end")
        if not self.profile.kernels:
            raise InputError(str(self.path), "no kernel in this trace", "profile with CUDA activities on")
        kernels = sorted(self.profile.kernels, key=lambda one: (one.start_ns, one.device, one.stream))
        self.profile.kernels = joined(kernels, self.launches, self.operators)
        return self.profile

    def _members(self, json: JsonStream) -> None:
        found = False
        for name in json.members():
            if name == EVENTS:
                if found:
                    json.refuse(EVENTS, "stands twice")
                found = True
                self._events(json)
            elif name == DEVICES:
                self._devices(json.value(DEVICES))
            else:
                json.value(name[:40])
        if not found:
            raise InputError(str(self.path), f"no {EVENTS} in it", "give a PyTorch profiler trace")

    def _events(self, json: JsonStream) -> None:
        for number, event in json.elements(EVENTS):
            self.profile.events = number + 1
            if not isinstance(event, dict):
                json.refuse(f"{EVENTS}[{number}]", "no object")
            if event.get("ph") == "X":
                self._event(number, event)

    def _event(self, number: int, event: Mapping[str, Any]) -> None:
        category = event.get("cat")
        if not isinstance(category, str):
            return
        place = f"{self.path}:{EVENTS}[{number}]"
        if category in KERNELS:
            if len(self.profile.kernels) >= self.limits.kernels:
                raise InputError(place, f"more than {self.limits.kernels} kernels", "profile fewer steps")
            self.profile.kernels.append(self._kernel(place, event))
        elif category in LAUNCHES:
            self._launch(Fields(place, event))
        elif category in OPERATORS:
            self._operator(Fields(place, event))
        elif category in COPIES:
            self.profile.copies += 1

    def _kernel(self, place: str, event: Mapping[str, Any]) -> ProfiledKernel:
        fields = Fields(place, event)
        args = fields.inner("args")
        block = args.extent("block", trace_limits.MAX_BLOCK)
        threads = block[0] * block[1] * block[2]
        if threads > trace_limits.MAX_THREADS_PER_BLOCK:
            raise InputError(
                f"{args.place}.block",
                f"{threads} threads a block",
                f"at most {trace_limits.MAX_THREADS_PER_BLOCK}",
            )
        return ProfiledKernel(
            name=self._text(fields.text("name")),
            place=place,
            device=args.whole("device", 0, 1 << 20),
            stream=args.whole("stream", 0, 1 << 62),
            start_ns=fields.nanoseconds("ts"),
            duration_ns=fields.nanoseconds("dur"),
            grid=args.extent("grid", trace_limits.MAX_GRID),
            block=block,
            registers=args.whole("registers per thread", 1, trace_limits.MAX_REGISTERS_PER_THREAD + 1),
            shared_bytes=args.whole("shared memory", 0, trace_limits.MAX_SHARED_BYTES_PER_BLOCK),
            occupancy_pct=args.number("est. achieved occupancy %", optional=True),
            correlation=args.whole("correlation", 0, 1 << 62),
            external_id=args.optional_whole(EXTERNAL_IDS),
        )

    def _launch(self, fields: Fields) -> None:
        args = fields.inner("args", optional=True)
        correlation = args.optional_whole(("correlation",))
        if correlation is None:
            return
        if len(self.launches) >= self.limits.operators:
            raise InputError(fields.place, f"more than {self.limits.operators} calls", "profile fewer steps")
        self.launches[correlation] = Launch(
            name=self._text(fields.text("name")),
            start_ns=fields.nanoseconds("ts"),
            duration_ns=fields.nanoseconds("dur"),
            thread=fields.thread(),
            external_id=args.optional_whole(EXTERNAL_IDS),
        )

    def _operator(self, fields: Fields) -> None:
        self.operator_count += 1
        if self.operator_count > self.limits.operators:
            problem = f"more than {self.limits.operators} operators"
            raise InputError(fields.place, problem, "profile fewer steps")
        args = fields.inner("args", optional=True)
        start = fields.nanoseconds("ts")
        self.operators.setdefault(fields.thread(), []).append(
            ProfiledOperator(
                name=self._text(fields.text("name")),
                start_ns=start,
                end_ns=start + fields.nanoseconds("dur"),
                external_id=args.optional_whole(EXTERNAL_IDS),
                shapes=tuple(_shape(one) for one in args.listed(DIMENSIONS)),
                types=tuple(self._text(str(one)[:100]) for one in args.listed(TYPES)),
            )
        )

    def _devices(self, value: Any) -> None:
        place = f"{self.path}:{DEVICES}"
        if not isinstance(value, list):
            raise InputError(place, "no list", "give the trace as the profiler wrote it")
        for number, one in enumerate(value):
            if not isinstance(one, dict):
                raise InputError(f"{place}[{number}]", "no object", "give the trace as the profiler wrote it")
            if not one.keys() >= DEVICE_FIELDS:
                continue  # of another maker, or of a tool that says less: its kernels' device stays unknown
            fields = Fields(f"{place}[{number}]", one)
            major = fields.whole("computeMajor", 0, 99)
            minor = fields.whole("computeMinor", 0, 99)
            device = Device(
                fields.whole("id", 0, 1 << 20),
                self._text(fields.text("name")),
                f"{major}.{minor}",
                fields.whole("numSms", 1, 1 << 16),
                fields.optional_whole(("totalGlobalMem",)) or 0,
            )
            self.profile.devices[device.number] = device

    def _text(self, text: str) -> str:
        """The same text, kept once."""
        return self.texts.setdefault(text, text)


def _shape(value: Any) -> Shape:
    """A shape; () for a scalar, a list of tensors or anything else that has none."""
    if isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 48 for one in value):
        return tuple(value)
    return ()


def read_kineto(path: Path, limits: ProfileLimits = DEFAULT_LIMITS) -> Profile:
    """The profile in a PyTorch profiler trace."""
    return KinetoReader(path, limits).read()
