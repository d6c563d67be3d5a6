"""The relational form of a rule: the same attack as a query rule, which a user can read, run and change."""

import json
from collections.abc import Mapping
from textwrap import indent
from typing import NamedTuple

from decloak.rules.model import RuleModel
from decloak.store.relations import Derives

__all__ = ["RelationalForm"]


class RelationalForm(NamedTuple):
    """An attack as SQL: named `steps`, and the SQL of the `facts` that it `derives`.

    An attack in rounds has a `state`: `start` makes it, and `repeat` makes the next one from `last_round`. `given` are
    relations that SQL cannot make, with their meaning. `because` explains a fact.
    """

    derives: Derives
    steps: Mapping[str, str]
    facts: str
    because: str
    state: Derives | None = None
    start: str = ""
    repeat: str = ""
    given: Mapping[str, str] = {}

    def text(self, model: RuleModel) -> str:
        """Return the form as the text of a query rule; `model` is the attack."""
        about, derives = f"The attack {model.rule} as SQL.", _signature(self.derives)
        head = {"rule": self.derives.name, "form": "query", "about": about, "reference": model.reference or "decloak",
                "wrong_when": model.wrong_when or f"As for {model.rule}.", "derives": derives}  # fmt: skip
        lines = [f"# Given: {meaning}" for meaning in self.given.values()]
        lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
        lines += ["let:", *(f"  {name}: |\n{indent(sql, '    ')}" for name, sql in self.steps.items())]
        if self.state is not None:
            lines += [f"state: {_signature(self.state)}", _block("start", self.start), _block("repeat", self.repeat)]
        return "\n".join([*lines, _block("facts", self.facts), f"because: {json.dumps(self.because)}"])


def _signature(derives: Derives) -> str:
    return f"{derives.name}({', '.join(derives.columns)})"


def _block(key: str, sql: str) -> str:
    return f"{key}: |\n{indent(sql, '  ')}"
