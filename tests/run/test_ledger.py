"""Idle time is charged to what was done meanwhile, and the account stays small however long a run is."""

from __future__ import annotations

import json

import pytest

from tflint_gpu.gpu.watch import Sample as CardSample
from tflint_gpu.run.ledger import Ledger
from tflint_gpu.run.samples import Decoder, Memory, Place, Sample, Stack, Waits
from tflint_gpu.run.timeline import MOST_BINS


def place(row: int, function: str = "train") -> Place:
    return Place("/project/train.py", row, function, 1, 99)


def sample(end: float, row: int, waits: Waits = "", span: float = 0.02, feeding: tuple[Stack, ...] = ()) -> Sample:
    return Sample(end, span, (place(row),), "", waits, feeding)


def idle(ledger: Ledger) -> dict[int, float]:
    return {line.place.row: round(line.spent.idle, 3) for line in ledger.lines() if line.place is not None}


def account(*samples: Sample, card: dict[float, int | None] | None = None) -> Ledger:
    """The account of samples, with what a card told at some moments."""
    ledger = Ledger(card is not None, 0.0)
    moments = sorted((card or {}).items())
    for one in samples:
        while moments and moments[0][0] < one.seconds:
            end, use = moments.pop(0)
            ledger.take_card(end, CardSample(end, use, memory=5, card_memory=9))
        ledger.take(one)
    for end, use in moments:
        ledger.take_card(end, CardSample(end, use))
    ledger.finish()
    return ledger


FEED = ((place(7, "load"),),)


@pytest.mark.parametrize(
    ("samples", "card", "charged"),
    [
        pytest.param([sample(1, 1, span=1)], None, {1: 1.0}, id="Python keeps a GPU waiting"),
        pytest.param([sample(1, 1, "execute", 1)], None, {1: 0.0}, id="operations do not"),
        pytest.param([sample(1, 1, "read", 1)], None, {1: 1.0}, id="without a card a read is the host's wait"),
        pytest.param([sample(1, 1, "feed", 1, FEED)], None, {7: 1.0}, id="what feeds is blamed"),
        pytest.param([sample(1, 1, "execute", 1, FEED)], None, {1: 0.0}, id="not while operations run beside it"),
        pytest.param([sample(1, 1, "execute", 1, FEED)], {1: 0}, {7: 1.0}, id="but where the card does nothing"),
        pytest.param([sample(1, 1, "read", 1)], {1: 100}, {1: 0.0}, id="a read while the card works costs nothing"),
        pytest.param(
            [sample(1, 1, "", 1), sample(2, 2, "execute", 1)], {2: 50}, {1: 1.0, 2: 0.0}, id="Python before operations"
        ),
        pytest.param(
            [sample(1, 1, "", 1), sample(2, 2, "execute", 1)], {2: 25}, {1: 1.0, 2: 0.5}, id="the rest to operations"
        ),
        pytest.param([sample(1, 1, "", 1), sample(2, 2, "", 1)], {2: 75}, {1: 0.25, 2: 0.25}, id="in proportion"),
        pytest.param([sample(1, 1, "", 1)], {1: None}, {1: 1.0}, id="a card that tells nothing (MIG)"),
        pytest.param([sample(1, 1, "", 1), sample(2, 1, "", 1)], {1: 100}, {1: 1.0}, id="a card that is lost"),
    ],
)
def test_idle_time_is_charged(
    samples: list[Sample], card: dict[float, int | None] | None, charged: dict[int, float]
) -> None:
    assert idle(account(*samples, card=card)) == charged


def test_what_the_card_told_is_summed_up() -> None:
    ledger = account(sample(1, 1, "", 1), sample(2, 1, "", 1), sample(3, 1, "", 1), card={1: 0, 2: 9, 3: 91})
    assert (ledger.watched, round(ledger.busy, 6), ledger.low) == (3, 1.0, 2)
    assert ledger.held == 5
    assert ledger.idle == pytest.approx(2.0)


def test_what_feeds_while_operations_run_is_listed_apart() -> None:
    ledger = account(sample(1, 1, "execute", 1, FEED), sample(2, 1, "execute", 1))
    assert [(doing.stack, spent.seconds) for doing, spent in ledger.feeding.items()] == [(FEED[0], 1.0)]
    assert not account(sample(1, 1, "feed", 1, FEED)).feeding


@pytest.mark.slow
def test_an_account_of_hours_stays_small() -> None:
    ledger = Ledger(False, 0.0)
    for number in range(60_000):
        stack = tuple(place(number % 3000 + depth) for depth in range(1 + number % 7))
        ledger.take(Sample(number * 0.5, 0.5, stack, str(number % 4), ""))
    assert len(ledger.entries) <= 20_010 and len(ledger.timeline.bins) <= MOST_BINS
    assert sum(spent.seconds for spent in ledger.entries.values()) == pytest.approx(30_000)
    assert sum(one.seconds for one in ledger.timeline.bins) == pytest.approx(30_000, rel=0.001)
    assert max(len(one.places) for one in ledger.timeline.bins) <= 8


def test_a_silent_card_does_not_fill_the_memory() -> None:
    ledger = Ledger(True, 0.0)
    for number in range(10_000):
        ledger.take(sample(number * 0.02, 1))
    assert len(ledger._unsettled) < 4000


def test_the_samplers_lines_are_read() -> None:
    decoder = Decoder()
    lines = [
        ["P", 5, 1, "/a.py", 3, "f", 1, 9],
        ["P", 5, 2, "/a.py", 12, "<module>", 1, 20],
        ["S", 5, 1, [1, 2]],
        ["T", 5, 1.5, 0.02, 1, "fit", "execute", [1]],
        ["P", 6, 1, "/a.py", 4, "g", 4, 5],
        ["S", 6, 1, [1]],
        ["T", 6, 1.6, 0.02, 1, "", "", []],
        ["M", 5, 10, 20],
    ]
    read = [decoder.read(json.dumps(line).encode()) for line in lines]
    stack = (Place("/a.py", 3, "f", 1, 9), Place("/a.py", 12, "<module>", 1, 20))
    assert read[3] == Sample(1.5, 0.02, stack, "fit", "execute", (stack,))
    assert read[6] == Sample(1.6, 0.02, (Place("/a.py", 4, "g", 4, 5),), "", "", (), False)
    assert read[7] == Memory(10, 20) and decoder.processes == 2
    for broken in (b"", b"{", b"[]", b'["T", 5]', b'["T", 9, 1, 1, 7, "", "", [3]]', b'"x"', b'["S", 5, 1, [[]]]'):
        assert decoder.read(broken) is None
