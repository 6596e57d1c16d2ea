"""A whole GPU as one frozen description: its parts, the clocks, and where each number comes from.

A `Gpu` is made from a card (by name or YAML file), changed by dotted keys, and cut to a slice by `scale`.
Keys always name numbers of the whole card; the cut is applied last. What differs between cards is in their
files, never in code. It models nothing by itself: rules are in the files beside this one, time is the
simulator's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hwmodels import consistency
from hwmodels.card_file import load_entries
from hwmodels.crossbar_spec import CrossbarSpec
from hwmodels.derive import fit_shared_memory, memory_clock, refuse_swallowed
from hwmodels.dram.address_map import parse_map
from hwmodels.dram.spec import SECTOR_BYTES, DramSpec
from hwmodels.energy import EnergySpec
from hwmodels.entry import Entry
from hwmodels.errors import InputError
from hwmodels.field import choice, number, text
from hwmodels.kinds import Kind
from hwmodels.l1_spec import L1Spec
from hwmodels.l2_spec import L2Spec
from hwmodels.launch import LaunchSpec
from hwmodels.operations import OperationTable
from hwmodels.register_file_spec import RegisterFileSpec
from hwmodels.scale import divisor_of, scaled
from hwmodels.schema import assemble, check_key, flatten, keys_of, missing_keys
from hwmodels.shared_memory_spec import SharedMemorySpec
from hwmodels.sm import SmSpec
from hwmodels.tlb import TlbSpec
from hwmodels.units import mhz_to_period_fs

ARCHITECTURES = ("volta", "ampere", "hopper", "ada")
LABELS = ("name", "die", "scale")
DERIVED_KEYS = {"dram.bandwidth_gb_s": "dram.data_rate_mbps, dram.width_bits and dram.channels"}


class Source(NamedTuple):
    """What `gpu show` prints beside a key."""

    value: Any
    unit: str
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card. Equal and equally digested when all numbers are; safe to hash and to send to a worker."""

    sm: SmSpec
    register_file: RegisterFileSpec
    shared_memory: SharedMemorySpec
    l1: L1Spec
    crossbar: CrossbarSpec
    l2: L2Spec
    dram: DramSpec
    launch: LaunchSpec
    tlb: TlbSpec
    energy: EnergySpec
    operations: OperationTable = field(repr=False)
    name: str = text(
        doc="Name of the card.", pattern=r"[A-Za-z0-9][A-Za-z0-9 ._+-]*", example="a100-sxm-40gb"
    )
    architecture: str = choice(*ARCHITECTURES, doc="Generation, for choosing instructions.")
    compute_capability: str = text(doc="Compute capability.", pattern=r"[0-9]{1,2}\.[0-9]", example="8.0")
    die: str = text(doc="Name of the die.", pattern=r"[A-Za-z0-9][A-Za-z0-9 ._+-]*", example="GA100")
    sm_count: int = number(unit="SMs", low=1, high=1024, doc="SMs of the card.")
    clock_mhz: int = number(unit="MHz", low=1, high=20_000, doc="Clock of the SMs.")
    memory_partitions: int = number(
        unit="partitions", low=1, high=1024, doc="Each with some slices and channels."
    )
    scale: str = text(doc="Slice of the card: 1/N.", pattern=r"1/[1-9][0-9]{0,3}", example="1/4")
    entries: tuple[tuple[str, Entry], ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def from_card(cls, name_or_path: str) -> Gpu:
        """A card by its name or by the path of a YAML file; an InputError says what is wrong with it."""
        entries = load_entries(name_or_path, gpu_keys())
        entries.setdefault("scale", Entry("1/1", "text", "the whole card", "high"))
        missing = missing_keys(gpu_keys(), entries)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            remedy = "give them, or start from a card with `extends: a100-sxm-40gb`"
            raise InputError(name_or_path, f"the card lacks {missing[0]!r}{more}", remedy)
        try:
            return _build(entries)
        except InputError as error:
            # What does not go together is found by its keys; the card is what they stand in.
            raise InputError(f"{name_or_path}: {error.place}", error.problem, error.remedy) from None

    def with_overrides(self, overrides: Mapping[str, Any]) -> Gpu:
        """A changed card. Keys are dotted, with or without `gpu.`, and name numbers of the whole card."""
        entries = dict(self.entries)
        keys = gpu_keys()
        for full_key, value in overrides.items():
            key = full_key.removeprefix("gpu.")
            place = f"gpu.{key}"
            if key in DERIVED_KEYS:
                raise InputError(place, "derived from others", f"set {DERIVED_KEYS[key]}")
            check_key(key, keys, place)
            kind = keys[key]
            entries[key] = Entry(kind.show(kind.read(value, place)), kind.unit, "override", "user")
        missing = missing_keys(keys, entries)
        if missing:
            raise InputError(
                f"gpu.{missing[0]}", "an operation that this card lacks needs all its keys", "set it too"
            )
        gpu = _build(entries)
        given = {key: entry.value for key, entry in entries.items()}
        refuse_swallowed({key.removeprefix("gpu.") for key in overrides}, given, flatten(gpu))
        return gpu

    def scaled(self, scale: str) -> Gpu:
        """The slice `1/N` of the whole card (not of a slice that this may already be)."""
        return self.with_overrides({"scale": f"1/{divisor_of(scale)}"})

    def dump(self) -> dict[str, Any]:
        """All resolved values as nested mappings, in the units of card files; a card itself once written."""
        nested: dict[str, Any] = {}
        for key, value in flatten(self).items():
            *parents, last = key.split(".")
            below = nested
            for parent in parents:
                below = below.setdefault(parent, {})
            below[last] = value
        return nested

    def digest(self) -> str:
        """SHA-256 of the resolved numbers. Labels stay outside: equal machines have equal digests."""
        values = {key: value for key, value in flatten(self).items() if key not in LABELS}
        document = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(document.encode()).hexdigest()

    def sources(self) -> dict[str, Source]:
        """Every key with its resolved value, unit, source and confidence; derived values come last."""
        entries = dict(self.entries)
        result = {}
        for key, value in flatten(self).items():
            entry = entries[key]
            given = list(entry.value) if isinstance(entry.value, tuple) else entry.value
            origin = entry.source
            if value != given:
                cause = f"scale {self.scale}" if self.scale != "1/1" else "shared_memory.size_kib"
                origin = f"{origin}; {given} before {cause}"
            result[key] = Source(value, entry.unit, origin, entry.confidence)
        rate = entries["dram.data_rate_mbps"]
        for key, parents in DERIVED_KEYS.items():
            result[key] = Source(self.dram.bandwidth_gb_s, "GB/s", f"derived from {parents}", rate.confidence)
        return result

    @property
    def sm_period_fs(self) -> int:
        """Clock period of the SMs."""
        return mhz_to_period_fs(self.clock_mhz)

    @property
    def l2_period_fs(self) -> int:
        """Clock period of L2 and crossbar."""
        return mhz_to_period_fs(self.l2.clock_mhz)

    @property
    def dram_period_fs(self) -> int:
        """Clock period of the memory's commands."""
        return self.dram.timing.tck_fs

    @property
    def line_bytes(self) -> int:
        """Line of L1 and L2."""
        return self.l1.line_bytes

    @property
    def slices_per_partition(self) -> int:
        """L2 slices of one L2 partition."""
        return self.l2.slices // self.l2.partitions

    @property
    def slices_per_memory_partition(self) -> int:
        """L2 slices of one memory partition."""
        return self.l2.slices // self.memory_partitions

    @property
    def channels_per_memory_partition(self) -> int:
        """DRAM channels of one memory partition."""
        return self.dram.channels // self.memory_partitions


def gpu_keys() -> Mapping[str, Kind]:
    """Every key of a card with its declaration."""
    return keys_of(Gpu)


def _build(entries: Mapping[str, Entry]) -> Gpu:
    keys = gpu_keys()
    shown = scaled({key: entry.value for key, entry in entries.items()}, entries["scale"].value)
    consistency.check(shown)
    values = {key: keys[key].read(value, f"gpu.{key}") for key, value in shown.items()}
    fit_shared_memory(values)
    derived = {**memory_clock(values), "entries": tuple(entries.items())}
    gpu: Gpu = assemble(Gpu, values, derived)
    dram = gpu.dram
    parse_map(
        dram.address_map, dram.bank_groups, dram.banks_per_group, dram.rows, dram.row_bytes // SECTOR_BYTES
    )
    return gpu
