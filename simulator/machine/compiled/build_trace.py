"""The tables of the kernels: decoded programs, expressions, recordings, and what moves by kernel.

Registers that a program names are numbered densely, so that a warp's tables are as short as its kernel needs.
Everything static is laid end to end over all kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hwmodels import Gpu
from hwmodels.errors import InputError
from hwmodels.operations import Operation
from simulator.machine.compiled import layout_sm
from simulator.machine.compiled.build_form import Form
from simulator.machine.compiled.expression import KEPT_PATTERNS
from simulator.machine.compiled.layout import PHASE_COUNT, WIDTH
from simulator.machine.compiled.store import Store
from simulator.machine.program import MATH, Decoded, Program
from simulator.machine.state import KernelProgress
from simulator.statistics.phases import ACCESS_CLASSES
from simulator.trace.compiled_expression import CompiledExpression
from simulator.trace.flat import FlatProgram
from simulator.trace.schema import RZ, KernelTrace

WORD_BITS = 62
MOST_PERIOD = 1 << 62
LANE_COLUMNS = np.arange(layout_sm.LANES, dtype=np.int64)


class Rows:
    """Records of one type that are collected one by one."""

    def __init__(self, kind: np.dtype[Any]) -> None:
        self.kind = kind
        self.rows: list[dict[str, int | list[int]]] = []

    def add(self, **values: int | list[int]) -> int:
        """Append a record; its index."""
        self.rows.append(values)
        return len(self.rows) - 1

    def table(self) -> Any:
        """All records as a table."""
        table = np.zeros(max(1, len(self.rows)), self.kind)
        for name in self.kind.names or ():
            column = [row.get(name) for row in self.rows]
            if column and column[0] is not None:
                table[name][: len(column)] = column
        return table


class TraceTables:
    """Collects the tables of all kernels."""

    def __init__(self) -> None:
        self.kernels = Rows(layout_sm.KERNEL)
        self.instructions = Rows(layout_sm.INSTRUCTION)
        self.marks = Rows(layout_sm.MARK)
        self.expressions = Rows(layout_sm.EXPRESSION)
        self.quotients = Rows(layout_sm.QUOTIENT)
        self.guards = Rows(layout_sm.GUARD)
        self.pairs: list[tuple[int, int]] = []
        self.register_lists: list[int] = []
        self.operands: list[tuple[int, int, int]] = []
        self.steps: list[int] = []
        self.patterns: list[Any] = []
        self.pattern_count = 0
        self.pattern_of: dict[tuple[int, ...], int] = {}
        self.compiled: dict[int, int] = {}
        self.registers = 1
        self.lines = 0
        self.streams: list[int] = []
        self.recorded = Recordings()

    # --- expressions

    def pattern(self, offsets: tuple[int, ...]) -> int:
        """The number of a pattern of offsets."""
        if offsets not in self.pattern_of:
            self.pattern_of[offsets] = self.pattern_count
            self.patterns.append(np.array([offsets], np.int64))
            self.pattern_count += 1
        return self.pattern_of[offsets]

    def sum(self, pairs: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        """(first, count) of a sum of factors times variables."""
        first = len(self.pairs)
        self.pairs += pairs
        return first, len(pairs)

    def expression(self, source: CompiledExpression | None) -> int:
        """The number of an expression, −1 for None."""
        if source is None:
            return -1
        if id(source) in self.compiled:
            return self.compiled[id(source)]
        pairs, pair_count = self.sum(source.linear)
        quotients = len(self.quotients.rows)
        for coefficient, inner, offset, divisor, modulus in source.quotients:
            first, count = self.sum(inner)
            self.quotients.add(
                coefficient=coefficient,
                pairs=first,
                pair_count=count,
                offset=offset,
                divisor=divisor,
                modulus=modulus,
                lane_factor=0,
                period=1,
            )
        lane_terms = len(self.quotients.rows)
        for term in source.lane_terms:
            if term.period >= MOST_PERIOD:
                raise InputError(
                    "expression", f"a period of {term.period} is beyond 62 bits", "use a smaller divisor"
                )
            first, count = self.sum(term.linear)
            self.quotients.add(
                coefficient=term.coefficient,
                pairs=first,
                pair_count=count,
                offset=term.offset,
                divisor=term.divisor,
                modulus=term.modulus,
                lane_factor=term.lane_factor,
                period=term.period,
            )
        number = self.expressions.add(
            constant=source.constant,
            pairs=pairs,
            pair_count=pair_count,
            quotients=quotients,
            quotient_count=len(source.quotients),
            lane_terms=lane_terms,
            lane_count=len(source.lane_terms),
            stride=source.stride,
            pattern=self.pattern(source.offsets),
            low=source.low,
            high=source.high,
        )
        self.compiled[id(source)] = number
        return number

    # --- programs

    def registers_of(self, names: tuple[int, ...], numbers: dict[int, int]) -> tuple[int, int]:
        """(first, count) of a list of registers in a kernel's own numbers."""
        first = len(self.register_lists)
        self.register_lists += [numbers.setdefault(name, len(numbers)) for name in names]
        return first, len(names)

    def instruction(
        self, flat: FlatProgram, inst: Decoded, numbers: dict[int, int], consumed: set[int], form: Form
    ) -> None:
        """One static instruction, and of which registers any consumes a tensor's value."""
        static = inst.static
        names = tuple(r for r in inst.depends if r != RZ)
        depends, depends_count = self.registers_of(names, numbers)
        dst, dst_count = self.registers_of(inst.dst, numbers)
        produces = inst.produces and not consumed.isdisjoint(inst.dst)
        consumes = len(self.operands)
        for register, bit in inst.consumes:
            word, place = divmod(bit.bit_length() - 1, WORD_BITS)
            self.operands.append((numbers.setdefault(register, len(numbers)), word, 1 << place))
        guard = len(self.guards.rows)
        for one in flat.guards[static]:
            self.guards.add(expression=self.expression(one.expression), low=one.low, high=one.high)
        self.instructions.add(
            fetch_line=inst.fetch_line,
            operation=inst.operation,
            kind=inst.kind,
            pipeline=inst.pipeline,
            latency=inst.latency,
            interval_tenths=inst.interval_tenths,
            operand_cycles=inst.operand_cycles,
            depends=depends,
            depends_count=depends_count,
            needs=[numbers[name] for name in (*names[:2], *names[:1])[:2]] if names else [0, 0],
            dst=dst,
            dst_count=dst_count,
            consumes=consumes,
            consumes_count=len(inst.consumes),
            produces=int(produces),
            brings=int(not consumed.isdisjoint(inst.dst)),
            bytes_per_lane=inst.bytes_per_lane,
            access_class=inst.access_class,
            bypass=int(inst.bypass_l1),
            count=inst.count,
            full_passes=inst.full_passes,
            mask=flat.instructions[static].mask,
            guard=guard,
            guard_count=len(flat.guards[static]),
            address=self.expression(flat.addresses[static]),
            accesses=flat.accesses[static],
            result=numbers[inst.dst[0]] if inst.dst else 0,
            simple=int(inst.kind == MATH and dst_count == 1 and not produces),
            plain=int(static in form.plain),
            asks_lanes=int(form.recorded or bool(flat.guards[static])),
        )

    def kernel(self, trace: KernelTrace, program: Program, progress: KernelProgress) -> None:
        """A kernel with its program, and its recording where it has one."""
        flat = trace.flat()
        numbers: dict[int, int] = {}
        first, step_first, mark_first = len(self.instructions.rows), len(self.steps), len(self.marks.rows)
        consumed = {register for inst in program.decoded for register, _ in inst.consumes}
        form = Form(trace, program)
        for inst in program.decoded:
            self.instruction(flat, inst, numbers, consumed, form)
        self.steps += flat.steps
        for mark in flat.marks:
            self.marks.add(
                kind=mark.kind,
                variable=int(mark.variable),
                partner=mark.partner,
                trips=self.expression(mark.trips),
            )
        self.registers = max(self.registers, len(numbers))
        if progress.stream not in self.streams:
            self.streams.append(progress.stream)
        first_variant, first_row = self.recorded.add(trace, self)
        self.kernels.add(
            first=first,
            consumes=int(bool(consumed)),
            step_first=step_first,
            mark_first=mark_first,
            lines=program.lines,
            first_line=self.lines,
            warps=trace.warps_per_block,
            threads=trace.threads_per_block,
            grid_x=trace.grid[0],
            grid_y=trace.grid[1],
            recorded=int(trace.recording is not None),
            first_variant=first_variant,
            first_row=first_row,
            blocks=trace.blocks,
            stream=self.streams.index(progress.stream),
            following=-1,
            registers=progress.registers_per_warp,
            shared=progress.shared_bytes,
            barriers=progress.barriers,
            meeting=[trace.warps_meeting(one) for one in range(layout_sm.MOST_BARRIERS)],
            carveout=progress.carveout_bytes,
            start_fs=-1,
        )
        self.lines += program.lines


