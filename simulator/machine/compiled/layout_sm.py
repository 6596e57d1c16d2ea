"""The tables of the SMs, the launcher and the traces; see `layout.py` for how to read them.

A warp is its slot: what may outlive it (an event, a store under way) also holds its age, which no other warp
of the SM ever has. Registers are numbered densely by kernel. Times ending in _fs are femtoseconds, others SM
cycles.
"""

from __future__ import annotations

from hwmodels.operations import Pipeline
from simulator.machine.compiled.jit import accessor
from simulator.machine.compiled.layout import PHASE_COUNT, plain
from simulator.trace.expression import MAX_LOOP_DEPTH, VARIABLES

LANES = 32
MOST_LANE_TERMS = 4
"""Quotients with lane of an expression whose offsets are kept."""
MOST_LINES = 128
MOST_KEPT_LINES = 32
"""Lines of an access whose footprint is kept."""
MOST_SUB_CORES = 8
WORD_BITS = 64
"""Warp slots of an SM that stand in one integer as bits."""
MOST_BARRIERS = 16
MOST_PHASES = 16
MOST_BLOCK_WARPS = 32
PIPELINES = len(Pipeline)

SM = plain(f"""
    cycle          cycle of its last tick
    foreseen       last cycle of which it has foreseen what a warp lacks, without a tick
    events         heap of the events that lie far ahead, by cycle
    event_number   events booked
    ages           warps accepted
    setup_tenths   when the set-up of warps is free, in tenths of a cycle
    resident       resident warps
    active_cycles  cycles with at least one
    active_since   since when there is one
    order          memory instructions issued
    barrier_free   cycle at which the barrier unit is idle
    credits        packets that may enter the request network
    waiting        instructions in the queues of the load/store unit
    stalled        request whose remaining lines lack something, −1 for none
    port_free:{MOST_PHASES} cycle from which each phase of the data port is free
    mshrs_used     misses on their way
    mshr_free      first free MSHR
    others         stores, reductions and atomics under way
    evictions      write-backs under way
    fences         warps at a fence that wait for stores
    carveout       carve-out in bytes, −1 before the first block
    sets           sets of L1
    stamp          LRU stamp of L1
    pages          pages that the first level of translation holds
    page_stamp     LRU stamp of these
    page_last      place of the page used last
    count          how many lines the instruction in the load/store unit has
    lines:{MOST_LINES}   lines of the instruction in the load/store unit, ascending
    sectors:{MOST_LINES} its sectors of each
    full:{MOST_LINES}    of these, written whole
    lanes:{MOST_LINES}   lanes that start in each
    addresses:{LANES} scratch: addresses of the lanes
""")
EVENTS = plain("""
    head@4 first event of a cycle of an SM, −1 for none
    tail@4 last one
""")
SUB_CORE = plain(f"""
    sm@4           its SM
    word@4         where its warps' bits stand: which integer,
    first_warp@4   the warp of bit 0 there, if each bit were one of its warps,
    mask           its bits,
    above          and the bits of the sub-cores behind it
    queued@4:2     instructions in the queues of the load/store unit: global and local memory, the rest
    pipe_free:{PIPELINES} when each pipeline is free, in tenths of a cycle
    dispatch_free  cycle at which the dispatcher is free
    last_age       age of the warp that issued last, −1 before
    last_bit       its bit
""")
WARP = plain(
    f"""
    since            cycle from which it has not been accounted
    fetch_ready      cycle at which the next instruction is in the buffer
    branch_ready     cycle at which a taken branch is resolved
    alive            lanes that exist and have not exited
    following@4      next instruction, numbered over all kernels; −1 once the program has ended
    kernel@4         its kernel
    age@4            launch order on the SM: the smaller, the older
    sub@4            sub-core, numbered over all SMs
    fetch_line@4     line of the buffer
    step@4           place in the steps of the program
    used@1           whether a warp is resident here
    bit@1            its bit among those of the SM's slots
    state@1          warp state
    exited@1         whether it has exited
    barrier@1        barrier at which it waits, −1 for none
    has_short@1      whether a special function has ever written a register
    clear@1          whether its next instruction lacks nothing but a pipeline or a place in a queue
    place            recorded: place in the variants
    end              recorded: where they end
    access           recorded: place in the accesses
    slot@2           slot on the SM
    index@2          place in the block
    block@4          its block
    loads@4          loads, atomics and asynchronous copies that have not returned
    unsent@4         stores that have not been handed over
    unacknowledged@4 packets whose acknowledgement is out
    copies@4         open group of asynchronous copies, −1 for none
    group_first@4    oldest committed group, −1 for none
    group_last@4     youngest
    groups@4         committed groups
    values:{VARIABLES} values of the variables of expressions
    limits:{MAX_LOOP_DEPTH} turns of the loops that it is in
""",
    whole_lines=True,
)
BLOCK = plain(f"""
    kernel      its kernel
    index       its number in the grid
    warps       warps
    live        warps that have not ended their drain
    running     warps that have not exited
    next        free list
    sub_core@1:{MOST_BLOCK_WARPS} sub-core of each warp
    warp@4:{MOST_BLOCK_WARPS}     each warp
    age@4:{MOST_BLOCK_WARPS}      its age
    arrived@2:{MOST_BARRIERS}     warps that wait at each barrier
    carveout    carve-out of its SM in bytes
    start_fs    when its SM took it in
    end_fs      when it ended
    sm          its SM
""")
REQUEST = plain(
    f"""
    issue      cycle of issue
    order      sequence on the SM
    first_byte address of lane 0, before its offset
    ready      first cycle at which the load/store unit may take it
    picked     cycle at which it did
    hit_ready  cycle at which what L1 held is read
    last_fs    arrival of the latest part so far
    last_line  its line
    mask       active lanes
    warp@4     warp
    age@4      its age
    kernel@4   its kernel
    inst@4     instruction, numbered over all kernels
    next@4     following one in a queue of the load/store unit
    pattern@4  pattern of the offsets, −1 when it is not a kept one
    group@4    group of asynchronous copies, −1 for none
    sm@2       its SM
    slot@2     slot of the warp
    left@2     lines still to be looked up
    passes@4   data-port cycles
    parts@4    lines or packets on their way
    counted@1  whether its latency has been accounted before its end
    phases:{PHASE_COUNT} phases of the latest part
    offsets:{LANES} offsets of the lanes where no kept pattern has them
""",
    whole_lines=True,
)
MSHR = plain(
    """
    next      free list
    since_fs  when it was opened
    first@4   first entry of the chain of waiters
    last@4    last one
    waiters@4 how many have come
    same@4    following miss that fills the same line
    slot@4    slot of L1 that it fills, −1 when nothing is kept
    sectors@1 sectors that have not arrived
""",
    whole_lines=True,
)
WAITER = plain(
    """
    line         line of memory
    looked_up    cycle of the tag look-up
    extra@4      cycles that its translation took
    request@4    request
    warp@4       its warp
    own@4        its own miss, −1 if it only merged
    references@4 chains that it stands in
    sectors@1    sectors that it waits for
""",
    whole_lines=True,
)
L1_LINE = plain("""
    kernel@4   kernel that it is charged to
    bringing@4 first miss that fills it, −1 for none
    valid@1    sectors that can be read
    pending@1  sectors on their way
    dirty@1    sectors that L2 has older
""")
BUFFER = plain("""
    lines    lines that an instruction cache holds
    stamp    LRU stamp
    latest   place of the line found last, from its first place
""")
KERNEL = plain(f"""
    first          its first instruction
    step_first     its first step
    mark_first     its first mark
    lines          instruction lines
    first_line     its first instruction line, numbered over all kernels
    warps          warps a block
    threads        threads a block
    grid_x         blocks in x
    grid_y         blocks in y
    recorded       whether it is a recording
    first_variant  recorded: its first variant
    first_row      recorded: row of block 0's first warp in the table of starts
    blocks         blocks
    stream         place of its stream in the order of streams
    following      next kernel of its stream, −1 for none
    consumes       whether operators consume values in its registers
    registers      registers a warp
    shared         shared memory a block, in bytes
    barriers       barriers a block
    meeting:{MOST_BARRIERS}     warps that meet at each barrier, 0 for all that have not exited
    carveout       carve-out that it asks for
    next_block     blocks placed
    done           blocks ended
    start_fs       when it starts, −1 before that is known
    end_fs         when its last block ended
    gap_fs         from the end of the one before to its start
    running        whether it has started and has blocks to place
    blocked        limiters that hold the next block back, as a bit mask
    blocked_since  since when
    blocked_cycles:5 cycles so far by limiter
""")
INSTRUCTION = plain(
    """
    mask              lanes
    fetch_line@4      line of its program
    latency@4         cycles to its result
    interval_tenths@4 tenths of a cycle between issues
    depends@4         first register that must be ready
    dst@4             first destination register
    consumes@4        first operand that comes from a tensor
    operation@1       class
    kind@1            which way it goes after issue
    pipeline@1        what it occupies
    access_class@1    class of memory request
    operand_cycles@2  cycles to read its operands
    depends_count@2   how many
    needs@2:2         the first two of them, or the first one twice
    dst_count@2       how many
    consumes_count@2  how many
    produces@1        whether it leaves a tensor's value without a load, which an operator consumes
    brings@1          whether an operator consumes what it loads
    accesses@1        recorded: address records
    bypass@1          whether it goes past L1
    bytes_per_lane@1  width
    result@2          the first register that it writes
    simple@1          whether it only computes one register, which nobody counts
    plain@1           whether the next instruction of its line follows it, without a mark between
    asks_lanes@1      whether its lanes are not just those of its mask that are alive
    count@4           barrier's id, or groups that may stay open
    full_passes@2     data-port cycles that the width alone needs
    guard_count@2     how many
    guard@4           first guard
    address@4         expression of its address, −1 for none
""",
    whole_lines=True,
)
MARK = plain("""
    kind      BEGIN, END, EXITED or STOP
    variable  loop counter
    partner   step of the other end of the loop
    trips     expression of the turns
""")
EXPRESSION = plain("""
    constant      part without variables
    pairs         first pair of variable and factor
    pair_count    how many
    quotients     first quotient without lane
    quotient_count how many
    lane_terms    first quotient with lane
    lane_count    how many
    stride        lane's factor
    pattern       offsets where there is no quotient with lane
    low           least of these
    high          greatest
""")
QUOTIENT = plain("""
    coefficient  factor of the quotient
    pairs        first pair of variable and factor inside it
    pair_count   how many
    offset       number inside it
    divisor      divisor
    modulus      0 for none
    lane_factor  factor of the lane inside it
    period       divisor times modulus
""")
GUARD = plain("""
    expression  what is compared
    low         lanes are active from here
    high        to below here
""")
PATTERN = plain(f"""
    offsets:{LANES} offset of each lane
""")
KEPT_OFFSETS = plain(f"""
    expression  whose offsets pattern `first_kept` + this place has, −1 when empty
    shift       what they add to the base besides whole periods
    low         least of these offsets
    high        greatest
    residues:{MOST_LANE_TERMS}  what each quotient with lane had inside, modulo its period
""")
FOOTPRINT = plain(f"""
    pattern   key: pattern, −1 when empty
    place     base inside a line
    mask      lanes
    width     bytes a lane
    count     lines
    data_passes of the access
    lines:{MOST_KEPT_LINES}     lines relative to the base's
    sectors@1:{MOST_KEPT_LINES} sectors of each
    full@1:{MOST_KEPT_LINES}    of these, whole
    lanes@1:{MOST_KEPT_LINES}   lanes that start in each
""")
SHARED_FOOTPRINT = plain("""
    pattern   key: pattern, −1 when empty
    place     base inside the banks
    mask      lanes
    width     bytes a lane
    passes    data-port cycles
    most      lanes on the most contended address
""")
BOOK = plain(f"""
    warps:{MOST_SUB_CORES}     free warp slots of each sub-core
    registers:{MOST_SUB_CORES} free registers of each
    blocks     free block slots
    barriers   free barriers
    carveout   carve-out
    shared     free shared memory
    resident   blocks placed
    refused    1 + kernel whose next block it has no room for as it is, 0 for none known
""")
FINISHED = plain(f"""
    kernel        kernel of a finished request
    sm            its SM
    slot          slot of its warp
    access_class  class
    issue_fs      when it was issued
    finish_fs     when it wrote back
    phases:{PHASE_COUNT} its life
""")
KEPT_BLOCK = plain("""
    kernel    kernel of a block
    index     its number in the grid
    sm        its SM
    start_fs  when that took it in
    end_fs    when it ended
""")

sm_at = accessor(SM)
events_at = accessor(EVENTS)
sub_core = accessor(SUB_CORE)
warp_at = accessor(WARP)
block_at = accessor(BLOCK)
request_at = accessor(REQUEST)
mshr = accessor(MSHR)
waiter_at = accessor(WAITER)
l1_line = accessor(L1_LINE)
buffer_at = accessor(BUFFER)
kernel_at = accessor(KERNEL)
instruction = accessor(INSTRUCTION)
mark_at = accessor(MARK)
expression = accessor(EXPRESSION)
quotient = accessor(QUOTIENT)
guard_at = accessor(GUARD)
pattern_at = accessor(PATTERN)
kept_offsets = accessor(KEPT_OFFSETS)
footprint_at = accessor(FOOTPRINT)
shared_at = accessor(SHARED_FOOTPRINT)
book_at = accessor(BOOK)
finished_at = accessor(FINISHED)
kept_block_at = accessor(KEPT_BLOCK)
