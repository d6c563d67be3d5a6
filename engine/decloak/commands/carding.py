"""Print exposure cards: one as it is, several in one table with the advice."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from decloak.report.advice import advice
from decloak.report.beside import AttackPair, attack_pairs, basis, leaders, sentence
from decloak.report.card import ROWS, ExposureCard, exposure_cards, pooled_cards
from decloak.report.comparison import card_rows, comparison_rows, costs_of, reasons, remark, short_titles, unpooled
from decloak.report.study import Study
from decloak.report.table import emit
from decloak.report.terminal import say
from decloak.report.verdict_figures import judged_variants
from decloak.report.verdict_lines import Conclusion, most_severe
from decloak.report.wording import filled
from decloak.store.opening import connect_readonly
from decloak.store.studies import read_runs

__all__ = ["Account", "account_of", "print_cards", "print_comparison", "print_pairs"]


class Account(NamedTuple):
    """What there is to say of some runs beside their figures: the verdict, a card for each variant, one over the data
    sets where these alone differ, and how far attacks are ahead of each other.
    """

    study: Study
    verdict: Conclusion
    cards: Sequence[ExposureCard]
    pooled: Sequence[ExposureCard]
    pairs: Sequence[AttackPair]


def account_of(store: Path, numbers: Iterable[int]) -> Account:
    """Those of runs of a store, given by number."""
    with closing(connect_readonly(store)) as connection:
        study = Study.of(connection, read_runs(connection, numbers))
        verdict = most_severe(judged_variants(connection, study))
        cards = exposure_cards(connection, study)
        return Account(study, verdict, cards, pooled_cards(connection, study), attack_pairs(connection, study))


def print_cards(account: Account, missing: Mapping[str, str] | None = None) -> None:
    """The card of one variant, or all of them in one table, those over data sets below, and a blank line; `missing` are
    variants that there is no release of, and why.
    """
    for cards in (account.cards, account.pooled):
        lacking = missing if cards is account.cards else None
        if len(cards) == 1 and not lacking:
            if cards[0].data_sets > 1:
                say(f"{cards[0].variant.capitalize()}:")
            _print_card(cards[0])
        elif cards:
            said = print_comparison(account.study, cards, lacking)
            if said and (not account.pooled or cards is account.pooled):
                say(f"\n{said}")
        if cards:
            say("")
    if reason := unpooled(account.study, account.cards, account.pooled):
        say(f"{reason}\n")


def _print_card(card: ExposureCard) -> None:
    if all(cell.worst is None for cell in card.cells.values()):
        say(f"How many people this release exposes is not known: {card.cells[ROWS[0].figure].reason}.")
        return
    columns, rows = card_rows(card)
    emit(columns, rows, "table")
    if said := remark([card]):
        say(f"({said})")


def print_comparison(study: Study, cards: Sequence[ExposureCard], missing: Mapping[str, str] | None = None) -> str:
    """Print several variants in one table: people exposed by the release → after an attack; return the advice.

    Variants that there is no release of have a line of dashes, and the reason below.
    """
    missing = missing or {}
    titles = short_titles([*(card.name for card in cards), *missing])
    cards = [replace(card, name=title) for card, title in zip(cards, titles, strict=False)]
    columns, rows = comparison_rows(cards, costs_of(study))
    lacking = dict(zip(titles[len(cards) :], missing.values(), strict=True))
    rows += [[title, *[None] * (len(columns) - 1)] for title in lacking]
    over = f", over {cards[0].data_sets} data sets" if cards[0].data_sets > 1 else ""
    say(f"People exposed by the release → after the attack that exposes most (baseline){over}:")
    emit(columns, rows, "table")
    said = remark(cards)
    none = [f"no release: {reason} ({title})" for title, reason in lacking.items()]
    for reason in (*reasons(cards), *none, *([f"({said})"] if said else [])):
        say(f"– {reason}")
    return filled(advice(cards))


def print_pairs(pairs: Sequence[AttackPair]) -> None:
    """How far the attack that won most is ahead of the others: a sentence, or a table of several variants."""
    if len({pair.variant for pair in pairs}) == 1:
        say(filled(f"{sentence(pairs)} ({basis(pairs)})."))
    elif pairs:
        say(filled(f"How far the attack that wins back most is ahead, in {basis(pairs)}:"))
        emit(*leaders(pairs), "table")