class Recordings:
    """Collects the recordings of all kernels."""

    def __init__(self) -> None:
        self.statics: list[Any] = []
        self.masks: list[Any] = []
        self.variants: list[Any] = []
        self.bases: list[Any] = []
        self.pattern_ids: list[Any] = []
        self.rows: list[int] = []
        self.starts: list[Any] = []
        self.variant_count = self.instruction_count = self.access_count = self.row_count = 0

    def add(self, trace: KernelTrace, tables: TraceTables) -> tuple[int, int]:
        """Lay a trace's recording behind those before; (its first variant, its first entry in `rows`)."""
        recording = trace.recording
        place = self.variant_count, len(self.rows)
        if recording is None:
            return place
        first_pattern = tables.pattern_count
        strides = recording.strides.astype(np.int64)[:, None] * LANE_COLUMNS
        for table in (strides, recording.deltas, recording.lists):
            tables.patterns.append(np.asarray(table, np.int64).reshape(-1, layout_sm.LANES))
            tables.pattern_count += len(tables.patterns[-1])
        self.statics.append(recording.variant_statics)
        self.masks.append(recording.variant_masks)
        self.variant_count += len(recording.variant_statics)
        rows = np.zeros(trace.blocks, np.int64)
        for page in recording.pages:
            starts, accesses = page.instruction_starts, page.access_starts
            rows[page.blocks] = self.row_count + np.arange(len(page.blocks)) * trace.warps_per_block
            self.starts.append(
                np.stack(
                    (
                        starts[:-1] + self.instruction_count,
                        starts[1:] + self.instruction_count,
                        accesses[:-1] + self.access_count,
                    ),
                    axis=1,
                )
            )
            self.variants.append(page.variants)
            self.bases.append(page.bases)
            self.pattern_ids.append(page.pattern_ids.astype(np.int64) + first_pattern)
            self.row_count += len(starts) - 1
            self.instruction_count += len(page.variants)
            self.access_count += len(page.bases)
        self.rows += rows.tolist()
        return place


