"""Mnemonics of Ampere (sm_80, sm_86, sm_87), Ada (sm_89) and Hopper (sm_90).

From Ampere on, LDGDEPBAR closes a group of asynchronous copies and DEPBAR waits until at most as many groups
as its immediate says are open. Not replayed, with a warning where they occur: Hopper's bulk copies through
the tensor memory accelerator, whose addresses tracers of versions 1 to 5 don't write, and warp-group matrix
products, which cost a latency only.
"""

from hwmodels.operations import Operation
from simulator.trace.accelsim.opcode import ALWAYS, MAYBE, NEVER, Opcode, row, table
from simulator.trace.accelsim.opcodes_volta import TURING

_O = Operation
_BULK = "the trace has no addresses of bulk (TMA) copies, so their traffic is missing"
_SIGNAL = "waits for bulk copies and for other blocks of a cluster are not in the trace"
_GROUP = "a warp-group matrix product costs a latency and no tensor-core time"
_GROUP_CYCLES = 128

AMPERE: dict[str, Opcode] = table(
    TURING.values(),
    row(_O.HMMA_16816_F32, ALWAYS, (1, 4), "HMMA"),
    row(_O.DMMA_884, ALWAYS, (1, 4), "DMMA"),
    row(_O.LDGSTS, NEVER, (0, 4), "LDGSTS"),
    row(_O.ASYNC_COMMIT, NEVER, (0, 0), "LDGDEPBAR"),
    row(_O.ASYNC_WAIT, NEVER, (0, 0), "DEPBAR"),
    row(_O.NOP, NEVER, (0, 2), "ARRIVES", ignores_addresses=True),
    row(_O.CONVERT, ALWAYS, (0, 2), "F2FP I2FP"),
    row(_O.VOTE, MAYBE, (0, 1), "REDUX"),
    row(_O.ALU, NEVER, (0, 2), "UF2FP UI2FP"),
)

HOPPER: dict[str, Opcode] = table(
    AMPERE.values(),
    row(_O.ALU, ALWAYS, (0, 3), "VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX FMNMX3"),
    row(_O.LDS, MAYBE, (0, 2), "LDSX"),
    row(_O.STS, NEVER, (1, 3), "STSM"),
    row(_O.MEMBAR, NEVER, (0, 1), "FENCE", ignores_addresses=True),
    row(_O.VOTE, MAYBE, (0, 1), "ELECT"),
    row(_O.NOP, MAYBE, (0, 5), "ENDCOLLECTIVE PREEXIT ACQBULK CGAERRBAR USETMAXREG WARPGROUPSET"),
    row(_O.NOP, MAYBE, (0, 5), "SYNCS UCGABAR_ARV UCGABAR_WAIT", ignores_addresses=True, note=_SIGNAL),
    row(_O.NOP, MAYBE, (0, 3), "WARPGROUP"),
    row(
        _O.NOP,
        MAYBE,
        (0, 5),
        "UBLKCP UBLKPF UBLKRED UTMALDG UTMAPF UTMAREDG UTMASTG UTMACCTL UTMACMDFLUSH STAS REDAS",
        ignores_addresses=True,
        note=_BULK,
    ),
    row(
        _O.OPAQUE,
        MAYBE,
        (0, 5),
        "HGMMA QGMMA IGMMA BGMMA",
        latency_cycles=_GROUP_CYCLES,
        note=_GROUP,
    ),
)
