"""The names that both engines count under: latency phases, warp states, access classes.

Each list is closed and its order is part of the contract: a warp state's place is its precedence, a phase's
place is its place in the life of a request. Names of the states are Nsight Compute's; every entry has one
sentence that the tables and docs print.
"""

from __future__ import annotations

PHASES: tuple[tuple[str, str], ...] = (
    ("lsu_queue", "from issue to the load/store unit: operand read, memory-I/O queue, and the wait in it"),
    ("l1", "L1 tag look-up and data access, with all passes of the warp (shared memory: its data access)"),
    ("mshr", "waiting for an MSHR, a way or a credit, or behind an earlier miss to the same sectors"),
    ("tlb", "translation beyond the first TLB level"),
    ("crossbar_request", "request network: ports, queues and links from the SM to the slice"),
    ("l2_queue", "waiting in the input queue of the L2 slice"),
    ("l2", "L2 tag and data pipeline, atomics, and the path between slice and DRAM controller"),
    ("partition_link", "the link between the two L2 partitions, there and back"),
    ("dram_queue", "waiting in the queue of the DRAM channel"),
    ("dram_activate", "precharge and activate of the row"),
    ("dram_column", "from the column command to the first data"),
    ("dram_burst", "data burst"),
    ("dram_controller", "controller and PHY"),
    ("crossbar_reply", "reply network: ports, queues and links from the slice to the SM"),
    ("writeback", "fill, replay, register write-back and wake-up"),
)
PHASE_NAMES: tuple[str, ...] = tuple(name for name, _ in PHASES)
(
    LSU_QUEUE,
    L1,
    MSHR,
    TLB,
    CROSSBAR_REQUEST,
    L2_QUEUE,
    L2,
    PARTITION_LINK,
    DRAM_QUEUE,
    DRAM_ACTIVATE,
    DRAM_COLUMN,
    DRAM_BURST,
    DRAM_CONTROLLER,
    CROSSBAR_REPLY,
    WRITEBACK,
) = range(len(PHASES))

STATES: tuple[tuple[str, str], ...] = (
    ("selected", "issued an instruction in this cycle"),
    ("drain", "has exited and waits until its last store is handed to the crossbar"),
    ("membar", "waits at a memory barrier for its earlier stores to be acknowledged"),
    ("barrier", "waits for the other warps of its block at a barrier"),
    ("no_instruction", "waits for instruction fetch, or has not fetched its first instruction"),
    ("branch_resolving", "waits for the target of a taken branch"),
    ("long_scoreboard", "needs a result of L1TEX: global or local memory, or an asynchronous copy"),
    ("short_scoreboard", "needs a result of the memory-I/O unit: shared memory, shuffles, special functions"),
    ("wait", "needs a result of fixed latency"),
    ("lg_throttle", "the queue for global and local memory instructions is full"),
    ("mio_throttle", "the memory-I/O queue is full"),
    ("math_pipe_throttle", "the pipeline that it needs is busy"),
    ("dispatch_stall", "the dispatcher is held by register-bank conflicts of the instruction before"),
    ("not_selected", "could issue, but the scheduler took another warp"),
)
STATE_NAMES: tuple[str, ...] = tuple(name for name, _ in STATES)
(
    SELECTED,
    DRAIN,
    MEMBAR,
    BARRIER,
    NO_INSTRUCTION,
    BRANCH_RESOLVING,
    LONG_SCOREBOARD,
    SHORT_SCOREBOARD,
    WAIT,
    LG_THROTTLE,
    MIO_THROTTLE,
    MATH_PIPE_THROTTLE,
    DISPATCH_STALL,
    NOT_SELECTED,
) = range(len(STATES))

ACCESS_CLASSES: tuple[tuple[str, str], ...] = (
    ("global", "load"),
    ("local", "load"),
    ("shared", "load"),
    ("global", "async_copy"),
    ("global", "atomic"),
    ("global", "store"),
    ("local", "store"),
    ("global", "reduction"),
    ("shared", "store"),
    ("shared", "atomic"),
)
"""(space, operation) of a warp-level memory request; latency.csv has one group of rows for each."""
(
    GLOBAL_LOAD,
    LOCAL_LOAD,
    SHARED_LOAD,
    ASYNC_COPY,
    GLOBAL_ATOMIC,
    GLOBAL_STORE,
    LOCAL_STORE,
    GLOBAL_REDUCTION,
    SHARED_STORE,
    SHARED_ATOMIC,
) = range(len(ACCESS_CLASSES))