def _joined(parts: list[Any]) -> Any:
    """Parts end to end as integers; one zero where there is none."""
    return np.concatenate([np.asarray(part, np.int64) for part in parts]) if parts else np.zeros(1, np.int64)


def build_traces(
    store: Store, gpu: Gpu, traces: list[KernelTrace], programs: list[Program], progress: list[KernelProgress]
) -> None:
    """All tables that depend on the kernels."""
    tables = TraceTables()
    for trace, program, own in zip(traces, programs, progress, strict=True):
        tables.kernel(trace, program, own)
    for rows, name in (
        (tables.instructions, "instructions"),
        (tables.marks, "marks"),
        (tables.expressions, "expressions"),
        (tables.quotients, "quotients"),
        (tables.guards, "guards"),
    ):
        store.put(name, rows.table())
    kernels = store.put("kernel_states", tables.kernels.table())
    for stream in range(len(tables.streams)):
        own_kernels = np.flatnonzero(kernels["stream"] == stream)
        kernels["following"][own_kernels[:-1]] = own_kernels[1:]
    store.put(
        "stream_current",
        np.array([kernels["stream"].tolist().index(s) for s in range(len(tables.streams))], np.int64),
    )
    store.put("pairs", np.array(tables.pairs or [(0, 0)], np.int64))
    store.put("register_lists", np.array(tables.register_lists or [0], np.int64))
    store.put("operands", np.array(tables.operands or [(0, 0, 0)], np.int64))
    store.put("steps", np.array(tables.steps, np.int64))
    # Behind the traces' own patterns there is room for those that come up in the run, for each worker.
    room = tables.pattern_count + KEPT_PATTERNS * store.workers
    patterns = store.records("patterns", layout_sm.PATTERN, room)
    for worker in range(store.workers):
        store.set_of(worker, first_kept=tables.pattern_count + KEPT_PATTERNS * worker)
    patterns["offsets"][: tables.pattern_count] = np.concatenate(tables.patterns or [patterns["offsets"][:0]])
    recorded = tables.recorded
    for name, parts in (
        ("variants", recorded.variants),
        ("variant_statics", recorded.statics),
        ("variant_masks", recorded.masks),
        ("bases", recorded.bases),
        ("pattern_ids", recorded.pattern_ids),
        ("starts", recorded.starts),
    ):
        store.put(name, _joined(parts))
    store.put("recorded_rows", np.array(recorded.rows or [0], np.int64))
    _moving(store, gpu, traces, tables)


