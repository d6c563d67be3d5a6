"""The operators by form: an operator is a module beside this one and an entry here."""

from typing import Any

from decloak.rules.operators.eliminate import ELIMINATE
from decloak.rules.operators.itemsets import ITEMSETS
from decloak.rules.operators.operator import Operator
from decloak.rules.operators.query import QUERY
from decloak.rules.operators.reassociate import REASSOCIATE

__all__ = ["OPERATORS"]

_ALL: tuple[Operator[Any], ...] = (QUERY, ELIMINATE, REASSOCIATE, ITEMSETS)

OPERATORS = {operator.form: operator for operator in _ALL}
"""By what a rule file calls the form."""
