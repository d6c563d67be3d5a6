"""Risk cards as tables for people, and what somebody who must choose between releases can make of them.

A method is said to tell of fewer people than another only where they differ by more than LEAST of the people, and the
intervals of both lie apart; or where there are none because nothing was repeated: then it is said of these releases
alone.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor

from decloak.measure.kernels.statistics import Interval, interval
from decloak.measure.registry import figure_titles
from decloak.report.card import GUESSES, NOBODY, ROWS, Cell, RiskCard
from decloak.report.knowledge import listed
from decloak.report.study import Study
from decloak.report.verdict_words import of_a_kind, times
from decloak.store.studies import StudyRun, read_runs, sweep_of

__all__ = [
    "Costs",
    "advice",
    "card_rows",
    "compared_runs",
    "comparison_rows",
    "costs_of",
    "people",
    "reasons",
    "remark",
    "unpooled",
]

Costs = Mapping[str, Mapping[str, float | None]]
"""What each variant costs, by the titles of figures."""
Table = tuple[list[str], list[list[str | None]]]

RAW = "raw data"
LEAST = 0.02
"""Of the people: releases that differ by less are not told apart."""
RANKED = ("singled_2", "inferred", "implied")
"""The rows by which releases are told apart, one of a group that says something of all of them."""
_WORDS = {
    "singled_2": "two known items single out",
    "inferred": "a guess at one of their items is right for",
    "implied": "from two known items a third follows for certain for",
}
FEW = 4
"""Releases whose numbers a sentence has room for."""


COSTS = ("ncp", "tkd", "suppressed", "tlost")
"""What a release loses, where it was measured: the figures by which those of several methods can be compared."""


def costs_of(study: Study) -> Costs:
    """What each variant loses, means over repetitions."""
    titles = figure_titles()
    costs: dict[str, dict[str, float | None]] = {}
    for variant, runs in study.groups:
        for figure in COSTS:
            mean = interval(study.values(runs, figure)).mean
            if mean is not None:
                costs.setdefault(variant, {})[titles[figure].title] = mean
    return costs


def compared_runs(connection: sqlite3.Connection, named: Sequence[tuple[str, str, int]]) -> list[StudyRun]:
    """Runs by what they are to be called, how they were named, and their number; of a variant all its repetitions."""
    runs = []
    for title, name, number in named:
        (run,) = read_runs(connection, [number])
        repeated = [run]
        if name == run.variant:
            repeated = [other for other in sweep_of(connection, number) if other.variant == name]
        runs += [other._replace(variant=title) for other in repeated]
    return runs


def card_rows(card: RiskCard) -> Table:
    """One card, a line a row, and why a figure is not there."""
    head = [f"in people of {card.people:,}", "raw data", "published", "attacked", "by chance", "attack"]
    return head, [[row.title, *_line(card, card.cells[row.figure])] for row in ROWS]


def _line(card: RiskCard, cell: Cell) -> list[str | None]:
    if cell.before is None:
        return [_whole(cell.raw), None, None, None, cell.reason]
    said = " ".join(filter(None, (cell.attack, cell.reason and f"({cell.reason})")))
    return [
        _whole(cell.raw),
        *map(people, map(card.around, (cell.before, cell.after))),
        _whole(cell.chance),
        said or None,
    ]


def remark(cards: Sequence[RiskCard]) -> str | None:
    """What one card hides, of whom cards are where they are a sample, and what their intervals are about."""
    only = cards[0] if len(cards) == 1 else None
    parts = [_not_shown(only.hidden)] if only and only.hidden is not None else []
    sampled = {(card.people, card.records): card for card in cards if card.sampled}
    parts += [_drawn(card, brackets=card is only) for _, card in sorted(sampled.items())]
    ways = [way for card in cards for cell in card.cells.values() for way in (cell.before, cell.after)]
    n = max((way.n for way in ways if way is not None and way.low is not None), default=0)  # without those of samples
    if n and cards[0].data_sets > 1:
        parts.append(f"95% intervals, all attacks considered, {of_a_kind(n)}")
    elif n and only:
        parts.append(f"95% intervals, all attacks considered, {times(n)} of one data set")
    return "; ".join(parts) or None


def _not_shown(hidden: float) -> str:
    if hidden == 0:
        return "nothing is hidden: all that records hold is shown with them"
    return f"{_percent(hidden)} of what records hold is not shown with them"


def _percent(share: float) -> str:
    """A share of a hundred; what is little is not nothing, and nearly all not all."""
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _drawn(card: RiskCard, *, brackets: bool) -> str:
    """Of whom a card is, and how far its counts may be from what all would give."""
    most = card.bounds_of(card.people / 2)[1] - card.people / 2
    off = "in brackets 95% intervals for all" if brackets else f"off by {most:,.0f} at most in 95 draws of 100"
    return f"of {card.people:,} people drawn from {card.records:,}, {off}"


def unpooled(study: Study, cards: Sequence[RiskCard], pooled: Sequence[RiskCard]) -> str | None:
    """Why there is no card over data sets where one is missed."""
    if not cards or len(pooled) == len(study.pools):
        return None
    return "Over data sets no people are counted: they have different numbers of them, whose counts have no mean."


def people(count: Interval | None) -> str | None:
    """A number of people, with its interval where it has one, rounded outwards."""
    if count is None or count.low is None or count.high is None:
        return None if count is None else _whole(count.mean)
    return f"{_whole(count.mean)} ({floor(count.low):,}–{ceil(count.high):,})"


def _whole(count: float | None) -> str | None:
    if count is None:
        return None
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.1f}"


def called_shortly(cards: Sequence[RiskCard]) -> list[RiskCard]:
    """Cards by what one key takes, where nothing else varies: the method alone, or the last part of the key with it."""
    keys = {card.name.partition("=")[0] for card in cards}
    if len(cards) < 2 or len(keys) > 1 or any(", " in card.name or "=" not in card.name for card in cards):
        return list(cards)
    (key,) = keys
    inner = key.rpartition(".")[2] if "." in key and not key.endswith(".method") else ""
    return [replace(card, name=f"{inner}={card.name[len(key) + 1 :]}".lstrip("=")) for card in cards]


def comparison_rows(cards: Sequence[RiskCard], costs: Costs) -> Table:
    """Several cards, a line each: people published → attacked, by chance in brackets; and what each costs. Those over
    data sets have intervals.

    The first line is of the raw data, where they are the same.
    """
    titles = list(dict.fromkeys(title for of_variant in costs.values() for title in of_variant))
    shown = [row for row in ROWS if any(card.cells[row.figure].before for card in cards)]
    head = ["variant", "people", *(row.title for row in shown), "hidden", *titles]
    rows: list[list[str | None]] = []
    raw = [{card.cells[row.figure].raw for card in cards} for row in shown]
    if all(len(values) == 1 for values in raw) and any(values != {None} for values in raw):
        rows.append([RAW, f"{cards[0].people:,}", *(_whole(value) for (value,) in raw), "0%", *(None for _ in titles)])
    for card in cards:
        priced = costs.get(card.variant, {})
        lost = [None if priced.get(title) is None else f"{priced[title]:.3f}" for title in titles]
        hidden = None if card.hidden is None else _percent(card.hidden)
        cells = [_cell(card.cells[row.figure], people if card.data_sets > 1 else _mean_of) for row in shown]
        rows.append([card.name, f"{card.people:,}", *cells, hidden, *lost])
    return head, rows


def _cell(cell: Cell, said: Callable[[Interval], str | None]) -> str | None:
    if cell.before is None:
        return None
    after = "" if cell.after is None else f" → {said(cell.after)}"
    return f"{said(cell.before)}{after}" + ("" if cell.chance is None else f" ({_whole(cell.chance)})")


def _mean_of(count: Interval) -> str | None:
    return _whole(count.mean)


def reasons(cards: Sequence[RiskCard]) -> list[str]:
    """Why cells of a comparison are empty, or no attack stands in them, each said once."""
    variants: dict[str, dict[str, None]] = {}
    for card in cards:
        for row in ROWS:
            cell = card.cells[row.figure]
            if cell.before is None and cell.reason is not None:
                variants.setdefault(f"{row.title}: {cell.reason}", {})[card.name] = None
        if untried(card):
            variants.setdefault(f"as published only: {NOBODY}", {})[card.name] = None
    return [
        reason if len(named) == len(cards) else f"{reason} ({listed(list(named))})"
        for reason, named in variants.items()
    ]


def untried(card: RiskCard) -> bool:
    """Whether no attack that could have found people did anything."""
    return all(
        cell.reason == NOBODY for cell in card.cells.values() if cell.before is not None and cell.reason != GUESSES
    )


def advice(cards: Sequence[RiskCard]) -> str:
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
    idle = [card.name for card in cards if untried(card)]
    if idle and len(idle) < len(cards):
        sentences.append(f"No attack had anything to go by with {listed(idle)}: that is no proof that none has.")
    once = ["One release of each was looked at: another draw may differ."] if _once(cards) else []
    return " ".join([*sentences, *once, "Attacks that were not tried may win back more."])


def _whom(card: RiskCard) -> tuple[float | None, ...]:
    """What tells people apart: how many, and whom raw data tell of, unless some stand for all."""
    raw = [card.cells[row.figure].raw for row in ROWS] if card.people == card.records else []
    return (card.people, card.records, *raw)


def _for_the_best(cards: Sequence[RiskCard], winners: Sequence[RiskCard], figures: Sequence[str]) -> list[str]:
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
        price = f"With {best.name} {_percent(best.hidden)} of what records hold is not shown with them"
        price += f" ({_others(hidden, _percent)})"
        sentences.append(f"{price}: publish it rather than the others where its readers can do without that.")
    return sentences


def _against(best: RiskCard, others: Sequence[RiskCard], figure: str) -> str:
    """People of one release, of others, and of the raw data."""
    raw = {card.cells[figure].raw for card in (best, *others)}
    beside = [
        _others({card.name: _mean(card, figure) for card in others}, _whole),
        *(f"{_whole(value)} in the raw data" for value in raw if len(raw) == 1 and value),
    ]
    return f"{_WORDS[figure]} {_whole(_mean(best, figure))} ({', '.join(beside)})"


def _others(values: Mapping[str, float], words: Callable[[float], str | None]) -> str:
    """What others have: each where they are few, and else from the lowest to the highest."""
    of = {name: words(value) for name, value in values.items()}
    if len(of) < FEW:
        return ", ".join(f"{value} with {name}" for name, value in of.items())
    low, high = (pick(values, key=lambda name: values[name]) for pick in (min, max))
    return f"{of[low]} with {low} to {of[high]} with {high}"


def _for_several(cards: Sequence[RiskCard], fewest: Mapping[str, Sequence[RiskCard]]) -> list[str]:
    """That it depends on what somebody minds most."""
    leaders = []
    for figure, group in fewest.items():
        best = min(group, key=lambda card, figure=figure: _mean(card, figure))  # type: ignore[misc]
        others = [card for card in cards if card is not best]
        leaders.append(f"with {best.name} {_against(best, others, figure)}")
    hidden = {card.name: card.hidden for card in cards if card.hidden is not None}
    weigh = "None of these releases is best in everything: choose by what its people must be kept from."
    cost = [f"Not shown with their records: {_others(hidden, _percent)} of what they hold."] if hidden else []
    return [weigh, f"Of {cards[0].people:,} people, {'; '.join(leaders)}.", *cost]


def _once(cards: Sequence[RiskCard]) -> bool:
    """Whether any release was made but once, so that nothing is known of how far the next may differ."""
    return any(way.n < 2 for card in cards if (way := card.cells["singled_2"].before) is not None)


def _fewest(cards: Sequence[RiskCard], figure: str) -> list[RiskCard]:
    """The cards with the fewest people in a row, and those that cannot be told from the first of them."""
    if any(card.cells[figure].worst is None for card in cards):
        return []  # what one has no figure of, or what does not apply to it, tells nothing apart
    first = min(cards, key=lambda card: _mean(card, figure))
    best = [card for card in cards if not _apart(first.cells[figure], card.cells[figure])]
    return best if len(best) < len(cards) else []


def _mean(card: RiskCard, figure: str) -> float:
    worst = card.cells[figure].worst
    return 0.0 if worst is None or worst.mean is None else worst.mean


def _apart(fewer: Cell, more: Cell) -> bool:
    """Whether one release tells of fewer people than another, by more than chance or nothing worth a word."""
    if fewer.worst is None or more.worst is None or fewer.worst.mean is None or more.worst.mean is None:
        return False
    highest = fewer.worst.mean if fewer.worst.high is None else fewer.worst.high
    lowest = more.worst.mean if more.worst.low is None else more.worst.low
    return highest < lowest and more.worst.mean - fewer.worst.mean > LEAST * fewer.of
