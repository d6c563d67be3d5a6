"""Risk cards as tables for people, and the lines below them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from decloak.measure.kernels.statistics import Interval
from decloak.measure.registry import metrics_by_key
from decloak.report.risk_card import NOBODY, ROWS, Cell, ExposureCard
from decloak.report.study import Study
from decloak.report.wording import interval_of, listed, people, percent, whole
from decloak.scenario.sweep import NAMING

Costs = Mapping[str, Mapping[str, float | None]]
"""The cost of each variant, by the titles of figures."""
Table = tuple[list[str], list[list[str | None]]]
_SETTING = re.compile(r", (?=[\w.*]+=)")
"""The comma between two settings in the name of a variant."""
_POOL = re.compile(r"(?:, )?(over \d+ data sets)$")
"""The end of the name of variants that differ only in the data set."""
_INNERMOST = re.compile(r"\{[^{}[\]]*\}|\[[^{}[\]]*\]")
"""A mapping or a list without another inside."""

ORIGINAL = "original"
UNMARKED = "The release does not mark generalised items, so the share that it really hides is not known"
COSTS = ("ncp", "tkd", "suppressed", "tlost")
"""The loss of a release, if it was measured: figures that compare several methods."""


def costs_of(study: Study) -> Costs:
    """Return the loss of each variant, as means over repetitions."""
    titles = metrics_by_key()
    costs: dict[str, dict[str, float | None]] = {}
    for variant, runs in study.groups:
        for figure in COSTS:
            mean = study.mean(runs, figure)
            if mean is not None:
                costs.setdefault(variant, {})[titles[figure].title] = mean
    return costs


def card_rows(card: ExposureCard) -> Table:
    """Return the people that one release exposes: a row for each figure, and why a figure is not there."""
    head = [f"People exposed, of {card.people:,}", "original", "release", "after attack", "baseline"]
    return [*head, "strongest attack"], [[row.title, *_line(card, card.cells[row.key])] for row in ROWS]


def _line(card: ExposureCard, cell: Cell) -> list[str | None]:
    if cell.worst is None:
        return [whole(cell.original), None, None, None, cell.reason]
    said = ", ".join(filter(None, (cell.source, cell.reason)))
    return [
        whole(cell.original),
        *(people(card.around(way, cell.of)) for way in (cell.release, cell.after)),
        whole(cell.baseline),
        said or None,
    ]


def remark(cards: Sequence[ExposureCard]) -> str | None:
    """Describe what a card omits, the sample behind its people, and the meaning of its intervals."""
    only, parts = (cards[0] if len(cards) == 1 else None), []
    if only and only.taken_for_hidden is not None:
        share = percent(only.taken_for_hidden)
        parts.append(f"an attacker takes {share} of the item occurrences for generalised. {UNMARKED}")
    sampled = {(card.people, card.records): card for card in cards if card.sampled}
    parts += [_drawn(card, brackets=card is only) for _, card in sorted(sampled.items())]
    ways = [way for card in cards for cell in card.cells.values() for way in (cell.release, cell.after)]
    # The interval of a sample has no repetitions.
    n = max((way.n for way in ways if way is not None and way.low is not None), default=0)
    if n and cards[0].data_sets > 1:
        parts.append(f"95% intervals, all attacks considered, {interval_of(n, data_sets=True)}")
    elif n and only:
        parts.append(f"95% intervals, all attacks considered, {interval_of(n)}")
    return "; ".join(parts) or None


def _drawn(card: ExposureCard, *, brackets: bool) -> str:
    """Describe the sample behind a card, and the error of its counts."""
    # The interval of one half is the widest of all.
    most = card.bounds_of(card.people / 2)[1] - card.people / 2
    off = "in brackets 95% intervals for all" if brackets else f"95% interval at most ±{most:,.0f}"
    return f"of {card.people:,} people drawn from {card.records:,}, {off}"


def unpooled(study: Study, cards: Sequence[ExposureCard], pooled: Sequence[ExposureCard]) -> str | None:
    """Return the reason why there is no card over data sets, if one is missing."""
    if not cards or len(pooled) == len(study.pooled_variants):
        return None
    return "The data sets have different numbers of people, so there is no mean over data sets."


def called_shortly(cards: Sequence[ExposureCard]) -> list[ExposureCard]:
    """Return `cards` with their short titles."""
    titles = short_titles([card.name for card in cards])
    return [replace(card, name=title) for card, title in zip(cards, titles, strict=True)]


def short_titles(names: Sequence[str]) -> list[str]:
    """Shorten the names of variants to `k=20` or `coat`, if the variants still differ.

    >>> short_titles(["anonymise.k=5, data.density=0.1", "anonymise.k=9, data.density=0.1"])
    ['k=5, density=0.1', 'k=9, density=0.1']
    >>> short_titles(["anonymise={method: vpa, k: 5}", "anonymise={method: vpa, k: 9}"])
    ['vpa k=5', 'vpa k=9']
    """
    parts = [[part.partition("=") for part in _SETTING.split(name)] for name in names]
    if len(names) < 2 or not all(sign for of_name in parts for _, sign, _ in of_name):
        return list(names)
    inner = {key: key.rpartition(".")[2] for of_name in parts for key, *_ in of_name}
    # A method says its own name: "coat" is as clear as "method=coat".
    inner |= {key: "" for key in inner if key == "anonymise" or key.endswith(".method")}
    short = [", ".join(_setting(inner[key], value) for key, _, value in of_name) for of_name in parts]
    # Two variants must never have one name.
    return short if len(set(short)) == len(set(names)) else list(names)


def pooled_titles(titles: Sequence[str]) -> tuple[list[str], str]:
    """Return `titles` without the number of data sets that all of them share, and this number for the heading.

    >>> pooled_titles(["size=2, over 3 data sets", "size=5, over 3 data sets"])
    (['size=2', 'size=5'], ' (over 3 data sets)')
    """
    ends = {found[1] if (found := _POOL.search(title)) else "" for title in titles}
    short = [_POOL.sub("", title) for title in titles]
    shared = len(ends) == 1 and ends != {""} and all(short)
    return (short, f" ({ends.pop()})") if shared else (list(titles), "")


def _setting(key: str, value: str) -> str:
    """Write a setting without brackets: `{method: vpa, k: 5}` as `vpa k=5`, a list with plus signs."""
    # A text in quotes may have brackets of its own.
    while '"' not in value and (inner := _INNERMOST.search(value)):
        entries = inner[0][1:-1].split(", ")
        if inner[0].startswith("["):
            plain = " + ".join(entries)
        else:
            pairs = [entry.partition(": ") for entry in entries]
            plain = " ".join(value if name in NAMING else f"{name}={value}" for name, _, value in pairs)
        value = value[: inner.start()] + plain + value[inner.end() :]
    return value if "=" in value and "+" not in value else f"{key}={value}".lstrip("=")


def comparison_rows(cards: Sequence[ExposureCard], costs: Costs) -> Table:
    """Return several cards, a line each: people exposed by the release → after the attack (baseline), and the costs.

    Cards over data sets have intervals.

    The first line is the original data, where these are the same.
    """
    titles = list(dict.fromkeys(title for of_variant in costs.values() for title in of_variant))
    # People whom 1 known item singles out are left out: they count among those of 2 items.
    shown = [row for row in ROWS[1:] if any(card.cells[row.key].worst for card in cards)]
    counted = len({card.people for card in cards}) > 1
    head = ["variant", *(["people"] if counted else []), *(row.title for row in shown), "hidden", *titles]
    rows: list[list[str | None]] = []
    raw = [{card.cells[row.key].original for card in cards} for row in shown]
    # Releases of several data sets have no original line in common.
    if all(len(values) == 1 for values in raw) and any(values != {None} for values in raw):
        rows.append(
            [
                ORIGINAL,
                *([f"{cards[0].people:,}"] if counted else []),
                *(whole(value) for (value,) in raw),
                "0%",
                *(None for _ in titles),
            ]
        )
    for card in cards:
        priced = costs.get(card.variant, {})
        lost = [None if priced.get(title) is None else f"{priced[title]:.3f}" for title in titles]
        hidden = None if card.hidden is None else percent(card.hidden)
        cells = [
            _cell(card.cells[row.key], people if card.data_sets > 1 else lambda way: whole(way.mean)) for row in shown
        ]
        rows.append([card.name, *([f"{card.people:,}"] if counted else []), *cells, hidden, *lost])
    return head, rows


def _cell(cell: Cell, said: Callable[[Interval], str | None]) -> str | None:
    ways = [way for way in (cell.release, cell.after) if way is not None]
    if not ways:
        return None
    return " → ".join(str(said(way)) for way in ways) + ("" if cell.baseline is None else f" ({whole(cell.baseline)})")


def reasons(cards: Sequence[ExposureCard]) -> list[str]:
    """Explain the empty cells of a comparison, each reason once."""
    variants: dict[str, dict[str, None]] = {}
    for card in cards:
        for row in ROWS:
            cell = card.cells[row.key]
            if cell.worst is None and cell.reason is not None:
                variants.setdefault(f"{row.title}: {cell.reason}", {})[card.name] = None
        if card.taken_for_hidden is not None:
            share = percent(card.taken_for_hidden)
            variants.setdefault(f"hidden: an attacker takes {share} for generalised. {UNMARKED}", {})[card.name] = None
        if card.untried:
            variants.setdefault(f"release only: {NOBODY}", {})[card.name] = None
    return [
        reason if len(named) == len(cards) else f"{reason} ({listed(list(named))})"
        for reason, named in variants.items()
    ]
