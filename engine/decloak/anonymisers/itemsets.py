"""Method itemsets: a table of supports in place of records, for readers who only count."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal

from pydantic import Field

from decloak.anonymisers.kernels.frequent_sets import publishable_sets
from decloak.anonymisers.method import Anonymiser, Method, MethodOptions, NewRelease, Stopwatch, item_matrix
from decloak.checks import check_enough
from decloak.counting.guarantees import ZEROS, CellSupports
from decloak.counting.itemsets import coded_items, itemset_supports, sizes
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.itemset_table import LARGEST, ItemsetTable
from decloak.errors import DecloakError
from decloak.relate.counting import Cache
from decloak.yaml.section import ConfigErrors


def _make(data: Dataset, options: MethodOptions) -> ItemsetTable:
    k, m, zeros = options.get("k", 11), options.get("m", LARGEST), options.get("zeros", ZEROS[0])
    CellSupports(k, zeros)  # which refuses other values
    if isinstance(m, int) and m > LARGEST:
        raise DecloakError(f"m is {m}", hint=f"give at most {LARGEST}")
    published = publishable_sets(item_matrix(data), k, m, zeros=zeros == "allow")
    itemsets = [tuple(data.items[item] for item in row) for grown in published for row in grown.itemsets.tolist()]
    supports = [support for grown in published for support in grown.supports.tolist()]
    return ItemsetTable(len(data.rows), tuple(itemsets), tuple(supports), k, m, data.origin)


def _faults(data: Dataset, release: ItemsetTable, options: MethodOptions) -> Iterable[object]:
    """Yield published supports that are wrong, and cells that are too small."""
    yield from _wrong_supports(data, release)
    yield from CellSupports(release.k or 1, options.get("zeros", ZEROS[0])).violations(release)


def _wrong_supports(data: Dataset, release: ItemsetTable) -> Iterator[str]:
    coded, left = coded_items(data.rows), dict(release.by_itemset)
    if left.pop(frozenset()) != len(data.rows):
        yield "the number of records is wrong"
    for size in sizes(coded.records, max(map(len, left), default=0)):
        for block in itemset_supports(coded.records, size, low=release.k or 1):
            for codes, support in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True):
                # An itemset that is not published has nothing to compare.
                if left.pop(frozenset(coded.items[code] for code in codes), support) != support:
                    yield "a support is wrong"
    yield from ("an itemset has no support of k" for _ in left)


class ItemsetsMethod(Method):
    """A table of the supports of itemsets, in place of records."""

    form: ClassVar = FormName.ITEMSETS
    guarantee_type: ClassVar = CellSupports
    anonymisers: ClassVar = (Anonymiser("itemsets", _make, _faults, frozenset(), {"k", "m", "zeros"}),)

    method: Literal["itemsets"]
    """The name of the method."""
    k: int = Field(11, ge=2)
    """The least support of a published itemset, and the least number of records in a cell of it that is not empty."""
    m: int = Field(LARGEST, ge=1, le=LARGEST)
    """The largest number of items of an itemset."""
    zeros: Literal["refuse", "allow"] = "refuse"
    """`refuse` leaves itemsets with an empty cell out. `allow` publishes them: they imply items with certainty, and let
    integer programs prove small cells of unpublished itemsets.
    """

    def config_errors(self) -> ConfigErrors:
        """Yield an error for an order of records, because a table has none."""
        if self.order == "recorded":
            yield ("order",), DecloakError("an itemset table has no records to order", hint="delete it")

    def check(self, data: Dataset, folder: Folder) -> None:
        """Raise an error if `data` have too few records. `folder` is not used."""
        check_enough(sum(map(bool, data.transactions)), self.k)

    def make(self, data: Dataset, folder: Folder, seed: int, cache: Cache | None = None) -> NewRelease[ItemsetTable]:
        """Return the table of `data`. `folder`, `seed` and `cache` are not used."""
        settings = {"k": self.k, "m": self.m, "zeros": self.zeros}
        clock = Stopwatch()
        release = self.anonymiser(data, settings)
        suppressed = set(data.items).difference(release.items)
        loss = {"suppressed": len(suppressed), **clock.seconds}
        return NewRelease(release, self.method, settings, loss, suppressed=sorted(suppressed))
