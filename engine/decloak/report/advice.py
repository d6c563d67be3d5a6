"""The comparison of releases: which exposes the fewest people, at what cost, and which is dominated.

One release exposes fewer people than another only where they differ by more than LEAST of the people and their
intervals do not overlap. A release is dominated if another one exposes and hides at most as much in every figure, and
is better in one of these. A release whose labels contain a quarter of all items on average reveals almost nothing of
the data, and is never preferred. No release is recommended for publication.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from decloak.report.risk_card import ROWS, Cell, ExposureCard
from decloak.report.wording import count, listed, percent

LEAST = 0.02
"""The share of the people, and of the item occurrences, that is no difference."""
RANKED = ("singled_out_2", "inferred_own", "implied")
"""The figures by which releases are compared."""
NAMES = {
    "singled_out_2": "people singled out with 2 items",
    "inferred_own": "items known or inferred",
    "implied": "implied items",
}
MUCH = 0.1
"""The share of people singled out from which on another method is needed."""
WORDS = {
    "singled_out_2": "2 known items single out {}",
    "inferred_own": "One guess at an item is right for {}",
    "implied": "2 known items imply a third item for {}",
}
FEW = 4
"""Releases whose numbers a sentence has room for."""


def advice(cards: Sequence[ExposureCard]) -> str:
    """Compare releases of the same people: which exposes the fewest of them, at what cost, and which is dominated."""
    if len({card.releases for card in cards}) < max(2, len(cards)):
        # One release that several attackers attack is no choice.
        return ""
    if len(set(map(_people, cards))) > 1:
        return "These releases are about different people, so their numbers cannot be compared."
    saying = [card for card in cards if not card.uniform]
    sentences = [*_uniform(cards, saying), *_compared(saying), *_dominated(saying), *_untested(saying)]
    if _has_single_draw(cards):
        sentences.append("The releases were made once, and another repetition may differ.")
    return " ".join([*sentences, "Attacks that were not tested may recover more."])


def _people(card: ExposureCard) -> tuple[float | None, ...]:
    """Return what must be equal for two cards to be about the same people."""
    # Equal counts may be of other people. Where all were counted, the originals must be equal too.
    original = [card.cells[row.key].original for row in ROWS] if card.people == card.records else []
    return (card.people, card.records, *original)


def _uniform(cards: Sequence[ExposureCard], saying: Sequence[ExposureCard]) -> Iterable[str]:
    names = [card.name for card in cards if card not in saying]
    if names:
        verb = "hides" if len(names) == 1 else "hide"
        wide = "A label contains a quarter of all items or more"
        yield f"{listed(names)} {verb} everything. {wide}. No other release is compared with it."


def _compared(cards: Sequence[ExposureCard]) -> Iterable[str]:
    """Say which of several releases exposes the fewest people, or that they do not differ."""
    if len(cards) < 2:
        return
    fewest = {figure: best for figure in RANKED if (best := _fewest(cards, figure))}
    winners = [card for card in cards if fewest and all(card in best for best in fewest.values())]
    if not fewest:
        yield from _describe_equal_releases(cards)
    elif winners:
        yield from _for_the_best(cards, winners, list(fewest))
    else:
        yield from _for_several(cards, fewest)


def _describe_equal_releases(cards: Sequence[ExposureCard]) -> Iterable[str]:
    """Report for releases without a difference how many people all of them expose, and their cost."""
    singled = [card.worst("singled_out_2") for card in cards]
    (people,) = {card.people for card in cards}
    shared = [name for figure, name in NAMES.items() if all(card.cells[figure].worst is not None for card in cards)]
    what = "the people they expose" if len(shared) == len(RANKED) else listed(shared) or "any figure that all have"
    yield f"The releases do not differ measurably in {what}."
    if len(shared) < len(RANKED):
        yield "Not all of them have the other figures. Compare the people exposed with 2 and 3 random items too."
    if any(card.cells["singled_out_2"].worst is None for card in cards):
        yield "The number of people that 2 known items single out was not measured for all of them."
    elif max(singled) > MUCH * people:
        about = count(round(sum(singled) / len(singled)))
        yield f"All of them single out about {about} of {people:,} people with 2 known items: use another method."
    else:
        yield f"Each singles out {_range(singled, count)} of {people:,} people with 2 known items."
    yield from _costs(cards)


def _for_the_best(
    cards: Sequence[ExposureCard], winners: Sequence[ExposureCard], figures: Sequence[str]
) -> Iterable[str]:
    """Report how many people the best releases expose, and the cost of the cheapest of them."""
    # Among releases that expose equally few people, readers lose least with the one that hides least.
    best = min(winners, key=lambda card: math.inf if card.hidden is None else card.hidden)
    others = [card for card in cards if card not in winners]
    names = listed([card.name for card in winners])
    if len(winners) > FEW:
        names = f"{len(winners)} of {len(cards)}, for example {best.name}"
    several = (
        "releases that expose the fewest people are"
        if len(winners) > 1
        else "release that exposes the fewest people is"
    )
    yield f"The {several} {names}. These numbers are no proof of protection."
    yield from (_against(best, others, figure) for figure in figures)
    if best.worst("singled_out_2") > MUCH * best.people:
        still = count(best.worst("singled_out_2"))
        yield f"{best.name} still singles out {still} of {best.people:,}: use another method."
    yield from _costs([best, *others])


def _against(best: ExposureCard, others: Sequence[ExposureCard], figure: str) -> str:
    """Write the people of one release, of others, and of the original data."""
    original = {card.cells[figure].original for card in (best, *others)}
    beside = [
        _list_values({card.name: card.worst(figure) for card in others}, count),
        *(f"{count(value)} in the original data" for value in original if len(original) == 1 and value),
    ]
    of_best = f"{count(best.worst(figure))} of {best.people:,} people with {best.name}"
    return f"{WORDS[figure].format(of_best)} ({', '.join(filter(None, beside))})."


def _list_values(values: Mapping[str, float], words: Callable[[float], str]) -> str:
    """Write what others have: each where they are few, and else from the lowest to the highest."""
    of = {name: words(value) for name, value in values.items()}
    if len(of) < FEW:
        return ", ".join(f"{value} with {name}" for name, value in of.items())
    low, high = (pick(values, key=lambda name: values[name]) for pick in (min, max))
    return f"{of[low]} with {low} to {of[high]} with {high}"


def _range(values: Sequence[float], words: Callable[[float], str]) -> str:
    low, high = words(min(values)), words(max(values))
    return low if low == high else f"{low} to {high}"


def _for_several(cards: Sequence[ExposureCard], fewest: Mapping[str, Sequence[ExposureCard]]) -> Iterable[str]:
    """Say that the best release depends on the figure, and which it is for each."""
    leaders = []
    for figure, group in fewest.items():
        best = min(group, key=lambda card, figure=figure: card.worst(figure))  # type: ignore[misc]
        leaders.append(_against(best, [card for card in cards if card is not best], figure))
    yield "No release exposes the fewest people in every figure. The choice depends on the risk that matters most."
    yield from leaders
    yield from _costs(cards)


def _costs(cards: Sequence[ExposureCard]) -> Iterable[str]:
    hidden = {card.name: card.hidden for card in cards if card.hidden is not None}
    if len(hidden) > 1:
        yield f"Item occurrences hidden: {_list_values(hidden, percent)}."
    if nothing := [name for name, share in hidden.items() if percent(share) == "100%"]:
        verb, them = ("publishes", "it") if len(nothing) == 1 else ("publish", "them")
        yield f"{listed(nothing)} {verb} no item with its record. Check that readers can use {them}."


def dominating(card: ExposureCard, other: ExposureCard) -> bool:
    """Return whether one release dominates the other: it exposes and hides at most as much, and less of one."""
    if card.uniform or card.hidden is None or other.hidden is None or card.hidden > other.hidden:
        return False
    cells = [(card.cells[figure], other.cells[figure]) for figure in RANKED]
    # A release that lacks a figure may be worse in it.
    if any(None in (mine.worst, theirs.worst) for mine, theirs in cells):
        return False
    if any(card.worst(figure) > other.worst(figure) for figure in RANKED):
        return False
    fewer = any(_exposes_fewer(mine, theirs) for mine, theirs in cells)
    return fewer or other.hidden - card.hidden > LEAST


def _dominated(cards: Sequence[ExposureCard]) -> Iterable[str]:
    for other in cards:
        better = [card.name for card in cards if dominating(card, other)]
        if better:
            yield f"Release {other.name} is dominated: {better[0]} is better in exposure or cost, and worse in neither."


def _untested(cards: Sequence[ExposureCard]) -> Iterable[str]:
    idle = [card.name for card in cards if card.untried]
    if idle and len(idle) < len(cards):
        yield f"Not tested: {listed(idle)}, because no attack had input that it can use."


def _has_single_draw(cards: Sequence[ExposureCard]) -> bool:
    """Say whether a release that depends on a draw was made only once."""
    return any(card.random and (way := card.cells["singled_out_2"].release) is not None and way.n < 2 for card in cards)


def _fewest(cards: Sequence[ExposureCard], figure: str) -> list[ExposureCard]:
    """Return the cards with the fewest people in a row, and the cards that do not differ from the first of them."""
    if any(card.cells[figure].worst is None for card in cards):
        # A figure that one release lacks compares nothing.
        return []
    first = min(cards, key=lambda card: card.worst(figure))
    best = [card for card in cards if not _exposes_fewer(first.cells[figure], card.cells[figure])]
    return best if len(best) < len(cards) else []


def _exposes_fewer(fewer: Cell, more: Cell) -> bool:
    """Say whether one release exposes fewer people than another, beyond their intervals and by more than LEAST."""
    assert fewer.worst is not None
    assert more.worst is not None
    assert fewer.worst.mean is not None
    assert more.worst.mean is not None
    # A figure without an interval is exact, so that it is its own bound.
    highest = fewer.worst.mean if fewer.worst.high is None else fewer.worst.high
    lowest = more.worst.mean if more.worst.low is None else more.worst.low
    return highest < lowest and more.worst.mean - fewer.worst.mean > LEAST * fewer.of
