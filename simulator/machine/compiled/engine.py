"""The compiled engine: lays out the tables of a card and its kernels, runs the compiled machine, and collects
the record.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from hwmodels import Gpu
from hwmodels.coalescing import LINE_BYTES
from hwmodels.errors import ResultError
from simulator.machine.compiled import layout_sm
from simulator.machine.compiled.build_card import build_card
from simulator.machine.compiled.build_trace import build_traces
from simulator.machine.compiled.code import Code, code, yielding_address
from simulator.machine.compiled.collect import collect
from simulator.machine.compiled.freeze import freeze, thaw
from simulator.machine.compiled.jit import WITHOUT_COMPILER
from simulator.machine.compiled.layout import DONE, EDGES, GROW, WIDTH
from simulator.machine.compiled.store import POOL_TABLES, Store
from simulator.machine.compiled.watchdog import waits_for
from simulator.machine.launchable import occupancy_of, progress_of
from simulator.machine.options import Options
from simulator.machine.order import NEVER
from simulator.machine.program import decode
from simulator.machine.reference.engine import LOOK_UP_CYCLES
from simulator.statistics.record import RunRecord
from simulator.trace.schema import KernelTrace

FIRST_LOG = 4096
FIRST_EDGES = 64


class Machine:
    """A card with its kernels, ready to run."""

    parallel = not WITHOUT_COMPILER
    """Whether workers have threads; without, their shares are done in turn."""

    def __init__(self, traces: list[KernelTrace], gpu: Gpu, options: Options) -> None:
        self.traces, self.gpu, self.options = traces, gpu, options
        self.until_fs = 0
        self.occupancies = [occupancy_of(trace, gpu) for trace in traces]
        self.progress = [
            progress_of(trace, index, gpu, fits)
            for index, (trace, fits) in enumerate(zip(traces, self.occupancies, strict=True))
        ]
        programs = [decode(trace, index, gpu) for index, trace in enumerate(traces)]
        store = self.store = Store(_workers(gpu, options))
        build_card(store, gpu)
        build_traces(store, gpu, traces, programs, self.progress)
        graph, launch = options.launch == "graph", gpu.launch
        interval_fs = options.interval_cycles * gpu.sm_period_fs
        store.set(
            launch_gap_fs=(launch.graph_gap_ns if graph else launch.stream_gap_ns) * 1_000_000,
            host_fs=0 if graph else launch.host_period_ns * 1_000_000,
            keep_requests=int(options.keep_requests),
            keep_blocks=options.keep_blocks,
            interval_fs=interval_fs,
            next_edge_fs=interval_fs or NEVER,
            finished_room=FIRST_LOG if options.keep_requests else 1,
            finished_low=FIRST_LOG // 2,
            edge_room=FIRST_EDGES,
        )
        self.code: Code = code()
        store.set(**self.code.addresses)
        store.records("finished", layout_sm.FINISHED, store.machine.finished_room)
        kept = sum(min(trace.blocks, options.keep_blocks) for trace in traces)
        store.records("kept_blocks", layout_sm.KEPT_BLOCK, kept)
        store.integers("snapshots", FIRST_EDGES * len(traces) * WIDTH)
        for resident in options.preload:
            first = resident.base_address // LINE_BYTES
            last = (resident.base_address + resident.bytes - 1) // LINE_BYTES
            self.code.call("unit_preload", store.here, first, last)
        self.code.call("unit_begin", store.here)

    @property
    def next_fs(self) -> int:
        """The time of the next tick of any component; NEVER when nothing is booked."""
        return self.code.call("unit_next", self.store.here)

    @property
    def now_fs(self) -> int:
        """The time of the last tick of any component, or of what takes the place of one."""
        foreseen_fs = self.store.tables["sm_states"]["foreseen"] * self.gpu.sm_period_fs
        begun_fs = foreseen_fs[foreseen_fs < self.until_fs].max(initial=0)
        return max(int(begun_fs), int(self.store.tables["components"]["ticked_fs"].max()))

    def run(self) -> RunRecord:
        """Run to the end (or to a limit); a ResultError from the watchdog if work is left that nobody goes on
        with.
        """
        started, started_cpu = time.perf_counter(), time.process_time()
        options = self.options
        limit_fs = None if options.max_cycles is None else options.max_cycles * self.gpu.sm_period_fs
        if options.resume is not None:
            thaw(self.store, options.resume.state, options.resume.tables)
        partial = self._advance(limit_fs, started)
        if options.keeper is not None:
            options.keeper.end(self, partial)
        kernels = self.store.tables["kernel_states"]
        if not partial and (kernels["done"] < kernels["blocks"]).any():
            raise ResultError(
                "watchdog", "work is left and nothing is booked", "; ".join(waits_for(self)[:20])
            )
        self.store.add_up()
        self.code.call("unit_close", self.store.here, self.now_fs)
        record = collect(self, partial)
        record.wall_seconds = time.perf_counter() - started
        record.cpu_seconds = time.process_time() - started_cpu
        return record

    def _advance(self, limit_fs: int | None, started: float) -> bool:
        """Run until done; True if a limit came first."""
        options = self.options
        step_fs = LOOK_UP_CYCLES * self.gpu.sm_period_fs
        while True:
            following = self.next_fs
            if following >= NEVER:
                return False
            until = following + step_fs
            if limit_fs is not None and until >= limit_fs:
                self._run(limit_fs)
                return self.next_fs < NEVER
            self._run(until)
            if options.progress is not None:
                kernels = self.store.tables["kernel_states"]
                share = int(kernels["done"].sum()) / int(kernels["blocks"].sum())
                options.progress(share, self.now_fs // self.gpu.sm_period_fs)
            if options.max_seconds is not None and time.perf_counter() - started > options.max_seconds:
                return self.next_fs < NEVER
            if options.keeper is not None and options.keeper.look_up(self):
                return self.next_fs < NEVER

    # --- checkpoints

    engine = "compiled"

    @property
    def cycle(self) -> int:
        """SM cycle of the last tick."""
        return self.now_fs // self.gpu.sm_period_fs

    def freeze(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The state, for a checkpoint."""
        return freeze(self.store)

    # --- room

    def _run(self, until_fs: int) -> None:
        """Run to a time, with more room whenever the machine asks for it."""
        self.until_fs = until_fs
        self.store.set(until_fs=until_fs)
        while True:
            answer = self._run_on_all(until_fs)
            if answer == DONE:
                return
            if answer == EDGES:
                self._grow_edges()
            elif answer == GROW:
                self.store.grow_where_low()
                self._grow_log()
            else:
                raise ResultError(
                    "compiled engine", _words(answer), "use the reference engine, and report it"
                )

    def _run_on_all(self, until_fs: int) -> int:
        """Run with all workers, each but the main one on a thread of its own; the main one's answer."""
        store = self.store
        store.share_out()
        store.tables["rounds"][:] = 0
        threads = []
        if store.workers > 1 and self.parallel:
            store.set(threads=1, yields=yielding_address())
            for worker in range(1, store.workers):
                call = (self.code.call, ("unit_work", store.here, worker))
                threads.append(threading.Thread(target=call[0], args=call[1], daemon=True))
        for thread in threads:
            thread.start()
        answer = self.code.call("unit_run", store.here, until_fs)
        for thread in threads:
            thread.join()
        return answer

    def _grow_edges(self) -> None:
        store = self.store
        old = store.tables["snapshots"]
        room = 2 * int(store.machine.edge_room)
        store.integers("snapshots", room * len(self.traces) * WIDTH)[: len(old)] = old
        store.set(edge_room=room)

    def _grow_log(self) -> None:
        store = self.store
        if self.options.keep_requests:
            old = store.tables["finished"]
            if len(old) - int(store.machine.finished_count) < int(store.machine.finished_low):
                store.records("finished", layout_sm.FINISHED, 2 * len(old))[: len(old)] = old
                store.set(finished_room=2 * len(old))


def _workers(gpu: Gpu, options: Options) -> int:
    """How many share the work: what keeps an order over the whole machine is done by one."""
    if options.keep_requests or options.keeper is not None or options.resume is not None:
        return 1
    return max(1, min(options.threads, gpu.sm_count, gpu.memory_partitions))


def _words(error: int) -> str:
    """What an error number of the machine says."""
    if 1 <= error <= len(POOL_TABLES):
        return f"the table of {POOL_TABLES[error - 1][0]} overflowed within one turn"
    return f"a queue held more than its credits allow (error {error})"


def simulate(traces: list[KernelTrace], gpu: Gpu, options: Options) -> RunRecord:
    """Replay traces on a card; the entry that every engine has."""
    return Machine(traces, gpu, options).run()
