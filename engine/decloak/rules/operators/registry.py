"""The registry of rule forms: a new form is a module next to this one and an entry here, or a plugin."""

from typing import Any

from decloak.plugins import with_plugins
from decloak.rules.operators.claims import CLAIMS
from decloak.rules.operators.eliminate import ELIMINATE
from decloak.rules.operators.itemsets import ITEMSETS
from decloak.rules.operators.operator import Operator
from decloak.rules.operators.query import QUERY
from decloak.rules.operators.reassociate import REASSOCIATE

_INCLUDED: tuple[Operator[Any, Any, Any], ...] = (QUERY, ELIMINATE, REASSOCIATE, ITEMSETS, CLAIMS)
_ALL = with_plugins("operators", Operator, _INCLUDED, lambda operator: [operator.form])

OPERATORS = {operator.form: operator for operator in _ALL}
"""Operators by the name of their form in rule files."""
