"""Exposure of people drawn from records that stay in files, in the original data and in the release.

Each set of known items is a query, answered by one pass over the original files and one over those of the release. A
query leaves the search when its answer is certain. The definitions are those for records in memory. Where everybody is
drawn, the figures are equal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.anonymisers.parts import NodeCoding, read_counts
from decloak.arrays import Ints, Mask
from decloak.counting.blocks import Queries, positions, sets_of, split_blocks
from decloak.counting.itemsets import distinct
from decloak.counting.signatures import Signatures, mixed, signature_sums
from decloak.data.content import Element, Elements
from decloak.data.formats.blocks import Blocks
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote
from decloak.figures import MOST_KNOWN
from decloak.measure.exposure_figures import Change, RecordExposure, changes
from decloak.measure.exposure_sets import hidden_items
from decloak.measure.family import POOLED, MetricResult, MetricValue
from decloak.measure.kernels.estimate.counts import known_items
from decloak.measure.kernels.estimate.figures import FOUND
from decloak.measure.kernels.singling_out import keep_rarest_items
from decloak.parallel import merge_tasks
from decloak.releases.stored import PartedSets

__all__ = [
    "DRAWN",
    "Form",
    "PartedExposure",
    "People",
    "answers",
    "draw_people",
    "exposed_figures",
    "patterns",
    "random_items",
    "rarest_items",
]

EXPOSED = round(1 / FOUND)
"""Records from which on a person is not exposed: a probability of exactly 1/11 is not above it."""
DRAWN = "all figures of exposure count {:,} people, drawn from {:,} with seed {}"


@dataclass(frozen=True)
class PartedExposure:
    """The number of people to draw, and the seed. A release computes its figures once for equal settings."""

    targets: int
    seed: int

    def __call__(self, held: PartedSets) -> MetricResult:
        """Return the figures of exposure of `held`, and a note on the draw."""
        assert held.original is not None
        assert held.tree is not None
        tree, blocks, store = held.tree, held.original.blocks, held.store
        counted = read_counts(store, _original_key(held), tree, pairs=False)
        if counted is None:
            where = quote(str(held.files), 4096)[1:-1]
            raise DecloakError("the counts of the data are gone", where, "run the scenario into another store")
        signed = mixed(mixed(counted.sums[0]) + counted.sums[1])
        coding = NodeCoding(tree.items, tree.leaf, tree.parent)
        people = draw_people(blocks, coding, counted.records, signed, self.targets, self.seed)
        supports = counted.supports[tree.leaf]
        members = {label: items for items, label in held.published.names.items()}
        label_of = {item: label for label, items in members.items() for item in items}
        labels = list(dict.fromkeys(label_of.get(item, item) for item in tree.items))
        number = {label: at for at, label in enumerate(labels)}
        code = positions([label_of.get(item, item) for item in tree.items], number)
        plain = np.array([item not in label_of for item in tree.items])
        of_label = np.bincount(code, supports, len(labels)).astype(np.int64)
        original = Form(blocks, tree.items, np.arange(len(code), dtype=np.int32), np.ones_like(plain), supports)
        release = Form(held.blocks, labels, code, plain, of_label)
        known = rarest_items(people.rows, supports)
        drawn = [random_items(people, size, self.seed) for size in range(1, MOST_KNOWN + 1)]
        before, after = answers(original, known, drawn), answers(release, known, drawn)
        hidden = hidden_items(
            *_published_records(people.rows, tree.items, code, [members.get(label, label) for label in labels])
        )
        figures = RecordExposure(
            people=len(people.places),
            singled_out=changes(before.singled_out, after.singled_out),
            inferred_own=Change(None, hidden.expected_known()),
            implied=Change(before.implied, after.implied),
            hidden=hidden.share,
        )
        everybody = int(counted.records.sum())
        note = None if len(people.places) == everybody else DRAWN.format(len(people.places), everybody, self.seed)
        return [*figures.figures(), *exposed_figures(before.exposed, after.exposed, drawn)], note


class People(NamedTuple):
    """The places of people among all records, their items as leaf positions, and the signatures of items."""

    places: Ints
    rows: CodedRows[int]
    items: Signatures


class Form(NamedTuple):
    """The original data, or the release: its blocks, the names of its codes, and the code of each item.

    A record certainly has an item where `certain` is true and it shows the code. `supports` are those of codes.
    """

    blocks: Blocks
    names: Sequence[str]
    code: NDArray[np.int32]
    certain: Mask
    supports: Ints


class Answers(NamedTuple):
    """How many people are singled out with up to 1, 2 and 3 items, have an implied item, and are exposed."""

    singled_out: list[float]
    implied: int
    exposed: list[int]


def _original_key(held: PartedSets) -> str:
    sql = "select d.digest from truth_release t join dataset d on d.id = t.original where t.release = ?"
    return str(held.connection.execute(sql, (held.number,)).fetchone()[0])


def _fetch(
    blocks: Blocks, numbers: range, coding: NodeCoding, items: Signatures, rows: Sequence[Ints]
) -> tuple[Signatures, list[tuple[int, Ints, Ints]]]:
    """Return the last sums of signatures over some blocks, and the records of each block at the places `rows`."""
    sums: Signatures = np.zeros(len(items), np.uint64)
    fetched = list[tuple[int, Ints, Ints]]()
    for number, chosen in zip(numbers, rows, strict=True):
        sets = coding.read(blocks, number)
        sums += signature_sums(sets.start, sets.codes, items)
        some = CodedRows[str](sets.start, sets.codes, ()).select(chosen)
        fetched.append((number, some.lengths, some.codes.astype(np.int64)))
    return sums, fetched


def draw_people(
    blocks: Blocks, coding: NodeCoding, records: Ints, before: Signatures, targets: int, seed: int
) -> People:
    """Draw people, and fetch their records.

    `records` has the number of records of each block, and `before` the signatures of items before the last round.
    """
    ends = np.cumsum(records)
    everybody = int(ends[-1])
    random = np.random.default_rng([seed, everybody])
    places = np.sort(random.choice(everybody, min(targets, everybody), replace=False, shuffle=False))
    of_block = np.split(places, np.searchsorted(places, ends[:-1]))
    first = ends - records
    sums, fetched = np.zeros(len(before), np.uint64), list[tuple[int, Ints, Ints]]()

    def merge(result: tuple[Signatures, list[tuple[int, Ints, Ints]]]) -> None:
        np.add(sums, result[0], out=sums)
        fetched.extend(result[1])

    tasks = [
        (blocks, numbers, coding, before, [of_block[number] - first[number] for number in numbers])
        for numbers in split_blocks(len(blocks))
    ]
    merge_tasks(_fetch, tasks, merge)
    fetched.sort(key=lambda block: block[0])
    start = np.concatenate(([0], np.cumsum(np.concatenate([lengths for _, lengths, _ in fetched]))))
    rows = CodedRows(start, np.concatenate([codes for *_, codes in fetched]), range(len(before)))
    return People(places, rows, mixed(before + sums))


def rarest_items(rows: CodedRows[int], supports: Ints) -> list[Ints]:
    """Return the items of each person from which an attacker knows some: at most 24, the rarest."""
    items = len(supports)
    person, item = np.divmod(keep_rarest_items(rows.row_of_code * items + rows.codes, items, supports), items)
    return np.split(item, np.searchsorted(person, np.arange(1, len(rows))))


def random_items(people: People, size: int, seed: int) -> Ints:
    """Return `size` random items of each person who has as many: size × people."""
    records = people.rows.matrix(np.arange(len(people.items)), len(people.items))
    enough = np.flatnonzero(people.rows.lengths >= size)
    return known_items(records[enough], people.items, people.places[enough], size, seed)


@cache
def patterns(items: int) -> tuple[Ints, Ints, Ints]:
    """Return the sets of one to three of so many items, the size of each, and the claims that two imply a third."""
    everyone = range(items)
    sets = [(*some, *some[-1:] * (3 - size)) for size in (1, 2, 3) for some in combinations(everyone, size)]
    sizes = [size for size in (1, 2, 3) for _ in combinations(everyone, size)]
    claims = [(*two, third) for two in combinations(everyone, 2) for third in everyone if third not in two]
    return np.array(sets, np.int64).reshape(-1, 3), np.array(sizes), np.array(claims, np.int64).reshape(-1, 3)


def answers(form: Form, known: Sequence[Ints], drawn: Sequence[Ints]) -> Answers:
    """Count the people that `form` exposes, who have the `known` items, of which random ones are `drawn`."""
    asked, claimed = [patterns(len(items)) for items in known], list[Ints]()
    sets = [items[patterns[0]] for items, patterns in zip(known, asked, strict=True)]
    for items, (_, _, claims) in zip(known, asked, strict=True):
        possible = items[claims]
        claimed.append(possible[form.certain[possible[:, 2]]])
    exposed = [np.vstack((*items, *items[-1:].repeat(3 - len(items), axis=0))).T for items in drawn]
    queries = [np.concatenate([np.zeros((0, 3), np.int64), *group]) for group in (sets, claimed, exposed)]
    most = np.repeat([2, 1, EXPOSED], list(map(len, queries)))
    lacks = np.repeat([False, True, False], list(map(len, queries)))
    hits = _search(form, form.code[np.concatenate(queries)].astype(np.int64), lacks, most)
    of_sets, of_claims, of_exposed = np.split(hits, np.cumsum(list(map(len, queries)))[:-1])
    person = np.repeat(np.arange(len(known)), list(map(len, sets)))
    size = np.concatenate([np.zeros(0, np.int64), *(sizes for _, sizes, _ in asked)])
    singled = [float(len(np.unique(person[(of_sets == 1) & (size <= most_known)]))) for most_known in (1, 2, 3)]
    implied = np.repeat(np.arange(len(known)), list(map(len, claimed)))[of_claims == 0]
    counts = np.split(of_exposed, np.cumsum([group.shape[1] for group in drawn])[:-1])
    return Answers(singled, len(np.unique(implied)), [int((count < EXPOSED).sum()) for count in counts])


def _search(form: Form, sets: Ints, lacks: Mask, most: Ints) -> Ints:
    """Return the records that answer each query, at least up to `most`; see `Queries`."""
    # The rarest code comes first: the search looks up a query where a record has it.
    last = 2 + ~lacks[:, None]
    rank = np.where(np.arange(3) < last, form.supports[sets] * len(form.names) + sets, np.iinfo(np.int64).max)
    sets = np.take_along_axis(sets, np.argsort(rank, axis=1, kind="stable"), axis=1)
    keys = ((sets[:, 0] * len(form.names) + sets[:, 1]) * len(form.names) + sets[:, 2]) * 2 + lacks
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    sets, lacks, needed = sets[first], lacks[first], np.zeros(len(first), np.int64)
    np.maximum.at(needed, place, most)
    # Most queries are settled in the first block, so that few go to the tasks.
    hits = _answer(form.blocks, range(1), form.names, sets, lacks, needed)
    rest = np.flatnonzero(hits < needed)

    def merge(found: Ints) -> None:
        hits[rest] += found

    tasks = [
        (form.blocks, range(some.start + 1, some.stop + 1), form.names, sets[rest], lacks[rest], (needed - hits)[rest])
        for some in split_blocks(len(form.blocks) - 1)
    ]
    merge_tasks(_answer, tasks, merge)
    return np.minimum(hits, needed)[place]


def _answer(blocks: Blocks, numbers: range, names: Sequence[str], sets: Ints, lacks: Mask, most: Ints) -> Ints:
    """Return the records of some blocks that answer each query, up to `most`."""
    queries, number = Queries(sets, lacks, most.copy(), len(names)), {name: at for at, name in enumerate(names)}
    for block in numbers:
        rows = blocks.read(block)
        queries.search(sets_of(rows, positions(rows.names, number)))
    return most - queries.left


def _published_records(
    rows: CodedRows[int], items: Sequence[str], code: NDArray[np.int32], names: Sequence[Element]
) -> tuple[Elements, CodedRows[Element], Ints, Ints, Ints]:
    """Return the published records of people, with what `hidden_items` needs of them.

    `rows` has their original `items`, `code` the code of each item, and `names` the element of each code.
    """
    published, elements = sets_of(rows, code), Elements(names, items)
    taken = CodedRows(published.start, published.codes, names)
    plain = elements.plain[taken.codes]
    known = distinct(rows.row_of_code * elements.items + elements.further[rows.codes])
    shown = distinct(taken.row_of_code[plain] * elements.items + elements.item[elements.start[taken.codes[plain]]])
    return elements, taken, np.arange(len(rows)), known, shown


def exposed_figures(before: list[int], after: list[int], drawn: Sequence[Ints]) -> Iterator[MetricValue]:
    """Yield the people exposed by random known items; no attack exposes more than the release."""
    for size, (original, release, people) in enumerate(zip(before, after, drawn, strict=True), 1):
        if of := people.shape[1]:
            for ending, count in {"_original": original, "_release": release, "": release}.items():
                yield POOLED, f"exposed_{size}{ending}", count, count, of
