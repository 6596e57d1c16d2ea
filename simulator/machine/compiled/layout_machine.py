"""The machine's record: the numbers of the card that compiled functions read, what moves outside any
component, and the addresses of the tables.

Latencies are cycles of the clock of the unit that they belong to, fields ending in _fs femtoseconds;
distances of DRAM commands are memory clocks and have the names of `dram_distances.py`.
"""

from __future__ import annotations

from simulator.machine.compiled.jit import accessor
from simulator.machine.compiled.layout import PHASE_COUNT, plain
from simulator.machine.compiled.layout_memory import MOST_BANKS
from simulator.machine.compiled.layout_sm import LANES, MOST_BLOCK_WARPS, MOST_LANE_TERMS, MOST_SUB_CORES

TABLES = """
    components       COMPONENT by component: launcher, SMs, crossbar, memory partitions
    pools            POOL by kind of record
    nodes            NODE: pool
    packets          PACKET: pool
    requests         REQUEST: pool
    waiters          WAITER: pool
    l2_waiters       L2_WAITER: pool
    misses           MISS: pool
    transfers        TRANSFER: pool
    arrivals         ARRIVAL: pool
    messages         MESSAGE: pool, of which tapes have pieces
    rounds           by worker a cache line: round that it has done; the main one's is the round that is due
    queues           QUEUE: two an SM, four a slice, its reply FIFO, two a pseudo-channel
    tapes            TAPE: three an inbox, and four by worker and cycle of those for the crossbar
    ordered          ORDERED: one a slice of what waits for it, one of what leaves it, the launcher's inbox
    meters           METER: two an SM, two of the crossbar, three a slice
    counts           counters and states by kernel
    snapshots        the same at each edge of an interval
    operation_counts issued instructions by kernel and operation
    request_counts   finished requests by kernel and class
    latencies        their latencies, summed
    phase_sums       their phases, summed
    finished         FINISHED: log of finished requests
    kept_blocks      KEPT_BLOCK: log of the first blocks of each kernel
    sm_states        SM by SM
    sub_core_states  SUB_CORE by sub-core of all SMs
    looked           by SM: warps to look at, as bits: those of a sub-core stand together in one integer
    free_slots       by SM: slots without a warp
    throttled        by such an integer and queue of the load/store unit: warps that wait for a place in it
    wakes            by SM and cycle ahead: warps to look at then
    places           by bit: place of its sub-core on the SM
    warps            WARP by slot of all SMs
    ready            by warp and register: cycle at which it can be read
    short            cycle of its latest special-function result, −1 for none
    origins          latency of what brought its value
    fresh            operators that have not consumed it since, as bits
    blocks           BLOCK: pool of the launcher
    events           EVENTS by SM and cycle ahead
    event_bits       by SM: which cycles ahead have events
    mshrs            MSHR by SM
    l1_tags          line by slot of all SMs, −1 when empty
    l1_stamps        LRU stamp by slot
    l1_lines         L1_LINE by slot
    seen             by SM and kernel: whether it has had a block here
    residents        by SM and kernel: resident warps, and the cycle up to which they are counted
    buffers          BUFFER by instruction cache: L0 of all sub-cores, then L1 of all SMs
    buffer_lines     their entries
    pages            by SM: page and stamp
    kept_offsets     KEPT_OFFSETS: which offsets have become patterns
    footprints       FOOTPRINT: kept results
    shared_footprints SHARED_FOOTPRINT: kept results
    kernel_states    KERNEL by kernel
    instructions     INSTRUCTION of all kernels
    register_lists   registers that instructions depend on and write
    operands         (register, word, bit) of operands that come from tensors
    steps            steps of all programs
    marks            MARK of all programs
    expressions      EXPRESSION of all programs
    quotients        QUOTIENT of all expressions
    pairs            (variable, factor) of all sums
    guards           GUARD of all instructions
    patterns         PATTERN: offsets of lanes
    variants         recorded: dynamic instructions
    variant_statics  recorded: instruction of a variant
    variant_masks    recorded: lanes of a variant
    bases            recorded: base of each access
    pattern_ids      recorded: pattern of each access
    recorded_rows    recorded: by block, row of its first warp
    starts           recorded: by row, where its variants begin and end, and where its accesses begin
    books            BOOK by SM
    running          kernels with blocks to place, in order of their start
    stream_current   latest scheduled kernel of each stream
    partition_of_sm  L2 partition of each SM
    distances        by SM and slice of a side: cycles beyond the nearest pair
    port_free        by SM: when its request port is free
    slice_credits    by slice: free places of its input queue
    slice_free       by slice: when its request port is free
    armed            by slice: when it may take its next request
    returned         by SM: credits to give back
    reply_free       by SM: when its reply port is free
    turn             by SM: the slice that is first in its round robin
    proposal         by SM: the slice that leads the round, −1 for none
    proposal_place   by SM: its place in the FIFO
    contenders       (slice, place) of a round
    losers           those that go into the next
    proposed         SMs that have a proposal
    partitions       PARTITION by memory partition
    slice_states     SLICE by slice
    l2_tags          line by slot of all slices
    l2_stamps        LRU stamp by slot
    l2_lines         L2_LINE by slot
    near             (line, set) of the lines that are looked at for being written back together
    channels         CHANNEL by channel
    pseudos          PSEUDO by pseudo-channel
    banks            BANK by bank
    key_table        candidates by pseudo-channel and kind
    unwritten        by pseudo-channel and low bits of the sector: chain of write-backs
    segment_table    (field, low bit, width, shift) of the address map
"""
NUMBERS = """
    here worker workers threads yields first_sm last_sm first_part last_part unit_launcher unit_sm
    unit_crossbar unit_partition kernels sms first_kept
    slices sub_cores slot_words warp_slots streams registers operator_words crossbar first_partition
    q_inbox q_request q_leaving q_on_way q_returned q_wheel q_launcher wheel_size wheel_fs
    q_lsu q_slice q_reply q_front meter_crossbar meter_slice component_count channel_count pool_count
    sm_period_fs l2_period_fs
    clock_fs to_sms_fs to_partitions_fs from_sms_fs from_partitions_fs window_fs interval_fs
    keep_requests keep_blocks finished_room finished_low edge_room
    sm_to_crossbar_fs crossbar_to_slice_fs slice_to_crossbar_fs crossbar_to_sm_fs
    crossing_out_fs crossing_cycles slice_to_crossbar crossing_in block_launch_fs block_done_fs launch_gap_fs
    host_fs largest_carveout step_millicycles
    scheduler lg_depth mio_depth hand_over writeback_latency branch_latency fence_latency exit_latency
    warp_setup_tenths barrier_arrival barrier_release l0_buffers l0_buffer_lines l1_buffer_lines
    l1_buffer_first l0_latency l1_instruction_latency smem_banks smem_bank_bytes smem_access pass_interval
    atomic_base atomic_contention port_factor l1_kib l1_unusable_kib l1_ways l1_slots l1_mshrs l1_merges
    tag_banks tag_latency out_cycles hit_cycles refill_cycles page_entries lines_per_page page_miss_cycles
    request_bytes reply_bytes reply_fifo reply_capacity lookahead link_bytes side_slices l2_partitions
    l2_sets l2_ways l2_mshrs l2_merges l2_queue_depth slice_bytes slice_request_bytes
    access_cycles before_cycles after_cycles atomic_tenths write_back_lines groups part_slices part_channels
    part_pseudos whole_lines there_fs back_cycles controller_fs burst_fs lanes bank_count all_banks read_depth
    write_depth drain_high drain_low
    age_limit closed_page refresh postpone refi refi_pb burst_clocks segments bank_bits group_bits
    bank_folds bank_rotation act_pre act_act_bank act_act_group act_act_pc four_acts act_refresh_bank
    act_refresh_group act_refresh_pc act_refresh_all pre_act pre_refresh_bank pre_refresh_all pre_all_act
    pre_all_refresh_all refresh_act_bank refresh_refresh_bank refresh_act_pc refresh_refresh_pc
    refresh_all_act refresh_all_refresh_all act_slots pre_slots refresh_slots slots_per_clock
"""
MOVING = """
    error read_piece crossbar_next launcher_next sms_end_fs partitions_end_fs middle_end_fs middle_fs
    wheel_count requests_due at_sms_fs
    request_number replies_inside late late_number
    link_number block_free free_millicycle running_count finished_count
    kept_block_count next_edge_fs edges until_fs
"""
ARRAYS = f"""
    group_masks:4    sectors that share a reply packet
    link_heaps:2     partition link: heap of packets by side that is left
    link_free:2      when its server is free, in cycles × bytes a cycle
    act_column:2     activate to column command, by mode
    column_pre:2     column command to precharge, by mode
    column_pc:4      column to column command in the pseudo-channel, by mode before and after
    column_group:4   the same in the bank group
    data_clocks:2    column command to the end of its data, by mode
    scratch:{LANES}  offsets of lanes
    life:{PHASE_COUNT} phases of a request
    residues:{MOST_LANE_TERMS} of an expression's quotients with lane
    present:{MOST_BANKS} refresh: requests of each bank in the present direction
    other:{MOST_BANKS}   in the other one
    open_rows:{MOST_BANKS} its open row
    spread_warps:{MOST_SUB_CORES}     launcher: slots left while a block is spread
    spread_registers:{MOST_SUB_CORES} registers left
    chosen:{MOST_BLOCK_WARPS} sub-core of each warp
"""
MACHINE = plain(
    "\n".join((*ARRAYS.strip().splitlines(), *NUMBERS.split(), *MOVING.split(), *TABLES.strip().splitlines()))
)

PRIVATE = """
    here worker first_sm last_sm first_part last_part q_wheel q_launcher error read_piece wheel_count
    crossbar_next launcher_next pools counts operation_counts request_counts latencies phase_sums footprints
    shared_footprints kept_offsets first_kept near
"""
"""What each worker's record has of its own; the rest is copied from that of worker 0."""
SUMMED = ("counts", "operation_counts", "request_counts", "latencies", "phase_sums")
"""Tables that each worker has for itself, and that are added up in the end."""

machine_at = accessor(MACHINE)
