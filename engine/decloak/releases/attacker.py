"""What a scenario says of the attacker: what is known beforehand, and how far around an item is looked."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from decloak.data.ordering import Order
from decloak.errors import DecloakError, shown
from decloak.relate.wordnet_files import files_in
from decloak.yaml.part import File, Found, Item, Part, disjoint

__all__ = ["Attacker", "Nouns"]

USUAL = 2
"""Plain items that make a context where nobody says how many."""
Known = Annotated[tuple[Item, ...], Field(min_length=1)]


class Nouns(Part):
    """Foreign words from WordNet."""

    FILES: ClassVar = ("wordnet",)

    wordnet: File
    """The folder of WordNet's files, or package for those of the installed one (the extra 'wordnet')."""

    @property
    def folder(self) -> str | None:
        """The folder, None for the installed package."""
        return None if self.wordnet == "package" else self.wordnet

    def files_of(self, key: str) -> Sequence[str]:
        """The files that decide which words there are."""
        return files_in(self.folder)


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

    context: Annotated[int, Field(ge=1)] | Literal["all"] | None = None
    """How many of the nearest plain items of a transaction, or all, tell what fits in it; 2 by default, and all where
    the release is sorted, since what is near in it is near in spelling only."""
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

    def nearest(self, order: Order | None) -> int | None:
        """How many plain items make a context, None for all; `order` is None of the release of somebody else."""
        context = self.context or ("all" if order == "sorted" else USUAL)
        return None if context == "all" else context
