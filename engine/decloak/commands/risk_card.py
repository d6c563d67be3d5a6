"""The people that releases expose, printed: one release in a table, several in one table with the advice."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from decloak.report.advice import advice
from decloak.report.compare.attacks import AttackPair, comparison_basis, tabulate_pairs
from decloak.report.risk_card import ROWS, ExposureCard
from decloak.report.risk_tables import (
    card_rows,
    comparison_rows,
    costs_of,
    pooled_titles,
    reasons,
    remark,
    short_titles,
    unpooled,
)
from decloak.report.study import Study
from decloak.report.table import emit
from decloak.report.terminal import say
from decloak.report.verdict_lines import Account
from decloak.report.wording import WIDTH, filled


def print_cards(account: Account, missing: Mapping[str, str] | None = None, *, costs: bool = False) -> None:
    """Print the people exposed: by one variant, or by all in one table, and those over data sets below.

    `missing` names the variants without a release and the reasons. With `costs` the table has what each release lost.
    """
    for cards in (account.cards, account.pooled):
        lacking = missing if cards is account.cards else None
        if len(cards) == 1 and not lacking:
            if cards[0].data_sets > 1:
                say(f"{cards[0].variant.capitalize()}:")
            _print_card(cards[0])
        elif cards:
            said = print_comparison(account.study, cards, lacking, costs=costs)
            # Where data sets are pooled, the comparison is about the kind of data and is said once.
            if said and (not account.pooled or cards is account.pooled):
                say(f"\n{said}")
        if cards:
            say("")
    if reason := unpooled(account.study, account.cards, account.pooled):
        say(f"{reason}\n")


def _print_card(card: ExposureCard) -> None:
    if all(cell.worst is None for cell in card.cells.values()):
        unknown = "The number of people that this release exposes is not known"
        say(filled(f"{unknown}: {card.cells[ROWS[0].key].reason}."))
        return
    columns, rows = card_rows(card)
    emit(columns, rows, "table", width=WIDTH)
    if said := remark([card]):
        say(filled(f"({said})"))


def print_comparison(
    study: Study, cards: Sequence[ExposureCard], missing: Mapping[str, str] | None = None, *, costs: bool = True
) -> str:
    """Print several variants in one table, with the people exposed before and after an attack. Return the comparison.

    Variants without a release, named in `missing`, have a line of dashes, and the reason below.
    """
    missing = missing or {}
    # Shortened together, because a title must also differ from those without a release.
    titles, _ = pooled_titles(short_titles([*(card.name for card in cards), *missing]))
    cards = [replace(card, name=title) for card, title in zip(cards, titles, strict=False)]
    columns, rows = comparison_rows(cards, costs_of(study) if costs else {})
    lacking = dict(zip(titles[len(cards) :], missing.values(), strict=True))
    rows += [[title, *[None] * (len(columns) - 1)] for title in lacking]
    over = f", over {cards[0].data_sets} data sets" if cards[0].data_sets > 1 else ""
    of = f", of {cards[0].people:,}" if len({card.people for card in cards}) == 1 else ""
    say(f"People exposed{of}: release → after the strongest attack (baseline){over}")
    emit(columns, rows, "table", width=WIDTH)
    said = remark(cards)
    none = [f"no release: {reason} ({title})" for title, reason in lacking.items()]
    for reason in (*reasons(cards), *none, *([f"({said})"] if said else [])):
        say(filled(f"– {reason}"))
    return filled(advice(cards))


def print_pairs(pairs: Sequence[AttackPair]) -> None:
    """Print every two attacks with the recall advantage of the one that recovers more."""
    if pairs:
        say(filled(f"Comparison of attacks: {comparison_basis(pairs)}"))
        emit(*tabulate_pairs(pairs), "table", width=WIDTH)
