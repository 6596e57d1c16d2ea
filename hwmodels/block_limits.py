"""What a kernel's block needs of an SM, how many blocks each resource allows, and why a kernel cannot launch.

Puts numbers into the rules of `occupancy_rules`. Limits that do not apply are `NO_LIMIT`. A need that is
merely too large is answered with 0 blocks and a sentence; a number that no kernel can have is an InputError.
"""

from dataclasses import dataclass

from hwmodels import occupancy_rules as rules
from hwmodels.errors import InputError
from hwmodels.sm_limits import KIB, SmLimits

LIMITERS = ("registers", "shared_memory", "warps", "blocks", "barriers")


@dataclass(frozen=True, slots=True)
class BlockNeeds:
    """Threads a block, registers a thread, bytes of shared memory and named barriers a block."""

    threads: int
    registers: int
    shared_bytes: int
    barriers: int = 0
    carveout_kib: int | None = None  # None: the largest carve-out
    opt_in: bool = True  # whether the kernel asked for more shared memory than the default limit

    @property
    def warps(self) -> int:
        """Warps a block."""
        return rules.warps_of_block(self.threads)


def check_needs(sm: SmLimits, needs: BlockNeeds) -> None:
    """Refuse what no kernel can ask for: negative or absurd numbers, a carve-out larger than there is."""
    asked = {
        "threads": (needs.threads, 1),
        "registers": (needs.registers, 0),
        "shared": (needs.shared_bytes, 0),
        "barriers": (needs.barriers, 0),
    }
    for name, (value, least) in asked.items():
        if not least <= value < rules.NO_LIMIT:
            raise InputError(name, f"{value} is out of range", f"give {least} to {rules.NO_LIMIT - 1}")
    largest_kib = sm.carveouts_bytes[-1] // KIB
    if needs.carveout_kib is not None and not 0 <= needs.carveout_kib <= largest_kib:
        sizes = ", ".join(str(size // KIB) for size in sm.carveouts_bytes)
        raise InputError("carveout", f"{needs.carveout_kib} KiB is out of range", f"{sm.name} has {sizes}")


def register_limit(sm: SmLimits, warps: int, registers: int) -> int:
    """Blocks of `warps` that the register file holds at `registers` a thread."""
    return rules.register_limit(
        warps,
        registers,
        sm.register_file_registers,
        sm.sub_cores,
        sm.register_unit,
        sm.registers_max_per_thread,
    )


def shared_allocation(sm: SmLimits, shared_bytes: int) -> int:
    """Bytes that a block of `shared_bytes` takes from the carve-out."""
    return rules.shared_allocation(shared_bytes, sm.shared_reserved_bytes, sm.shared_unit_bytes)


def carveout_bytes(sm: SmLimits, needs: BlockNeeds, shared_bytes: int) -> int:
    """The carve-out for a kernel with these needs, were its blocks to use `shared_bytes`."""
    preferred = -1 if needs.carveout_kib is None else needs.carveout_kib * KIB
    return rules.chosen_carveout(shared_allocation(sm, shared_bytes), preferred, sm.carveouts_bytes)


def shared_limit(sm: SmLimits, needs: BlockNeeds, shared_bytes: int) -> int:
    """Blocks that the carve-out holds, were they to use `shared_bytes`."""
    return rules.shared_limit(
        shared_bytes,
        shared_allocation(sm, shared_bytes),
        sm.shared_max_bytes if needs.opt_in else sm.shared_default_bytes,
        carveout_bytes(sm, needs, shared_bytes),
    )


def block_limits(sm: SmLimits, needs: BlockNeeds) -> dict[str, int]:
    """Blocks an SM that each limiter allows by itself."""
    too_wide = needs.threads > sm.max_threads_per_block
    return {
        "registers": register_limit(sm, needs.warps, needs.registers),
        "shared_memory": shared_limit(sm, needs, needs.shared_bytes),
        "warps": 0 if too_wide else rules.warp_limit(needs.warps, sm.warp_slots),
        "blocks": sm.block_slots,
        "barriers": rules.barrier_limit(needs.barriers, sm.barrier_slots),
    }


def launch_problem(sm: SmLimits, needs: BlockNeeds) -> str:
    """Why not even one block starts: the first limit that is broken, and by how much. Empty when one does."""
    warp_registers = rules.registers_of_warp(needs.registers, sm.register_unit)
    block_registers = warp_registers * rules.round_up(needs.warps, sm.sub_cores)
    shared_most = sm.shared_max_bytes if needs.opt_in else sm.shared_default_bytes
    bounds = (
        (needs.threads, sm.max_threads_per_block, "threads a block"),
        (needs.warps, sm.warp_slots, "warps a block"),
        (needs.registers, sm.registers_max_per_thread, "registers a thread"),
        (block_registers, sm.register_file_registers, "registers a block"),
        (needs.shared_bytes, shared_most, "bytes of shared memory a block"),
        (shared_allocation(sm, needs.shared_bytes), sm.carveouts_bytes[-1], "bytes of carve-out a block"),
        (needs.barriers, sm.barrier_slots or rules.NO_LIMIT, "barriers a block"),
        (1, sm.block_slots, "block slots"),
    )
    for asked, most, what in bounds:
        if asked > most:
            return f"{asked} {what}, {asked - most} over the limit of {most}"
    return ""


def require_launchable(sm: SmLimits, needs: BlockNeeds, place: str) -> None:
    """Raise an InputError at `place` for a kernel of which not even one block starts."""
    check_needs(sm, needs)
    problem = launch_problem(sm, needs)
    if problem:
        raise InputError(place, f"the kernel cannot launch on {sm.name}: {problem}", "give it less")
