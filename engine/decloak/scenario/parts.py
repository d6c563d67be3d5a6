"""What a scenario says of the attacker, of an attack and of repetitions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from decloak.errors import DecloakError, shown
from decloak.relate.wordnet_files import files_in
from decloak.rules.model import is_path
from decloak.yaml.part import File, Found, Item, Part, disjoint

__all__ = ["Attack", "Attacker", "Nouns", "Repeat"]

Known = Annotated[tuple[Item, ...], Field(min_length=1)]


class Nouns(Part):
    """Foreign words from WordNet."""

    wordnet: File
    """The folder of WordNet's files, or package for those of the installed one (the extra 'wordnet')."""

    @property
    def folder(self) -> str | None:
        """The folder, None for the installed package."""
        return None if self.wordnet == "package" else self.wordnet

    def named(self) -> Iterator[str]:
        """The files that decide which words there are."""
        yield from files_in(self.folder)


class Attacker(Part):
    """What the attacker goes by."""

    FILES: ClassVar = ("foreign", "knowledge")

    model: Literal["strong", "strong_pairs", "moderate", "weak"] = "strong"
    """Disassociated data: knows every pair, every m items of every record, m items of each of a share of the
    records, or all m of ten items and ten foreign words."""
    share: float = Field(0.5, gt=0, lt=1)
    """Moderate: the share of the records of which an itemset is known."""
    foreign: File | Nouns | None = None
    """Weak: a file of words that are not in the data, one a line, or nouns of WordNet; ten of them are taken."""
    knowledge: File | None = None
    """The known itemsets themselves, one a line, in place of a model."""

    context: Annotated[int, Field(ge=1)] | Literal["all"] = 2
    """How many of the nearest plain items of a transaction, or all, tell what fits in it."""
    k: int = Field(2, ge=2)
    """Unmarked data: an item in at least k transactions is taken to be generalised."""
    utility: Annotated[tuple[Known, ...], Field(min_length=1), AfterValidator(disjoint)] | None = None
    """Unmarked data: the sets that items were generalised to, when they are known."""

    def mistakes(self) -> Found:
        """What belongs to one model, or replaces all."""
        wanted = {"share": "moderate", "foreign": "weak"}
        for key, model in wanted.items():
            if key in self.model_fields_set and self.model != model:
                yield (key,), DecloakError(f"{shown(key)} is for the {model} attacker", hint=f"write model: {model}")
        if self.model == "weak" and self.foreign is None:
            hint = "write foreign: FILE, one word a line, or {wordnet: package}"
            yield ("model",), DecloakError("the weak attacker needs words that are not in the data", hint=hint)
        if self.knowledge is not None and "model" in self.model_fields_set:
            yield ("knowledge",), DecloakError("the known itemsets replace a model", hint="delete one of the two")

    @property
    def nearest(self) -> int | None:
        """How many plain items make a context, None for all."""
        return None if self.context == "all" else self.context


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
