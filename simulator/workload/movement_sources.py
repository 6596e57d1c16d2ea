"""The table of data movement: why each kind of operator is refused, and what its result consists of."""

from simulator.workload import movement_blocks, movement_boxes
from simulator.workload.movement_rules import Rule, accepted, same_rank

SOURCES = {
    "Transpose": Rule(same_rank, movement_boxes.transposed),
    "Concat": Rule(accepted, movement_boxes.concatenated),
    "Slice": Rule(movement_boxes.no_slice, movement_boxes.sliced),
    "Split": Rule(accepted, movement_boxes.split),
    "Pad": Rule(movement_boxes.no_pad_word, movement_boxes.padded),
    "Expand": Rule(accepted, movement_blocks.expanded),
    "Tile": Rule(same_rank, movement_blocks.expanded),
    "Upsample": Rule(movement_blocks.no_nearest, movement_blocks.nearest),
    "Resize": Rule(movement_blocks.no_nearest, movement_blocks.nearest),
    "DepthToSpace": Rule(same_rank, movement_blocks.to_space),
    "SpaceToDepth": Rule(same_rank, movement_blocks.to_depth),
    "Im2Col": Rule(movement_blocks.no_im2col, movement_blocks.im2col),
}
