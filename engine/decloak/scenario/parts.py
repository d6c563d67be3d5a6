"""What a scenario says of an attack and of repetitions."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from decloak.errors import DecloakError
from decloak.rules.model import is_path
from decloak.yaml.part import File, Found, Part

__all__ = ["Attack", "Repeat"]


class Attack(Part):
    """A rule, and how it is run."""

    rule: File
    """The name of a rule, or the path of a rule file."""
    threshold: float | None = None
    """The threshold, in place of the rule's own."""
    ratio: float | None = Field(None, gt=0)
    """A factor on the rule's own threshold."""
    k: int | None = Field(None, ge=1)
    """For rules that count itemsets: an itemset must be in none or in at least k transactions."""
    m: int | None = Field(None, ge=1)
    """For rules that count itemsets: how many items an itemset may have."""
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(None, alias="as")
    """The attack's name in results and expectations, when it is not the rule's."""

    def mistakes(self) -> Found:
        """A threshold is given or scaled."""
        if self.threshold is not None and self.ratio is not None:
            yield ("ratio",), DecloakError("a ratio scales the threshold that 'threshold' replaces", hint="delete one")

    @property
    def name(self) -> str:
        """The label, or the rule's name."""
        return self.label or (is_path(self.rule) and Path(self.rule).stem) or self.rule


class Repeat(Part):
    """Repetitions with other random choices."""

    times: int = Field(1, ge=1, le=10_000)
    """How often each variant is run."""
    seed: int = Field(0, ge=0)
    """What all random choices are drawn from."""
