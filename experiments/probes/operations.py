"""Every operation that turns registers into registers: cycles when dependent, cycles when independent.

Dependent: one warp, each instruction needs the one before. Independent: four warps and eight chains a
sub-core, cycles an instruction of a sub-core. Published throughput is brought into the same unit.
"""

from collections.abc import Callable

from experiments.probes.measure import marginal_cycles, one_sm
from experiments.probes.published import Published, die_boards, published
from experiments.probes.row import Row
from hwmodels import Gpu
from hwmodels.operations import Operation, is_memory
from simulator.trace.builder import KernelBuilder
from simulator.trace.kernels.arithmetic import NO_RESULT, OPERANDS, SECOND, THIRD, emit
from simulator.trace.kernels.common import DATA, repeat
from simulator.trace.schema import LANES, KernelTrace

CYCLES = "SM cycles"
UNROLL = 128
CHAINS = 8
WARPS_A_SUB_CORE = 4

DEPENDENT = {
    "FFMA": "lat.alu.FFMA/FADD/FMUL/IADD3/LOP3/SHF",
    "FADD": "lat.alu.FFMA/FADD/FMUL/IADD3/LOP3/SHF",
    "FMUL": "lat.alu.FFMA/FADD/FMUL/IADD3/LOP3/SHF",
    "ALU": "lat.alu.FFMA/FADD/FMUL/IADD3/LOP3/SHF",
    "PREDICATE": "lat.alu.ISETP/FSETP",
    "HFMA2": "lat.alu.HFMA2/HADD2/HMUL2",
    "HADD2": "lat.alu.HFMA2/HADD2/HMUL2",
    "HMUL2": "lat.alu.HFMA2/HADD2/HMUL2",
    "DFMA": "lat.alu.DFMA/DADD/DMUL",
    "DADD": "lat.alu.DFMA/DADD/DMUL",
    "DMUL": "lat.alu.DFMA/DADD/DMUL",
    "POPC": "lat.alu.POPC",
}
DEPENDENT_AMPERE = {
    "HADD2": "lat.cpi_dependent.add.f16",
    "DADD": "lat.cpi_dependent.add.f64",
    "IMAD": "lat.cpi_dependent.mul.lo.u32",
    "FFMA": "lat.cpi_dependent.mad.rn.f32",
}
INDEPENDENT_AMPERE = {
    "HADD2": "lat.cpi_independent.add.f16",
    "ALU": "lat.cpi_independent.add.u32",
    "DADD": "lat.cpi_independent.add.f64",
    "IMAD": "lat.cpi_independent.mul.lo.u32",
}
THROUGHPUT = {
    "FFMA": ("tput.fp32", 2),
    "DFMA": ("tput.fp64", 2),
    "HFMA2": ("tput.fp16", 4),
    "IMAD": ("tput.int32", 2),
    "MUFU": ("tput.sfu", 1),
}
"""Published operations a cycle and SM, and how many a lane's instruction counts for."""
MATRIX = {
    "HMMA_1688_F16": ("f16.f16.m16n8k8", 16 * 8 * 8),
    "HMMA_1688_F32": ("f16.f32.m16n8k8", 16 * 8 * 8),
    "HMMA_16816_F16": ("f16.f16.m16n8k16", 16 * 8 * 16),
    "HMMA_16816_F32": ("f16.f32.m16n8k16", 16 * 8 * 16),
    "TF32_1684": ("tf32.f32.m16n8k4", 16 * 8 * 4),
    "TF32_1688": ("tf32.f32.m16n8k8", 16 * 8 * 8),
    "IMMA_16816": ("s8.s32.m16n8k16", 16 * 8 * 16),
    "IMMA_16832": ("s8.s32.m16n8k32", 16 * 8 * 32),
}
"""Published name of a matrix shape, and its multiply-adds a warp instruction."""


def operations(gpu: Gpu) -> list[Row]:
    """Two rows an operation."""
    sm = one_sm(gpu)
    rows = []
    for operation in sorted(gpu.operations, key=int):
        if is_memory(operation) or operation in NO_RESULT:
            continue
        latency = marginal_cycles(sm, _maker(operation, 1, 1), UNROLL)
        warps = WARPS_A_SUB_CORE * gpu.sm.sub_cores
        interval = marginal_cycles(sm, _maker(operation, warps, CHAINS), UNROLL) / WARPS_A_SUB_CORE
        name = operation.name
        rows += [
            Row(gpu.name, f"{name}, dependent", CYCLES, latency, known_latency(gpu, name), "one warp"),
            Row(gpu.name, f"{name}, independent", CYCLES, interval, known_interval(gpu, name), "a sub-core"),
        ]
    return rows


def known_latency(gpu: Gpu, name: str) -> Published | None:
    """The published latency of an operation."""
    boards = die_boards(gpu)
    if name in MATRIX:
        return published(boards, f"lat.mma.sync.{MATRIX[name][0]}")
    table = {"GV100": DEPENDENT, "GA100": DEPENDENT_AMPERE}.get(gpu.die, {})
    return published(boards, table[name]) if name in table else None


def known_interval(gpu: Gpu, name: str) -> Published | None:
    """The published throughput of an operation, as cycles an instruction of a sub-core."""
    boards, sub_cores = die_boards(gpu), gpu.sm.sub_cores
    if name in MATRIX:
        shape, multiply_adds = MATRIX[name]
        rate = multiply_adds * 2 * gpu.sm_count * sub_cores * gpu.clock_mhz * 1e6
        return published(
            boards, f"tput.mma.sync.{shape}", convert=lambda tera: rate / (tera * 1e12), unit=CYCLES
        )
    if gpu.die == "GA100" and name in INDEPENDENT_AMPERE:
        return published(boards, INDEPENDENT_AMPERE[name])
    if gpu.die == "GV100" and name in THROUGHPUT:
        quantity, counts = THROUGHPUT[name]
        return published(
            boards, quantity, convert=lambda each: counts * LANES * sub_cores / each, unit=CYCLES
        )
    return None


def _maker(operation: Operation, warps: int, chains: int) -> Callable[[int], list[KernelTrace]]:
    size = OPERANDS.get(operation, (1, 1, 0))[0]

    def make(count: int) -> list[KernelTrace]:
        k = KernelBuilder(operation.name, 1, warps * LANES)
        for register in (*range(SECOND, THIRD + 2), *range(DATA, DATA + chains * size)):
            k.move(register)
        with repeat(k, count // UNROLL):
            for place in range(UNROLL):
                emit(k, operation, DATA + place % chains * size)
        return [k.build()]

    return make
