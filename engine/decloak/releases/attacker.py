"""What a scenario says of the attacker: what is known beforehand, and how far around an item is looked."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.folder import Folder
from decloak.data.formats.look_fit import read_fitting
from decloak.data.formats.readers import FORMATS
from decloak.data.formats.record import Options
from decloak.data.ordering import Order
from decloak.data.rungs import Rung
from decloak.errors import DecloakError, shown
from decloak.relate.wordnet_files import files_in
from decloak.yaml.part import File, Found, Item, Part, disjoint

__all__ = ["Attacker", "Auxiliary", "FrequentSets", "Nouns", "Sample", "misused_options"]

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
        return files_in(self.folder)


class FrequentSets(Part):
    """Itemsets that are frequent among some transactions."""

    FILES: ClassVar = ("file",)

    support: float = Field(0.01, gt=0, le=1)
    """The share of the transactions that hold them, at least."""
    count: int = Field(190, ge=1)
    """How many are known: drawn at random, or all if there are fewer."""
    file: File | None = None
    """Transactions of other people, in which to look; without it the originals."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """How the file is written."""

    def mistakes(self) -> Found:
        """A format of no file."""
        if self.file is None and "format" in self.model_fields_set:
            yield ("format",), DecloakError("'format' goes with 'file'", hint="delete it, or name a file")


class Sample(Part):
    """Other records of the same population that the attacker knows."""

    FILES: ClassVar = ("sample",)

    sample: Annotated[float, Field(gt=0, lt=1)] | File
    """The file of the records; or which share of the original records is held out, known to the attacker and never
    published."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """How the file is written; `decloak import --help` describes the formats."""
    published: bool = False
    """Whether the records of the file may be those that are published: the answers."""

    def mistakes(self) -> Found:
        """What is said of a file where there is none."""
        for key in ("format", "published"):
            if self.share is not None and key in self.model_fields_set:
                hint = "delete it"
                yield (key,), DecloakError(f"{shown(key)} is of a file, these records are held out", hint=hint)

    @property
    def share(self) -> float | None:
        """The share that is held out, None of a file."""
        return self.sample if isinstance(self.sample, float) else None

    def files_of(self, key: str) -> Sequence[str]:
        return () if self.share is not None else super().files_of(key)

    def identity(self, digest_of: Callable[[str], str]) -> dict[str, Any]:
        return super().identity(digest_of) | ({} if self.share is None else {"sample": self.share})


Step = Literal["nothing", "language", "release", "sample", "person"] | Sample
"""A rung of the ladder, the sample beside it where there is one."""


def misused_options(part: Part, format: str) -> Found:  # noqa: A002 (the word users write)
    """Options that mean nothing to the format of a file, and characters that cannot separate names."""
    for option in Options._fields:
        if option in part.model_fields_set and not FORMATS[format].knows(option):
            yield (option,), DecloakError(f"the format {format} has no option {shown(option)}", hint="delete it")
    for option in ("separator", "within"):
        if (character := getattr(part, option, None)) is not None:
            try:
                check_separator(character)
            except DecloakError as error:
                yield (option,), error


class Auxiliary(Part):
    """Transactions that the attacker has beside the release: of the same people, or of others like them."""

    FILES: ClassVar = ("file",)

    file: File
    """The path of the file."""
    format: Literal[tuple(FORMATS)] = "basket"  # type: ignore[valid-type]
    """How it is written; `decloak import --help` describes the formats."""
    ids: bool = False
    """Whether the first name of a line is the transaction's id."""
    separator: str | None = None
    """The character between names, when it is not a comma."""

    def mistakes(self) -> Found:
        """Options that mean nothing to the format."""
        yield from misused_options(self, self.format)

    def read(self, folder: Folder) -> Dataset:
        """The transactions, in the order of the file."""
        data = read_fitting(folder / self.file, self.format, Options(self.ids, self.separator))
        return Dataset(data.transactions, data.labels, self.file)


