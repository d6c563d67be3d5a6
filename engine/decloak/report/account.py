"""The account of some runs: the verdict, and the people that each variant exposes."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from decloak.errors import DecloakError
from decloak.report.compare.attacks import AttackPair, attack_pairs
from decloak.report.risk_card import ExposureCard, exposure_cards, pooled_cards
from decloak.report.study import Study
from decloak.report.verdict_figures import judged_variants
from decloak.report.verdict_lines import Conclusion, most_severe
from decloak.store.opening import connect_readonly
from decloak.store.results import chosen_runs, last_requests, read_runs


class Account(NamedTuple):
    """The verdict of some runs, the card of each variant and of variants over data sets, and the pairs of attacks."""

    study: Study
    verdict: Conclusion
    cards: Sequence[ExposureCard]
    pooled: Sequence[ExposureCard]
    pairs: Sequence[AttackPair]


def account_of(store: Path, numbers: Iterable[int]) -> Account:
    """Read the account of the runs of a store from their `numbers`."""
    with closing(connect_readonly(store)) as connection:
        study = Study.of(connection, read_runs(connection, numbers))
        verdict = most_severe(judged_variants(connection, study))
        cards = exposure_cards(connection, study)
        return Account(study, verdict, cards, pooled_cards(connection, study), attack_pairs(connection, study))


def page_of_last_run(store: Path) -> str | None:
    """Return the page about the last run of `store` and its variants as HTML; None without a run, or without jinja2."""
    from decloak.report.assemble import page_of
    from decloak.report.page import rendered

    with closing(connect_readonly(store)) as connection:
        if not last_requests(connection, 1):
            return None
        try:
            return rendered(
                page_of(connection, store, chosen_runs(connection, ["last"]), evidence=False, originals=False)
            )
        except DecloakError:  # the extra report is not installed
            return None
