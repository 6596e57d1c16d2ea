"""Banks of shared memory, and of the L1 data array, which is the same SRAM: passes of one warp access.

In one pass each bank delivers one word, to any number of lanes. Lanes wider than a bank are served by
half-warps or quarter-warps, each by itself. A published A100 table of conflict latencies (one more pass, two
more cycles) and of stride throughput rests on this count. Not modelled: merging of half-warps that ask for
the same words.
"""

from collections.abc import Sequence

from hwmodels.coalescing import WARP_LANES
from hwmodels.rule import rule

__all__ = ["bank_cycles", "contention"]

WINDOW_BANKS = 48  # banks counted at a time, so that a bit for each fits an integer


@rule
def is_word_asked_before(
    word: int,
    addresses: Sequence[int],
    mask: int,
    first_lane: int,
    lane: int,
    bytes_per_lane: int,
    bank_bytes: int,
) -> int:
    """1 if an active lane from `first_lane` to just before `lane` touches `word`, else 0."""
    for other in range(lane - 1, first_lane - 1, -1):
        if (mask >> other) & 1:
            address = addresses[other]
            if address // bank_bytes <= word <= (address + bytes_per_lane - 1) // bank_bytes:
                return 1
    return 0


@rule
def window_cycles(
    addresses: Sequence[int],
    mask: int,
    first_lane: int,
    lanes: int,
    bytes_per_lane: int,
    banks: int,
    bank_bytes: int,
    first_bank: int,
) -> int:
    """Most distinct words (address // bank_bytes) that a group of lanes wants from one of 48 banks.

    Words are counted for all these banks at once in bit planes: bit b of `ones`, `twos`, ... is a binary
    digit of the count of bank `first_bank` + b. That needs no table, and holds up to 127 words a bank.
    """
    used = ones = twos = fours = eights = sixteens = thirty_twos = sixty_fours = 0
    previous = highest = -1
    for lane in range(first_lane, first_lane + lanes):
        if (mask >> lane) & 1 == 0:
            continue
        first_word = addresses[lane] // bank_bytes
        last_word = (addresses[lane] + bytes_per_lane - 1) // bank_bytes
        if first_word == previous and last_word == previous:
            continue
        previous = last_word
        for word in range(first_word, last_word + 1):
            place = word % banks - first_bank
            if place < 0 or place >= WINDOW_BANKS:
                continue
            bank = 1 << place
            # A word beyond all earlier ones, or in an unused bank, is new without a search.
            if (
                word <= highest
                and used & bank
                and is_word_asked_before(word, addresses, mask, first_lane, lane, bytes_per_lane, bank_bytes)
            ):
                continue
            highest = max(highest, word)
            used |= bank
            carry = ones & bank
            ones ^= bank
            if carry:
                carry, twos = twos & carry, twos ^ carry
                carry, fours = fours & carry, fours ^ carry
                carry, eights = eights & carry, eights ^ carry
                carry, sixteens = sixteens & carry, sixteens ^ carry
                carry, thirty_twos = thirty_twos & carry, thirty_twos ^ carry
                sixty_fours ^= carry
    # From the highest digit down, keep the banks that have it wherever one does; these count most.
    planes = (ones, twos, fours, eights, sixteens, thirty_twos, sixty_fours)
    words = 0
    largest = used
    for digit in range(6, -1, -1):
        if largest & planes[digit]:
            largest &= planes[digit]
            words += 1 << digit
    return words


@rule
def group_cycles(
    addresses: Sequence[int],
    mask: int,
    first_lane: int,
    lanes: int,
    bytes_per_lane: int,
    banks: int,
    bank_bytes: int,
) -> int:
    """Passes of one group of lanes that go together: the words wanted from its busiest bank."""
    low = 1 << 62
    high = -1
    for lane in range(first_lane, first_lane + lanes):
        if (mask >> lane) & 1:
            address = addresses[lane]
            low = address if address < low else low
            high = address if address > high else high
    if high < 0:
        return 0
    if (high + bytes_per_lane - 1) // bank_bytes - low // bank_bytes < banks:
        # Most accesses end here: within one stretch of `banks` words no two share a bank.
        return 1
    cycles = 0
    for first_bank in range(0, banks, WINDOW_BANKS):
        words = window_cycles(
            addresses, mask, first_lane, lanes, bytes_per_lane, banks, bank_bytes, first_bank
        )
        cycles = max(cycles, words)
    return cycles


@rule
def bank_cycles(addresses: Sequence[int], mask: int, bytes_per_lane: int, banks: int, bank_bytes: int) -> int:
    """Cycles that the data port is busy with a warp access; 1 without conflict, 0 if no lane is active.

    Lanes of up to one bank width go together; of twice the width by half-warps, of four times by
    quarter-warps, whose cycles add up.
    """
    lanes = max(1, WARP_LANES // max(1, bytes_per_lane // bank_bytes))
    cycles = 0
    for first_lane in range(0, WARP_LANES, lanes):
        going = min(lanes, WARP_LANES - first_lane)
        cycles += group_cycles(addresses, mask, first_lane, going, bytes_per_lane, banks, bank_bytes)
    return cycles


@rule
def contention(addresses: Sequence[int], mask: int) -> int:
    """Most active lanes on one byte address: the turns that an atomic takes (0 if no lane is active)."""
    most = 0
    left = mask
    for lane in range(WARP_LANES):
        if left == 0:
            break
        if (left >> lane) & 1:
            lanes = 0
            for other in range(lane, WARP_LANES):
                if (left >> other) & 1 and addresses[other] == addresses[lane]:
                    left ^= 1 << other
                    lanes += 1
            most = max(most, lanes)
    return most