class Attacker(Part):
    """What the attacker goes by."""

    FILES: ClassVar = ("foreign", "knowledge", "auxiliary")

    knows: Step | Annotated[tuple[Step, ...], Field(min_length=1)] | None = None
    """The rungs of the ladder that the attacker stands on, one or a list: nothing but what is published, language (the
    measures under relate), the release (what it shows of itself), a sample of the population, persons. Without it, all
    that the scenario says."""

    model: Literal["strong", "strong_pairs", "moderate", "weak"] = "strong"
    """Disassociated data: knows every pair, every m items of every record, m items of each of a share of the
    records, or all m of ten items and ten foreign words (weak), or some that are frequent."""
    share: float = Field(0.5, gt=0, lt=1)
    """Moderate: the share of the records of which an itemset is known."""
    foreign: File | Nouns | None = None
    """Weak: a file of words that are not in the data, one a line, or nouns of WordNet; ten of them are taken."""
    frequent: FrequentSets | None = None
    """Weak: itemsets of m items that are frequent, in place of foreign words."""
    knowledge: File | None = None
    """The known itemsets themselves, one a line, in place of a model."""

    context: Annotated[int, Field(ge=1)] | Literal["all"] | None = None
    """How many of the nearest plain items of a transaction, or all, tell what fits in it; 2 by default, and all where
    the release is sorted, since what is near in it is near in spelling only."""
    auxiliary: File | Auxiliary | None = None
    """Transactions that the attacker has beside the release, and reads it with: a file of baskets, or one in another
    format. Attacks by order hold its lines against those of the release, and how common items are in it.
    """
    k: int = Field(2, ge=2)
    """Unmarked data: an item in at least k transactions is taken to be generalised."""
    utility: Annotated[tuple[Known, ...], Field(min_length=1), AfterValidator(disjoint)] | None = None
    """Unmarked data: the sets that items were generalised to, when they are known."""

    def mistakes(self) -> Found:
        """What belongs to one model, or replaces all."""
        yield from self._climbed()
        for key, model in {"share": "moderate", "foreign": "weak", "frequent": "weak"}.items():
            if key in self.model_fields_set and self.model != model:
                yield (key,), DecloakError(f"{shown(key)} is for the {model} attacker", hint=f"write model: {model}")
        if self.model == "weak" and self.foreign is None and self.frequent is None:
            hint = "write foreign: FILE, one word a line, or {wordnet: package}; or frequent: {support: 0.01}"
            yield ("model",), DecloakError("the weak attacker needs words that are not in the data", hint=hint)
        if self.foreign is not None and self.frequent is not None:
            yield ("frequent",), DecloakError("frequent itemsets replace foreign words", hint="delete one of the two")
        if self.knowledge is not None and "model" in self.model_fields_set:
            yield ("knowledge",), DecloakError("the known itemsets replace a model", hint="delete one of the two")

    def _climbed(self) -> Found:
        """What does not go together on a ladder."""
        names = [step if isinstance(step, str) else "sample" for step in self.steps]
        if not names:
            return
        for number, name in enumerate(names):
            if name in names[:number]:
                yield ("knows", number), DecloakError(f"{shown(name)} is written twice", hint="delete one")
        if "nothing" in names and len(names) > 1:
            hint = "delete it, everybody has what is published"
            yield ("knows", names.index("nothing")), DecloakError("who knows more knows not nothing", hint=hint)
        for key in ("model", "share", "foreign", "knowledge"):
            if key in self.model_fields_set and "person" not in names:
                message = f"{shown(key)} is of an attacker who knows something of persons"
                yield (key,), DecloakError(message, hint="add person to knows, or delete it")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The rungs that are named, none where nobody says."""
        return self.knows if isinstance(self.knows, tuple) else () if self.knows is None else (self.knows,)

    @property
    def rungs(self) -> frozenset[Rung] | None:
        """Where the attacker stands on the ladder, None where nobody says."""
        rungs = frozenset(Rung(step if isinstance(step, str) else "sample") for step in self.steps)
        return rungs or None

    @property
    def sample(self) -> Sample | None:
        """The records of the population that the attacker knows."""
        return next((step for step in self.steps if isinstance(step, Sample)), None)

    @property
    def beside(self) -> Auxiliary | None:
        """What the attacker has beside the release, with the options of its file."""
        return Auxiliary(file=self.auxiliary) if isinstance(self.auxiliary, str) else self.auxiliary

    def nearest(self, order: Order | None) -> int | None:
        """How many plain items make a context, None for all; `order` is None of the release of somebody else."""
        context = self.context or ("all" if order == "sorted" else USUAL)
        return None if context == "all" else context
