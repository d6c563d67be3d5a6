"""The section `attacker` of a scenario: the knowledge of the attacker, and the context of an item."""

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.folder import Folder
from decloak.data.formats.look_check import read_fitting
from decloak.data.formats.plain_files import FORMATS
from decloak.data.formats.record import Options
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.ordering import Order
from decloak.errors import DecloakError, quote
from decloak.relate.wordnet_files import files_in
from decloak.yaml.section import ConfigErrors, ConfigSection, File, Item, disjoint

DEFAULT_CONTEXT = 2
"""Plain items of a context, if the scenario does not say."""
Known = Annotated[tuple[Item, ...], Field(min_length=1)]


class Nouns(ConfigSection):
    """Foreign words from WordNet."""

    FILES: ClassVar = ("wordnet",)

    wordnet: File
    """The folder of WordNet's files, or package for the installed files (the extra 'wordnet')."""

    @property
    def folder(self) -> str | None:
        """Return the folder, None for the installed package."""
        return None if self.wordnet == "package" else self.wordnet

    def files_of(self, key: str) -> Sequence[str]:
        return files_in(self.folder)


class FrequentSets(ConfigSection):
    """Itemsets that are frequent among some records."""

    FILES: ClassVar = ("file",)

    support: float = Field(0.01, gt=0, le=1)
    """The share of the records that hold them, at least."""
    # As many as the attacker with foreign words knows: the pairs of ten items and ten words.
    count: int = Field(190, ge=1)
    """The number of known itemsets: drawn at random, or all if there are fewer."""
    file: File | None = None
    """Transactions of other people, in which to look; without it the originals."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """The format of the file."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for a format without a file."""
        if self.file is None and "format" in self.model_fields_set:
            yield ("format",), DecloakError("'format' goes with 'file'", hint="delete it, or name a file")


class Sample(ConfigSection):
    """Other records of the same population that the attacker knows."""

    FILES: ClassVar = ("sample",)

    sample: Annotated[float, Field(gt=0, lt=1)] | File
    """The file of the records; or which share of the original records is held out, known to the attacker and never
    published."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """The format of the file; `decloak import --help` describes the formats."""
    published: bool = False
    """If true, the file may contain the published records, so the attacker may know the answers."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for each option of a file where records are held out."""
        for key in ("format", "published"):
            if self.share is not None and key in self.model_fields_set:
                hint = "delete it"
                yield (key,), DecloakError(f"{quote(key)} is of a file, these records are held out", hint=hint)

    @property
    def share(self) -> float | None:
        """Return the share that is held out, None for a file."""
        return self.sample if isinstance(self.sample, float) else None

    def files_of(self, key: str) -> Sequence[str]:
        # A share of the originals is no file, whose content would be part of the key.
        return () if self.share is not None else super().files_of(key)

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, object]:
        return super().identity(digest_of) | ({} if self.share is None else {"sample": self.share})


KnowledgeStep = Literal["nothing", "language", "release", "sample", "person"] | Sample
"""Name of a knowledge level, or a sample with its options."""


def misused_options(part: ConfigSection, format: str) -> ConfigErrors:  # noqa: A002 (the word users write)
    """Yield an error for each option of `part` that a file of this `format` does not have, or that cannot separate
    names.
    """
    for option in Options._fields:
        if option in part.model_fields_set and not FORMATS[format].knows(option):
            yield (option,), DecloakError(f"the format {format} has no option {quote(option)}", hint="delete it")
    for option in ("separator", "within"):
        if (character := getattr(part, option, None)) is not None:
            try:
                check_separator(character)
            except DecloakError as error:
                yield (option,), error


class Auxiliary(ConfigSection):
    """Transactions that the attacker has in addition to the release: of the same people, or of others."""

    FILES: ClassVar = ("file",)

    file: File
    """The path of the file."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """The format of the file; `decloak import --help` describes the formats."""
    ids: bool = False
    """If true, the first name of a line is the id of the record."""
    separator: str | None = None
    """The character between names, when it is not a comma."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for each option that the format does not have."""
        yield from misused_options(self, self.format)

    def read(self, folder: Folder) -> Dataset:
        """Return the records of the file in `folder`, in its order."""
        data = read_fitting(folder / self.file, self.format, Options(self.ids, self.separator))
        return Dataset(data.transactions, data.labels, self.file)


