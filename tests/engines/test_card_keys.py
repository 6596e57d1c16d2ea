"""No number of a card is without effect: changed alone, each changes some number of some small run.

A refusal counts as an effect, for limits that only decide whether a kernel can start. The few numbers that
can't change anything are listed with the reason, and the list is closed: one that begins to matter must go.
"""

import pytest

from hwmodels.errors import InputError
from hwmodels.gpu import gpu_keys
from hwmodels.kinds import Choice, Nanoseconds, Number, Numbers
from hwmodels.operations import Operation, Pipeline, is_store
from simulator.trace.builder import KernelBuilder
from tests.engines.key_workloads import CARD, WORKLOADS
from tests.engines.readings import same_numbers, tiny_card
from tests.machines.random_card import base_card

WITHOUT_EFFECT = {
    "l1.line_bytes": "one legal value",
    "l1.sector_bytes": "one legal value",
    "dram.width_bits": "the standard decides it, since a burst is a sector",
    "dram.rows": "capacity: addresses beyond it have rows of their own",
    "shared_memory.default_limit_bytes": "replayed kernels opt in to the larger limit",
}
KEYS = {
    key: kind
    for key, kind in gpu_keys().items()
    # Times of operations have a test below; energies have no part in time.
    if isinstance(kind, (Number, Nanoseconds, Numbers, Choice))
    and not key.startswith(("operations.", "energy."))
}
FIRST = {
    "sm.l0_instruction_kib": "long program",
    "sm.l1_instruction_kib": "long program",
    "shared_memory.atomic": "contended",
    "l1": "traffic",
    "l2.atomic": "contended behind a wide port",
    "crossbar.reply_lookahead": "one side",
    "crossbar.partition_link_bytes": "slow link",
    "dram.refresh_postpone": "one L2 entry",
    "dram.timing.refi_ns": "all-bank refresh",
    "dram.timing.rfc_ns": "all-bank refresh",
    "dram": "traffic",
    "launch.graph": "graph",
    "launch": "crowded",
    "crossbar": "reread",
}
"""Where to look first for the effect of some keys."""
ATTEMPTS = 3
LABELS = ("architecture", "dram.standard")


def candidates(kind, value):
    """Legal values to try, near ones first."""
    if isinstance(kind, Choice):
        return [other for other in kind.choices if other != value]
    if isinstance(kind, Numbers):
        return [value[1:], value[:-1], [value[-1]]]
    near = [2 * value, value // 2, kind.low, value + 1, value - 1, 4 * value, value + 7, 3 * value, kind.high]
    return list(dict.fromkeys(int(one) for one in near if kind.low <= one <= kind.high and one != value))


def outcome(run, workload, gpu):
    """Every number of a run, or the refusal; without the digest, which differs with every change."""
    try:
        record = same_numbers(run(workload.kernels(), gpu, **workload.options))
    except InputError as refusal:
        return str(refusal)
    record.gpu_digest = ""
    return record


@pytest.fixture(scope="module")
def baseline(run):
    """Outcomes on the unchanged cards, each made when it is first asked for."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = outcome(run, WORKLOADS[name], WORKLOADS[name].gpu())
        return known[name]

    return of


def effect(run, baseline, key, kind):
    """The (workload, value) whose numbers differ; None if all attempts leave all numbers as they are."""
    first = [name for prefix, name in FIRST.items() if key.startswith(prefix)]
    for name in dict.fromkeys([*first, *WORKLOADS]):
        workload = WORKLOADS[name]
        shown = value_of(workload.gpu(), key)
        tried = 0
        for value in candidates(kind, shown):
            try:
                gpu = workload.gpu({key: value})
            except InputError:
                continue
            tried += 1
            if outcome(run, workload, gpu) != baseline(name):
                return name, value
            if tried == ATTEMPTS:
                break
    return None


def value_of(gpu, key):
    value = gpu.dump()
    for part in key.split("."):
        value = value[part]
    return value


@pytest.mark.parametrize("key", [key for key in KEYS if key not in WITHOUT_EFFECT and key not in LABELS])
def test_a_key_changes_a_number(run, baseline, key):
    assert effect(run, baseline, key, KEYS[key]) is not None


NO_RESULT = (
    Operation.REDG,
    Operation.BRANCH,
    Operation.NOP,
    Operation.EXIT,
    Operation.BARRIER,
    Operation.MEMBAR,
    Operation.ASYNC_COMMIT,
    Operation.ASYNC_WAIT,
)
GPU = tiny_card("a100-sxm-40gb", l2__partitions=1)


def own_latency_counts(operation):
    """Whether a result comes after the card's latency: not from memory, not where the trace says it."""
    if operation in NO_RESULT or operation is Operation.OPAQUE:
        return False
    return GPU.operations[operation].pipeline is not Pipeline.LSU or operation is Operation.SHUFFLE


def resident(run, gpu, operation, dependent):
    """Warp-cycles of two warps with two of these instructions each, dependent or not."""
    k = KernelBuilder("pair", 1, 64, registers_per_thread=16, shared_bytes_per_block=1024)
    for turn in range(2):
        fields = {}
        if gpu.operations[operation].pipeline is Pipeline.LSU and operation is not Operation.SHUFFLE:
            fields = {"address": 1 << 32 if operation in GLOBAL else 0, "bytes_per_lane": 4}
        if operation is Operation.LDGSTS:
            fields["shared_address"] = 0
        if operation is Operation.EXIT and not turn:
            fields["mask"] = 1
        if operation is Operation.OPAQUE:
            fields["latency"] = 3
        result = () if operation in NO_RESULT or is_store(operation) else turn
        k.emit(operation, result, 0 if dependent else 5, **fields)
    record = run(k.build(), gpu)
    return record.kernels[0].states


GLOBAL = (
    Operation.LDG,
    Operation.STG,
    Operation.ATOMG,
    Operation.REDG,
    Operation.LD,
    Operation.ST,
    Operation.ATOM,
    Operation.LDGSTS,
)


@pytest.mark.parametrize("operation", list(GPU.operations), ids=lambda operation: operation.name)
def test_the_times_of_an_operation_count(run, operation):
    timing = GPU.operations[operation]
    one_sub_core = {"sm.sub_cores": 1}
    gpu = GPU.with_overrides(one_sub_core)
    slower = gpu.with_overrides({f"operations.{operation.name}.interval_tenths": timing.interval_tenths + 50})
    assert resident(run, slower, operation, dependent=False) != resident(run, gpu, operation, dependent=False)
    longer = gpu.with_overrides({f"operations.{operation.name}.latency_cycles": timing.latency_cycles + 90})
    changed = resident(run, longer, operation, dependent=True) != resident(
        run, gpu, operation, dependent=True
    )
    assert changed == own_latency_counts(operation)


@pytest.mark.parametrize("key", WITHOUT_EFFECT)
def test_what_is_listed_really_has_no_effect(run, baseline, key):
    """On the runs that feel most; a key that begins to matter must leave the list."""
    for name in ("crowded", "traffic", "greedy"):
        for value in candidates(KEYS[key], value_of(WORKLOADS[name].gpu(), key))[:3]:
            try:
                gpu = WORKLOADS[name].gpu({key: value})
            except InputError:
                continue
            assert outcome(run, WORKLOADS[name], gpu) == baseline(name)


def test_the_card_of_the_workloads_is_legal():
    assert base_card("a100-sxm-40gb").with_overrides(CARD).l2.partitions == 2
