"""The registry of rule forms: a new form is a module next to this one and an entry here."""

from typing import Any

from decloak.rules.operators.claims import CLAIMS
from decloak.rules.operators.eliminate import ELIMINATE
from decloak.rules.operators.itemsets import ITEMSETS
from decloak.rules.operators.operator import Operator
from decloak.rules.operators.query import QUERY
from decloak.rules.operators.reassociate import REASSOCIATE

__all__ = ["OPERATORS"]

_ALL: tuple[Operator[Any, Any, Any], ...] = (QUERY, ELIMINATE, REASSOCIATE, ITEMSETS, CLAIMS)

OPERATORS = {operator.form: operator for operator in _ALL}
"""Operators by the name of their form in rule files."""