class Attacker(ConfigSection):
    """The attacker of a scenario."""

    FILES: ClassVar = ("foreign", "knowledge", "auxiliary")

    knows: KnowledgeStep | Annotated[tuple[KnowledgeStep, ...], Field(min_length=1)] | None = None
    """The knowledge levels of the attacker, one or a list. They are nothing, language (the measures under relate),
    release (the information of the release about itself), a sample of the population, and person. Without it, all that
    the scenario says.
    """

    model: Literal["strong", "strong_pairs", "moderate", "weak"] = "strong"
    """The model for disassociated data. A strong attacker knows every set of m items of every record. A moderate
    attacker knows m items of each record in a share of the records. A weak attacker knows sets of ten items and ten
    foreign words, or frequent itemsets.
    """
    share: float = Field(0.5, gt=0, lt=1)
    """Moderate: the share of the records of which an itemset is known."""
    foreign: File | Nouns | None = None
    """For the weak attacker: a file of words that are not in the data, one per line, or nouns of WordNet. The attacker
    takes ten.
    """
    frequent: FrequentSets | None = None
    """Weak: itemsets of m items that are frequent, in place of foreign words."""
    knowledge: File | None = None
    """The known itemsets themselves, one a line, in place of a model."""

    context: Annotated[int, Field(ge=1)] | Literal["all"] | None = None
    """The number of nearest published items of a record that the attacker uses, or all. The default is 2. In a sorted
    release it is all, because neighbours are only similar in spelling.
    """
    auxiliary: File | Auxiliary | None = None
    """Records that the attacker has next to the release: a file of baskets, or a file in another format. Attacks by
    order compare its lines and its item frequencies with the release.
    """
    k: int = Field(2, ge=2)
    """Unmarked data: an item in at least k records is taken to be generalised."""
    utility: Annotated[tuple[Known, ...], Field(min_length=1), AfterValidator(disjoint)] | None = None
    """Unmarked data: the sets that items were generalised to, when they are known."""

    def config_errors(self) -> ConfigErrors:
        """Yield an error for each key that belongs to another model, or that another key replaces."""
        yield from self._knowledge_errors()
        for key, model in {"share": "moderate", "foreign": "weak", "frequent": "weak"}.items():
            if key in self.model_fields_set and self.model != model:
                yield (key,), DecloakError(f"{quote(key)} is for the {model} attacker", hint=f"write model: {model}")
        if self.model == "weak" and self.foreign is None and self.frequent is None:
            hint = "write `foreign: FILE`, `foreign: {wordnet: package}` or `frequent: {support: 0.01}`"
            yield ("model",), DecloakError("the weak attacker needs words that are not in the data", hint=hint)
        if self.foreign is not None and self.frequent is not None:
            yield ("frequent",), DecloakError("frequent itemsets replace foreign words", hint="delete one of the two")
        if self.knowledge is not None and "model" in self.model_fields_set:
            yield ("knowledge",), DecloakError("the known itemsets replace a model", hint="delete one of the two")

    def _knowledge_errors(self) -> ConfigErrors:
        """Yield an error for each knowledge level that contradicts another one."""
        names = [step if isinstance(step, str) else "sample" for step in self.steps]
        if not names:
            return
        for number, name in enumerate(names):
            if name in names[:number]:
                yield ("knows", number), DecloakError(f"{quote(name)} is written twice", hint="delete one")
        if "nothing" in names and len(names) > 1:
            hint = "remove it, because every attacker has the release"
            yield (
                ("knows", names.index("nothing")),
                DecloakError("'nothing' cannot be combined with other knowledge", hint=hint),
            )
        for key in ("model", "share", "foreign", "knowledge"):
            if key in self.model_fields_set and "person" not in names:
                message = f"{quote(key)} needs an attacker who knows items of people"
                yield (key,), DecloakError(message, hint="add person to knows, or delete it")

    @property
    def steps(self) -> tuple[KnowledgeStep, ...]:
        """Return the knowledge levels that are named; empty if the scenario names none."""
        return self.knows if isinstance(self.knows, tuple) else () if self.knows is None else (self.knows,)

    @property
    def knowledge_levels(self) -> frozenset[KnowledgeLevel] | None:
        """Return the knowledge levels of the attacker, None if the scenario names none."""
        knowledge_levels = frozenset(KnowledgeLevel(step if isinstance(step, str) else "sample") for step in self.steps)
        return knowledge_levels or None

    @property
    def sample(self) -> Sample | None:
        """Return the records of the population that the attacker knows."""
        return next((step for step in self.steps if isinstance(step, Sample)), None)

    @property
    def auxiliary_records(self) -> Auxiliary | None:
        """Return the auxiliary records of the attacker, with the options of their file."""
        return Auxiliary(file=self.auxiliary) if isinstance(self.auxiliary, str) else self.auxiliary

    def nearest(self, order: Order | None) -> int | None:
        """Return the number of plain items in a context, None for all.

        `order` is the order of the release, None for a release of another publisher.
        """
        context = self.context or ("all" if order == "sorted" else DEFAULT_CONTEXT)
        return None if context == "all" else context
