"""What every rule file says. A form adds keys of its own in its operator; a key nothing names is an error."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Formula", "Model", "RuleModel", "RuleName", "Settings", "Sql", "is_path"]

RuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$", description="lower case, digits, underscores")]
Sql = Annotated[str, Field(min_length=1, max_length=20_000)]
Formula = Annotated[str | int | float, Field(description="a formula over the columns it may name")]


def is_path(rule: str) -> bool:
    """Whether a rule is named by its file, and not as one that comes with decloak."""
    return rule.endswith((".yaml", ".yml")) or "/" in rule


class Model(BaseModel):
    """A part of a rule file or of a rule's test."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Settings(Model):
    """What a scenario sets beside the rule's name; `seed` is for coins, `k` and `m` for itemsets."""

    threshold: float | None = None
    ratio: float = 1.0
    seed: int = 0
    k: int | None = None
    m: int | None = None


class RuleModel(Model):
    """What the rule files of all forms say."""

    rule: RuleName
    about: str = Field(min_length=1, description="what the rule does, the first sentence short enough for a list")
    reference: str | None = Field(None, description="where it was published")
    because: str = Field(min_length=1, description="the sentence that explains one finding; {column} is filled in")
    form: str