def _moving(store: Store, gpu: Gpu, traces: list[KernelTrace], tables: TraceTables) -> None:
    """What moves by kernel, by warp and register, and the instruction caches."""
    kernels, sm = len(traces), gpu.sm
    words = max(1, *(-(-len(trace.operators) // WORD_BITS) for trace in traces))
    slots = gpu.sm_count * sm.warp_slots
    store.integers("ready", slots * tables.registers)
    store.integers("short", slots * tables.registers, -1)
    store.integers("origins", slots * tables.registers)
    store.integers("fresh", slots * tables.registers * words)
    for worker in range(store.workers):
        store.integers("counts", kernels * WIDTH, worker=worker)
        store.integers("operation_counts", kernels * len(Operation), worker=worker)
        store.integers("request_counts", kernels * len(ACCESS_CLASSES), worker=worker)
        store.integers("latencies", kernels * len(ACCESS_CLASSES), worker=worker)
        store.integers("phase_sums", kernels * len(ACCESS_CLASSES) * PHASE_COUNT, worker=worker)
    store.integers("seen", gpu.sm_count * kernels)
    store.integers("residents", 2 * gpu.sm_count * kernels)
    store.integers("running", kernels)
    subs = gpu.sm_count * sm.sub_cores
    l0 = min(sm.l0_instruction_kib * 1024 // sm.fetch_line_bytes, tables.lines)
    l1 = min(sm.l1_instruction_kib * 1024 // sm.fetch_line_bytes, tables.lines)
    store.records("buffers", layout_sm.BUFFER, subs + gpu.sm_count)
    store.integers("buffer_lines", 3 * (subs * l0 + gpu.sm_count * l1))
    store.set(
        kernels=kernels,
        streams=len(tables.streams),
        registers=tables.registers,
        operator_words=words,
        l0_buffers=subs,
        l0_buffer_lines=l0,
        l1_buffer_lines=l1,
        l1_buffer_first=3 * subs * l0,
    )
