"""What somebody who must choose between releases can make of their risk cards.

A method is said to tell of fewer people than another only where they differ by more than LEAST of the people, and the
intervals of both lie apart; or where there are none because nothing was repeated: then it is said of these releases
alone.
"""

from collections.abc import Callable, Mapping, Sequence

from decloak.report.card import ROWS, Cell, ExposureCard
from decloak.report.knowledge import listed
from decloak.report.verdict_words import percent, whole

__all__ = ["advice"]

LEAST = 0.02
"""Of the people: releases that differ by less are not told apart."""
RANKED = ("singled_out_2", "inferred_own", "implied")
"""The rows by which releases are told apart, one of a group that says something of all of them."""
WORDS = {
    "singled_out_2": "two known items single out",
    "inferred_own": "a guess at one of their items is right for",
    "implied": "from two known items a third follows for certain for",
}
FEW = 4
"""Releases whose numbers a sentence has room for."""


def advice(cards: Sequence[ExposureCard]) -> str:
    """What somebody can do who must choose: which release tells of the fewest people, in what, and at what cost."""
    if len({card.releases for card in cards}) < max(2, len(cards)):
        return ""  # one release, looked at by several attackers, is no choice
    if len(set(map(_whom, cards))) > 1:
        return "These releases are of different people: their numbers say nothing of each other."
    fewest = {figure: best for figure in RANKED if (best := _fewest(cards, figure))}
    winners = [card for card in cards if fewest and all(card in best for best in fewest.values())]
    if winners:
        sentences = _for_the_best(cards, winners, list(fewest))
    elif fewest:
        sentences = _for_several(cards, fewest)
    else:
        sentences = ["Nothing measured here tells these releases apart: choose by what they cost."]
    idle = [card.name for card in cards if card.untried]
    if idle and len(idle) < len(cards):
        sentences.append(f"No attack had anything to go by with {listed(idle)}: that is no proof that none has.")
    once = ["One release of each was looked at: another draw may differ."] if _once(cards) else []
    return " ".join([*sentences, *once, "Attacks that were not tried may win back more."])


def _whom(card: ExposureCard) -> tuple[float | None, ...]:
    """What tells people apart: how many, and whom original data tell of, unless some stand for all."""
    original = [card.cells[row.figure].original for row in ROWS] if card.people == card.records else []
    return (card.people, card.records, *original)


def _for_the_best(cards: Sequence[ExposureCard], winners: Sequence[ExposureCard], figures: Sequence[str]) -> list[str]:
    """That some are the best in all in which they differ; how good, and what is paid for the cheapest of them."""
    best = min(winners, key=lambda card: card.hidden or 0.0)
    others = [card for card in cards if card not in winners]
    counts = "; ".join(_against(best, others, figure) for figure in figures)
    names = listed([card.name for card in winners])
    if len(winners) > FEW:
        names = f"{len(winners)} of {len(cards)}, {best.name} among them,"
    verb = "tells" if len(winners) == 1 else "tell"
    sentences = [f"Of these releases {names} {verb} of the fewest people: of {best.people:,}, {counts}."]
    hidden = {card.name: card.hidden for card in others if card.hidden is not None}
    if best.hidden is not None and hidden:
        price = f"With {best.name} {percent(best.hidden)} of what records hold is not shown with them"
        price += f" ({_others(hidden, percent)})"
        sentences.append(f"{price}: publish it rather than the others where its readers can do without that.")
    return sentences


def _against(best: ExposureCard, others: Sequence[ExposureCard], figure: str) -> str:
    """People of one release, of others, and of the original data."""
    original = {card.cells[figure].original for card in (best, *others)}
    beside = [
        _others({card.name: card.worst(figure) for card in others}, whole),
        *(f"{whole(value)} in the original data" for value in original if len(original) == 1 and value),
    ]
    return f"{WORDS[figure]} {whole(best.worst(figure))} ({', '.join(beside)})"


def _others(values: Mapping[str, float], words: Callable[[float], str | None]) -> str:
    """What others have: each where they are few, and else from the lowest to the highest."""
    of = {name: words(value) for name, value in values.items()}
    if len(of) < FEW:
        return ", ".join(f"{value} with {name}" for name, value in of.items())
    low, high = (pick(values, key=lambda name: values[name]) for pick in (min, max))
    return f"{of[low]} with {low} to {of[high]} with {high}"


def _for_several(cards: Sequence[ExposureCard], fewest: Mapping[str, Sequence[ExposureCard]]) -> list[str]:
    """That it depends on what somebody minds most."""
    leaders = []
    for figure, group in fewest.items():
        best = min(group, key=lambda card, figure=figure: card.worst(figure))  # type: ignore[misc]
        others = [card for card in cards if card is not best]
        leaders.append(f"with {best.name} {_against(best, others, figure)}")
    hidden = {card.name: card.hidden for card in cards if card.hidden is not None}
    weigh = "None of these releases is best in everything: choose by what its people must be kept from."
    cost = [f"Not shown with their records: {_others(hidden, percent)} of what they hold."] if hidden else []
    return [weigh, f"Of {cards[0].people:,} people, {'; '.join(leaders)}.", *cost]


def _once(cards: Sequence[ExposureCard]) -> bool:
    """Whether any release was made but once, so that nothing is known of how far the next may differ."""
    return any(way.n < 2 for card in cards if (way := card.cells["singled_out_2"].release) is not None)


def _fewest(cards: Sequence[ExposureCard], figure: str) -> list[ExposureCard]:
    """The cards with the fewest people in a row, and those that cannot be told from the first of them."""
    if any(card.cells[figure].worst is None for card in cards):
        return []  # what one has no figure of, or what does not apply to it, tells nothing apart
    first = min(cards, key=lambda card: card.worst(figure))
    best = [card for card in cards if not _apart(first.cells[figure], card.cells[figure])]
    return best if len(best) < len(cards) else []


def _apart(fewer: Cell, more: Cell) -> bool:
    """Whether one release tells of fewer people than another, by more than chance or nothing worth a word."""
    if fewer.worst is None or more.worst is None or fewer.worst.mean is None or more.worst.mean is None:
        return False
    highest = fewer.worst.mean if fewer.worst.high is None else fewer.worst.high
    lowest = more.worst.mean if more.worst.low is None else more.worst.low
    return highest < lowest and more.worst.mean - fewer.worst.mean > LEAST * fewer.of
