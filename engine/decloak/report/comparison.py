"""Risk cards as tables for people, and the lines below them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from decloak.measure.kernels.statistics import Interval, interval
from decloak.measure.registry import figure_titles
from decloak.report.card import NOBODY, ROWS, Cell, ExposureCard
from decloak.report.knowledge import listed
from decloak.report.study import Study
from decloak.report.wording import interval_of, people, percent, whole

__all__ = [
    "Costs",
    "called_shortly",
    "card_rows",
    "comparison_rows",
    "costs_of",
    "reasons",
    "remark",
    "short_titles",
    "unpooled",
]

Costs = Mapping[str, Mapping[str, float | None]]
"""What each variant costs, by the titles of figures."""
Table = tuple[list[str], list[list[str | None]]]

ORIGINAL = "original data"
UNMARKED = "by an attacker to whom nothing is marked: what is hidden in truth that does not say"
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


def card_rows(card: ExposureCard) -> Table:
    """One card, a line a row, and why a figure is not there."""
    head = [f"in people of {card.people:,}", "original data", "release", "after attack", "baseline", "largest by"]
    return head, [[row.title, *_line(card, card.cells[row.figure])] for row in ROWS]


def _line(card: ExposureCard, cell: Cell) -> list[str | None]:
    if cell.worst is None:
        return [whole(cell.original), None, None, None, cell.reason]
    said = " ".join(filter(None, (cell.source, cell.reason and f"({cell.reason})")))
    return [
        whole(cell.original),
        *(people(card.around(way, cell.of)) for way in (cell.release, cell.after)),
        whole(cell.baseline),
        said or None,
    ]


def remark(cards: Sequence[ExposureCard]) -> str | None:
    """What one card hides, of whom cards are where they are a sample, and what their intervals are about."""
    only = cards[0] if len(cards) == 1 else None
    parts = [_not_shown(only.hidden)] if only and only.hidden is not None else []
    if only and only.taken_for_hidden is not None:
        share = percent(only.taken_for_hidden)
        parts.append(f"{share} of what records hold is taken for generalised, {UNMARKED}")
    sampled = {(card.people, card.records): card for card in cards if card.sampled}
    parts += [_drawn(card, brackets=card is only) for _, card in sorted(sampled.items())]
    ways = [way for card in cards for cell in card.cells.values() for way in (cell.release, cell.after)]
    n = max((way.n for way in ways if way is not None and way.low is not None), default=0)  # without those of samples
    if n and cards[0].data_sets > 1:
        parts.append(f"95% intervals, all attacks considered, {interval_of(n, data_sets=True)}")
    elif n and only:
        parts.append(f"95% intervals, all attacks considered, {interval_of(n)}")
    return "; ".join(parts) or None


def _not_shown(hidden: float) -> str:
    if hidden == 0:
        return "nothing is hidden: all that records hold is shown with them"
    return f"{percent(hidden)} of what records hold is not shown with them"


def _drawn(card: ExposureCard, *, brackets: bool) -> str:
    """Of whom a card is, and how far its counts may be from what all would give."""
    most = card.bounds_of(card.people / 2)[1] - card.people / 2
    off = "in brackets 95% intervals for all" if brackets else f"off by {most:,.0f} at most in 95 draws of 100"
    return f"of {card.people:,} people drawn from {card.records:,}, {off}"


def unpooled(study: Study, cards: Sequence[ExposureCard], pooled: Sequence[ExposureCard]) -> str | None:
    """Why there is no card over data sets where one is missed."""
    if not cards or len(pooled) == len(study.pools):
        return None
    return "Over data sets no people are counted: they have different numbers of them, whose counts have no mean."


def called_shortly(cards: Sequence[ExposureCard]) -> list[ExposureCard]:
    """Cards by their short titles."""
    titles = short_titles([card.name for card in cards])
    return [replace(card, name=title) for card, title in zip(cards, titles, strict=True)]


def short_titles(names: Sequence[str]) -> list[str]:
    """Variants by what one key takes, where nothing else varies: the method alone, or the last part of the key with
    it.
    """
    keys = {name.partition("=")[0] for name in names}
    if len(names) < 2 or len(keys) > 1 or any(", " in name or "=" not in name for name in names):
        return list(names)
    (key,) = keys
    inner = key.rpartition(".")[2] if "." in key and not key.endswith(".method") else ""
    return [f"{inner}={name[len(key) + 1 :]}".lstrip("=") for name in names]


def comparison_rows(cards: Sequence[ExposureCard], costs: Costs) -> Table:
    """Return several cards, a line each: people exposed by the release → after the attack (baseline), and the costs.

    Cards over data sets have intervals.

    The first line is the original data, where these are the same.
    """
    titles = list(dict.fromkeys(title for of_variant in costs.values() for title in of_variant))
    shown = [row for row in ROWS if any(card.cells[row.figure].worst for card in cards)]
    head = ["variant", "people", *(row.title for row in shown), "hidden", *titles]
    rows: list[list[str | None]] = []
    raw = [{card.cells[row.figure].original for card in cards} for row in shown]
    if all(len(values) == 1 for values in raw) and any(values != {None} for values in raw):
        rows.append(
            [ORIGINAL, f"{cards[0].people:,}", *(whole(value) for (value,) in raw), "0%", *(None for _ in titles)]
        )
    for card in cards:
        priced = costs.get(card.variant, {})
        lost = [None if priced.get(title) is None else f"{priced[title]:.3f}" for title in titles]
        hidden = None if card.hidden is None else percent(card.hidden)
        cells = [_cell(card.cells[row.figure], people if card.data_sets > 1 else _mean_of) for row in shown]
        rows.append([card.name, f"{card.people:,}", *cells, hidden, *lost])
    return head, rows


def _cell(cell: Cell, said: Callable[[Interval], str | None]) -> str | None:
    ways = [way for way in (cell.release, cell.after) if way is not None]
    if not ways:
        return None
    return " → ".join(str(said(way)) for way in ways) + ("" if cell.baseline is None else f" ({whole(cell.baseline)})")


def _mean_of(count: Interval) -> str | None:
    return whole(count.mean)


def reasons(cards: Sequence[ExposureCard]) -> list[str]:
    """Why cells of a comparison are empty, or no attack stands in them, each said once."""
    variants: dict[str, dict[str, None]] = {}
    for card in cards:
        for row in ROWS:
            cell = card.cells[row.figure]
            if cell.worst is None and cell.reason is not None:
                variants.setdefault(f"{row.title}: {cell.reason}", {})[card.name] = None
        if card.taken_for_hidden is not None:
            share = percent(card.taken_for_hidden)
            variants.setdefault(f"hidden: {share} is taken for generalised, {UNMARKED}", {})[card.name] = None
        if card.untried:
            variants.setdefault(f"as published only: {NOBODY}", {})[card.name] = None
    return [
        reason if len(named) == len(cards) else f"{reason} ({listed(list(named))})"
        for reason, named in variants.items()
    ]
