"""Run a query rule's steps in a sandbox: once, or round by round until nothing is new."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from decloak.errors import DecloakError, quote
from decloak.store.relations import Row, taken
from decloak.store.sandbox import Sandbox, quoted

__all__ = ["LAST_ROUND", "THIS_ROUND", "Derived", "derive", "fixpoint", "make_steps"]

LAST_ROUND, THIS_ROUND = "last_round", "this_round"
MOST_ROUNDS = 10_000


class Derived(NamedTuple):
    """One fact: the round it was derived in, from 1, and its values in the order of the rule's columns."""

    round: int
    values: Row


def make_steps(sandbox: Sandbox, steps: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Store and index each named step, so that later ones plan against real tables."""
    for name, sql in steps.items():
        _check_name(name, places.get(name))
        sandbox.make(name, sql, places.get(name))
        sandbox.index(name)


def _check_name(name: str, place: str | None) -> None:
    """Refuse what the check of a rule refuses, however the rule got here."""
    if problem := taken(name):
        raise DecloakError(f"{quote(name)} {problem}", place, "choose another name")


def derive(sandbox: Sandbox, sql: str, columns: Sequence[str], place: str | None) -> list[Derived]:
    """Run the facts query of a rule; equal rows are one fact."""
    chosen = ", ".join(quoted(column) for column in columns)
    _, rows = sandbox.select(f"select distinct {chosen} from ({sql}\n) order by {chosen}", place)
    return [Derived(1, row) for row in rows]


def fixpoint(
    sandbox: Sandbox, relation: str, columns: Sequence[str], start: str, repeat: str, places: Mapping[str, str]
) -> list[Derived]:
    """Run `start`, then `repeat` over what the last round added, until a round adds nothing.

    `repeat` may read `last_round` (semi-naive: only what is new) and the relation itself (all so far).
    """
    _check_name(relation, places.get("start"))
    chosen = ", ".join(quoted(column) for column in columns)
    sandbox.fill(relation, columns, ())
    _round(sandbox, start, chosen, relation, places.get("start"))
    facts: list[Derived] = []
    for number in range(1, MOST_ROUNDS + 1):
        rows = sandbox.engine(f"select {chosen} from temp.{LAST_ROUND} order by {chosen}")
        if not rows:
            return facts
        facts += [Derived(number, row) for row in rows]
        sandbox.engine(f"insert into temp.{quoted(relation)} select {chosen} from temp.{LAST_ROUND}")
        _round(sandbox, repeat, chosen, relation, places.get("repeat"))
    message = f"still something new after {MOST_ROUNDS} rounds"
    raise DecloakError(message, places.get("repeat"), "let the rule count to an end")


def _round(sandbox: Sandbox, sql: str, chosen: str, relation: str, place: str | None) -> None:
    """Put what `sql` gives beyond the facts known so far into `last_round`."""
    sandbox.make(THIS_ROUND, sql, place)
    sandbox.keep(
        LAST_ROUND, f"select {chosen} from temp.{THIS_ROUND} except select {chosen} from temp.{quoted(relation)}"
    )
    sandbox.engine(f"drop table temp.{THIS_ROUND}")
