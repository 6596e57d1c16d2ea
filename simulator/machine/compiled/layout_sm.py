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
MOST_LINES = 128
MOST_SUB_CORES = 8
MOST_BARRIERS = 16
MOST_PHASES = 16
MOST_BLOCK_WARPS = 32
PIPELINES = len(Pipeline)

SM = plain(f"""
    cycle          cycle of its last tick
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
    carveout       carve-out in bytes, −1 before the first block
    sets           sets of L1
    stamp          LRU stamp of L1
    pages          pages that the first level of translation holds
    page_stamp     LRU stamp of these
    page_last      place of the page used last
    lines:{MOST_LINES}   lines of the instruction in the load/store unit, ascending
    sectors:{MOST_LINES} its sectors of each
    full:{MOST_LINES}    of these, written whole
    lanes:{MOST_LINES}   lanes that start in each
    count          how many lines
    addresses:{LANES} scratch: addresses of the lanes
""")
SUB_CORE = plain(f"""
    candidates     warps to look at
    pipe_free:{PIPELINES} when each pipeline is free, in tenths of a cycle
    dispatch_free  cycle at which the dispatcher is free
    last_age       age of the warp that issued last, −1 before
    last_slot      its slot
""")
WARP = plain(
    f"""
    used         whether a warp is resident here
    slot         slot on the SM
    sub          sub-core, numbered over all SMs
    age          launch order on the SM: the smaller, the older
    kernel       its kernel
    block        its block
    index        place in the block
    following    next instruction, numbered over all kernels; −1 once the program has ended
    state        warp state
    since        cycle from which it has not been accounted
    fetch_ready  cycle at which the next instruction is in the buffer
    fetch_line   line of the buffer
    branch_ready cycle at which a taken branch is resolved
    loads        loads, atomics and asynchronous copies that have not returned
    unsent       stores that have not been handed over
    unacknowledged packets whose acknowledgement is out
    copies       open group of asynchronous copies, −1 for none
    group_first  oldest committed group, −1 for none
    group_last   youngest
    groups       committed groups
    exited       whether it has exited
    listed       whether it is a candidate
    parked       at a barrier, at a fence or exited
    barrier      barrier at which it waits, −1 for none
    has_short    whether a special function has ever written a register
    step         place in the steps of the program
    gone         lanes that have exited
    launched     lanes that exist
    mask         lanes of the next instruction, −1 before it is asked for
    place        recorded: place in the variants
    end          recorded: where they end
    access       recorded: place in the accesses
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
    sub_core:{MOST_BLOCK_WARPS} sub-core of each warp
    warp:{MOST_BLOCK_WARPS}     each warp
    age:{MOST_BLOCK_WARPS}      its age
    arrived:{MOST_BARRIERS}     warps that wait at each barrier
    carveout    carve-out of its SM in bytes
    start_fs    when its SM took it in
    end_fs      when it ended
    sm          its SM
""")
REQUEST = plain(
    f"""
    next        free list
    warp        warp
    age         its age
    sm          its SM
    kernel      its kernel
    slot        slot of the warp
    inst        instruction, numbered over all kernels
    issue       cycle of issue
    order       sequence on the SM
    mask        active lanes
    first_byte  address of lane 0, before its offset
    pattern     pattern of the offsets, −1 when it is not a kept one
    ready       first cycle at which the load/store unit may take it
    picked      cycle at which it did
    left        lines still to be looked up
    passes      data-port cycles
    parts       lines or packets on their way
    hit_ready   cycle at which what L1 held is read
    last_fs     arrival of the latest part so far
    last_line   its line
    group       group of asynchronous copies, −1 for none
    phases:{PHASE_COUNT} phases of the latest part
    offsets:{LANES} offsets of the lanes where no kept pattern has them
""",
    whole_lines=True,
)
MSHR = plain(
    """
    next       free list
    line       line of memory
    sectors    sectors that have not arrived
    fills      whether what arrives is kept in L1
    since_fs   when it was opened
    first      first entry of the chain of waiters
    last       last one
    waiters    how many have come
    same       following miss that fills the same line
""",
    whole_lines=True,
)
WAITER = plain(
    """
    next       free list
    request    request
    line       line of memory
    sectors    sectors that it waits for
    own        its own miss, −1 if it only merged
    looked_up  cycle of the tag look-up
    references chains that it stands in
""",
    whole_lines=True,
)
L1_LINE = plain("""
    line     line of memory, −1 when empty
    valid    sectors that can be read
    pending  sectors on their way
    dirty    sectors that L2 has older
    stamp    LRU stamp
    kernel   kernel that it is charged to
    bringing first miss that fills it, −1 for none
""")
BUFFER = plain("""
    lines    lines that an instruction cache holds
    stamp    LRU stamp
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
INSTRUCTION = plain("""
    fetch_line      line of its program
    operation       class
    kind            which way it goes after issue
    pipeline        what it occupies
    latency         cycles to its result
    interval_tenths tenths of a cycle between issues
    operand_cycles  cycles to read its operands
    depends         first register that must be ready
    depends_count   how many
    dst             first destination register
    dst_count       how many
    consumes        first operand that comes from a tensor
    consumes_count  how many
    produces        whether it leaves a tensor's value without a load
    bytes_per_lane  width
    access_class    class of memory request
    bypass          whether it goes past L1
    count           barrier's id, or groups that may stay open
    full_passes     data-port cycles that the width alone needs
    mask            lanes
    guard           first guard
    guard_count     how many
    address         expression of its address, −1 for none
    accesses        recorded: address records
""")
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
FOOTPRINT = plain("""
    pattern   key: pattern, −1 when empty
    place     base inside a line
    mask      lanes
    width     bytes a lane
    count     lines
    data_passes of the access
    lines:64  lines relative to the base's
    sectors:64 sectors of each
    full:64   of these, whole
    lanes:64  lanes that start in each
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
footprint_at = accessor(FOOTPRINT)
shared_at = accessor(SHARED_FOOTPRINT)
book_at = accessor(BOOK)
finished_at = accessor(FINISHED)
kept_block_at = accessor(KEPT_BLOCK)
