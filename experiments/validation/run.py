"""Validation from tables to judged rows: what each row asks for, replays of what is not kept, ours in the
row's unit.

Requests that one probe answers together form a job; jobs run in processes of their own, and each answer is
kept as soon as it is there, so that an interrupted validation goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context

from experiments.validation import store
from experiments.validation.bandwidth_quantities import HANDLERS as RATES
from experiments.validation.bandwidth_quantities import bandwidth_request
from experiments.validation.boards import card_of, die_of
from experiments.validation.conditions import clock_mhz
from experiments.validation.judge import BY_SIGN, COVERED, Judged, against_groups, refused
from experiments.validation.kernel_quantities import kernel_request, too_short
from experiments.validation.latency_quantities import latency_request
from experiments.validation.measurements import Measurement
from experiments.validation.replays import answer
from experiments.validation.request import (
    NO_CARD,
    NO_MEASUREMENT,
    NOT_REPLAYED,
    OWN_SPILLS,
    Refusal,
    Request,
)
from experiments.validation.units import convert
from experiments.workers import default_workers
from hwmodels import Gpu

KINDS = {
    "lat": "latency", "bw": "bandwidth", "tput": "throughput", "derived": "bandwidth", "time": "time",
    "kernel": "kernel",
}  # fmt: skip
OTHER_CLOCK = 0.005
"""Clocks that differ by more than this are replayed at the row's."""
Report = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A row, the card that it is replayed on, and what it asks for."""

    row: Measurement
    card: str
    clock_mhz: int
    wanted: Request | Refusal


def wanted_of(row: Measurement, gpu: Gpu) -> Request | Refusal:
    """What a row asks for on a card."""
    prefix = row.quantity.partition(".")[0]
    if prefix not in KINDS:
        return Refusal(NO_MEASUREMENT)
    if row.value is None:
        return Refusal(NO_MEASUREMENT, "a word instead of a number")
    if prefix == "lat":
        return latency_request(row, gpu)
    if prefix in RATES:
        return bandwidth_request(row, gpu)
    return kernel_request(row, gpu)


def ask(rows: Iterable[Measurement], cards: Sequence[str] = ()) -> list[Asked]:
    """What rows ask for; with `cards` only those of these cards. A card's file stands for the board that it
    is named after.
    """
    given = {card_at(card, 0).name: card for card in cards}
    known: dict[str, Gpu] = {}
    asked = []
    for row in rows:
        name = card_of(row.gpu)
        if given and name not in given:
            continue
        if name is None:
            asked.append(Asked(row, "", 0, Refusal(NO_CARD)))
            continue
        card = given.get(name, name)
        if card not in known:
            known[card] = card_at(card, 0)
        asked.append(Asked(row, card, clock_mhz(row.conditions) or 0, wanted_of(row, known[card])))
    return asked


@lru_cache(maxsize=64)
def card_at(card: str, clock: int) -> Gpu:
    """A card at the clock that a row names; L2 follows where both have one clock."""
    gpu = Gpu.from_card(card)
    if not clock or abs(clock / gpu.clock_mhz - 1) <= OTHER_CLOCK:
        return gpu
    both = gpu.l2.clock_mhz == gpu.clock_mhz
    return gpu.with_overrides({"clock_mhz": clock, **({"l2.clock_mhz": clock} if both else {})})


def validate(
    rows: Iterable[Measurement],
    cards: Sequence[str] = (),
    *,
    processes: int | None = None,
    report: Report | None = None,
    replaying: bool = True,
) -> list[Judged]:
    """All rows, judged; without `replaying` those whose answer is not kept have none."""
    asked = ask(rows, cards)
    answers = answered(asked, processes=processes, report=report) if replaying else kept_answers(asked)
    return against_groups([_judged(one, answers) for one in asked])


Key = tuple[str, int, Request]


def answered(
    asked: Sequence[Asked], *, processes: int | None = None, report: Report | None = None
) -> dict[Key, float]:
    """The answers of all requests, from the store or replayed."""
    keys = dict.fromkeys(
        (one.card, one.clock_mhz, one.wanted) for one in asked if isinstance(one.wanted, Request)
    )
    found: dict[Key, float] = {}
    jobs: dict[tuple[object, ...], list[Key]] = {}
    for key in keys:
        known = store.kept(key[2], card_at(key[0], key[1]))
        if known is None:
            jobs.setdefault(_job(key), []).append(key)
        else:
            found[key] = known
    replayed = _replayed(list(jobs.values()), processes or default_workers(len(jobs)))
    for done, made in enumerate(replayed, 1):
        found.update(made)
        if report is not None:
            card, _, wanted = next(iter(made))
            report(f"{card}: {wanted.family}", done / len(jobs))
    return found


def kept_answers(asked: Sequence[Asked]) -> dict[Key, float]:
    """The answers that are in the store."""
    found = {}
    for one in asked:
        if isinstance(one.wanted, Request):
            known = store.kept(one.wanted, card_at(one.card, one.clock_mhz))
            if known is not None:
                found[one.card, one.clock_mhz, one.wanted] = known
    return found


def _job(key: Key) -> tuple[object, ...]:
    """What a probe answers together is one job."""
    parameters = dict(key[2].parameters)
    group = parameters.get("group", "operations" if key[2].replay in {"operation", "throughput"} else None)
    return (key[0], key[1], group) if group else key


def _replayed(jobs: list[list[Key]], processes: int) -> Iterable[dict[Key, float]]:
    if processes < 2:
        yield from map(replay_job, jobs)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        futures = [pool.submit(replay_job, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def replay_job(job: list[Key]) -> dict[Key, float]:
    """Replay the requests of a job and keep each answer."""
    made = {}
    for key in job:
        gpu = card_at(key[0], key[1])
        made[key] = answer(key[2], gpu)
        store.keep(key[2], gpu, made[key])
    return made


def _judged(one: Asked, answers: dict[Key, float]) -> Judged:
    if isinstance(one.wanted, Refusal):
        return refused(one.row, one.card, one.wanted)
    gpu = card_at(one.card, one.clock_mhz)
    value = answers.get((one.card, one.clock_mhz, one.wanted))
    if value is None:
        return refused(one.row, one.card, Refusal(NOT_REPLAYED))
    short = too_short(one.wanted, value)
    if short is not None:
        return refused(one.row, one.card, short)
    kind = KINDS[one.row.quantity.partition(".")[0]]
    group = (kind, die_of(gpu), one.wanted.family, one.wanted.method)
    ours = convert(one.wanted.kind, value, one.row.unit, gpu, one.row.place)
    status = BY_SIGN if one.wanted.method == OWN_SPILLS else COVERED
    return Judged(one.row, one.card, tuple(filter(None, group)), ours, status)
