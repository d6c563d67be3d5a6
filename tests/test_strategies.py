"""The strategies and guarantees for users find what is wrong with an anonymiser, and nothing wrong with ours."""

import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.stateful import run_state_machine_as_test

import decloak
from decloak import guarantees
from decloak.counting.guarantees import CoatConstraints, Disassociation, KmAnonymity
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.data.itemset_table import ItemsetTable
from decloak.data.published import Published
from decloak.errors import DecloakError
from decloak.library.checking import release_of
from decloak.strategies import _METHODS, Case, IncrementalReleases, Released, cases, faults, releases, transactions
from slowly import slow_but

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "test-an-anonymiser.md"
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
KM = ("cut", "aa", "da", "vpa", "lra")


def found(strategy, fault: Callable[[object], object], examples: int = 200, phases: Sequence[Phase] = tuple(Phase)):
    """Return the smallest example with a fault, among as many as the documentation promises."""
    drawn = settings(
        max_examples=examples, database=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=phases
    )
    return find(strategy, fault, settings=drawn)


def refused(keeps: Callable[..., None], *arguments: object) -> bool:
    try:
        keeps(*arguments)
    except AssertionError:
        return True
    return False


@settings(max_examples=60, suppress_health_check=SLOW)
@given(cases(skew=1))
def test_our_own_methods_keep_what_they_promise(case: Case):
    for method in KM:
        release = decloak.anonymise(case.transactions, method, k=case.k, m=case.m, hierarchy=case.hierarchy)
        guarantees.keeps_km(release, case.k, case.m, case.transactions)


@settings(max_examples=40, suppress_health_check=SLOW)
@given(cases(sensitive=1))
def test_our_own_diversity_keeps_what_it_promises(case: Case):
    given_ = {"l": 2, "m": case.m, "sensitive": case.sensitive, "hierarchy": case.hierarchy}
    try:
        release = decloak.anonymise(case.transactions, "diversity", **given_)
    except DecloakError:
        return
    guarantees.keeps_l_diversity(release, 2, case.m, case.sensitive, case.transactions)


@pytest.mark.parametrize("form", slow_but(["disassociated", "itemset-table"], [str(form) for form in _METHODS]))
def test_valid_releases_of_each_form_keep_their_guarantee_and_are_written(form: str, tmp_path):
    @settings(max_examples=25, suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture])
    @given(releases(form))
    def holds(released: Released):
        keeps = _METHODS[form][released.method].keeps
        assert released.release.form == form
        if keeps is not None:
            keeps(released.case, released.release)
        released.release.write(tmp_path / "release.jsonl")

    holds()


FAULTS = [(form, fault) for form in map(str, _METHODS) for fault in faults(form)]
CLASSES = {
    ("generalised", "shown item"): {"1 item"},
    ("set-generalised", "shown item"): {"1 item", "privacy"},
    ("set-generalised", "utility"): {"utility"},
    ("disassociated", "term"): {"support"},
    ("disassociated", "small cluster"): {"size"},
    ("disassociated", "empty records"): {"records"},
    ("disassociated", "too many sub-records"): {"size"},
    ("disassociated", "empty sub-record"): {"empty"},
    ("disassociated", "item outside the chunk"): {"outside"},
    ("disassociated", "repeated item"): {"repeated"},
    ("disassociated", "item in two chunks"): {"overlap"},
}
"""The classes of violations that a kind of near-valid releases has; the others have several, or only one."""


@pytest.mark.parametrize("kind", slow_but([("generalised", "k - 1"), *CLASSES], FAULTS), ids=": ".join)
def test_a_near_valid_release_violates_its_guarantee_in_one_way(kind: tuple[str, str]):
    form, fault = kind

    @settings(max_examples=25, suppress_health_check=SLOW)
    @given(releases(form, valid=False, fault=fault))
    def holds(released: Released):
        case, release, method, made = released
        keeps = _METHODS[form][method].keeps
        assert made == fault
        assert refused(keeps, case, release)
        if fault.endswith(" - 1"):
            bound = fault[0]
            assert release.parameters.get(bound, getattr(case, bound)) == getattr(case, bound)
            keeps(case._replace(**{bound: getattr(case, bound) - 1}), release)
        if (form, fault) in CLASSES:
            parameters = {
                "coat": CoatConstraints(case.k, tuple((item,) for item in case.items), (tuple(case.items),)),
                "disassociation": Disassociation(case.k, case.m),
            }
            guarantee = parameters.get(method, KmAnonymity(case.k, case.m))
            read = release_of(release)
            classes = {guarantee.class_of(row) for row in guarantee.violations(read)} - {"enumeration"}
            expected = CLASSES[form, fault] & set(guarantee.classes(read))
            assert expected <= classes
            assert classes == expected or isinstance(guarantee, KmAnonymity), "larger itemsets are rare as well"

    holds()


@pytest.mark.parametrize("form", [str(form) for form in _METHODS if form != "synthetic"])
def test_each_class_of_violations_has_a_kind_of_near_valid_releases(form: str):
    covered = set().union(*(classes for (of, _), classes in CLASSES.items() if of == form))
    parts = {"set-generalised": CoatConstraints.parts, "disassociated": Disassociation.parts}.get(form, ())
    # An enumeration of all possible data sets finds a fault together with the closed form, and never alone.
    assert set(parts) - {"enumeration"} <= covered


def test_sets_of_items_are_drawn_directly():
    def overlapping(released: Released) -> bool:
        sets = released.release.published.generalised if released.method == "coat" else released.release.generalised
        return released.method == "drawn" and any(set(a) & set(b) for a, b in combinations(sets, 2))

    case, release, _, _ = found(releases("set-generalised"), overlapping, phases=[Phase.generate])  # any will do
    for shown, items in zip(release.transactions, case.transactions, strict=True):
        assert all(set(items) & ({element} if isinstance(element, str) else {*element}) for element in shown)


def test_a_form_without_such_releases_is_refused():
    with pytest.raises(DecloakError, match="no near-valid releases of the form 'synthetic'"):
        releases("synthetic", valid=False)
    with pytest.raises(DecloakError, match="did you mean 'generalised'"):
        releases("generalized")
    with pytest.raises(DecloakError, match="did you mean 'term'"):
        releases("disassociated", fault="terms")


def test_the_skew_is_the_skew_of_the_items():
    names, counts = ["a", "b", "c", "d"], {0: Counter(), 2: Counter()}

    @settings(max_examples=300, derandomize=True, database=None)
    @given(transactions(names), transactions(names, skew=2))
    def draw(uniform, skewed):
        for rows, seen in zip((uniform, skewed), counts.values(), strict=True):
            seen.update(row[0] for row in rows if row)

    draw()
    first, last = ({skew: count[name] / count.total() for skew, count in counts.items()} for name in ("a", "d"))
    assert first[2] > 1.5 * first[0]
    assert last[2] < last[0] / 1.5


# Makers that promise more than they keep, one for each form; each is found out by the check of its guarantee.


def too_small_k(case: Case):
    """Generalised records that hide among one record fewer."""
    k = max(1, case.k - 1)
    return decloak.anonymise(case.transactions, "cut", k=k, m=case.m, hierarchy=case.hierarchy)


def one_record_plain(case: Case):
    """Sets of items, but for the first record, whose items are published as they are."""
    constraints = [[item] for item in case.items]
    made = decloak.anonymise(
        case.transactions, "coat", k=case.k, privacy=constraints, utility=[case.items], order="recorded"
    ).published
    return replace(made, transactions=(tuple(case.transactions[0]), *made.transactions[1:]))


def one_chunk(case: Case):
    """Disassociation that leaves all items of a cluster in one chunk."""
    chunk = Chunk(tuple(case.items), tuple(map(tuple, case.transactions)))
    return Disassociated((Cluster(len(case.transactions), (chunk,), ()),), k=case.k, m=case.m)


def every_itemset(case: Case):
    """A table of all supports of at least k, whatever their differences."""
    rows = [frozenset(row) for row in case.transactions]
    sets = [set_ for size in (1, 2) for set_ in combinations(case.items, size)]
    supports = {set_: sum(row >= set(set_) for row in rows) for set_ in sets}
    kept = {set_: support for set_, support in supports.items() if support >= case.k}
    return ItemsetTable(len(rows), tuple(kept), tuple(kept.values()), case.k, 2)


def not_suppressed(case: Case):
    """Suppression by the support of single items, for any m."""
    counts = Counter(item for row in case.transactions for item in row)
    return [[item for item in row if counts[item] >= case.k] for row in case.transactions]


def sensitive_forgotten(case: Case):
    """Generalisation that takes no notice of the sensitive items."""
    rows = [[item for item in row if item not in case.sensitive] for row in case.transactions]
    made = decloak.anonymise(rows, "cut", k=1, m=1, hierarchy=case.hierarchy, order="recorded")
    return [
        (*shown, *set(row).intersection(case.sensitive))
        for shown, row in zip(made.transactions, case.transactions, strict=True)
    ]


def learned_by_heart(case: Case):
    """Synthetic records, but for the first, which is the record of a person."""
    drawn = decloak.anonymise(case.transactions, "synthetic", parts=2, seed=1)
    return replace(drawn, transactions=(tuple(sorted(case.transactions[0])), *drawn.transactions[1:]))


def sabotaged(case: Case, form: str) -> bool:
    """Whether the check finds the maker of a form out."""
    k, m, original = case.k, case.m, case.transactions
    each = [[item] for item in case.items]
    checks = {
        "generalised": lambda: guarantees.keeps_km(too_small_k(case), k, m, original),
        "set-generalised": lambda: guarantees.keeps_coat(one_record_plain(case), k, each, [case.items], original),
        "disassociated": lambda: guarantees.keeps_disassociation(one_chunk(case), k, m, original),
        "itemset-table": lambda: guarantees.keeps_cells(every_itemset(case), k, "allow", original),
        "suppressed": lambda: guarantees.keeps_km(not_suppressed(case), k, m),
        "synthetic": lambda: guarantees.copies_no_record(learned_by_heart(case), original, k),
        "diverse": lambda: guarantees.keeps_l_diversity(sensitive_forgotten(case), 2, m, case.sensitive),
    }
    return refused(checks[form])


SMALLEST = {
    "generalised": 3,
    "set-generalised": 4,
    "disassociated": 3,
    "itemset-table": 5,
    "suppressed": 6,
    "synthetic": 4,
    "diverse": 4,
}
"""Occurrences of items in the smallest case that shows the fault."""


@pytest.mark.parametrize("form", slow_but(SMALLEST.keys() - {"generalised"}, SMALLEST))  # suppression has its check
def test_a_sabotaged_maker_of_each_form_is_caught_and_shrunk(form: str):
    strategy = cases(4, 6, least_k=2, sensitive=form == "diverse")
    smallest = found(strategy, lambda case: sabotaged(case, form))
    assert sum(map(len, smallest.transactions)) <= SMALLEST[form], smallest


def test_each_published_form_has_a_sabotaged_maker():
    assert {str(form) for form in _METHODS} <= SMALLEST.keys()


def test_a_record_of_few_people_may_not_be_copied():
    people = [["a", "b", "c"], ["a", "b", "c"], ["b", "c", "d"], ["e"]]
    guarantees.copies_no_record([["a", "b", "c"], ["e"], ["a", "b", "d"]], people)
    with pytest.raises(AssertionError, match=r"^copies of fewer than 2 original records: \[\['b', 'c', 'd'"):
        guarantees.copies_no_record([["d", "c", "b"]], people)
    with pytest.raises(AssertionError, match=r"\[\['a', 'b', 'c'\], \['b', 'c', 'd'\]\]$"):
        guarantees.copies_no_record([["d", "c", "b"], ["a", "b", "c"]], people, k=3)


@pytest.mark.slow
def test_cover_problems_are_caught_and_the_cure_has_none():
    def made(case: Case, **cure: str) -> Disassociated:
        return decloak.anonymise(case.transactions, "disassociation", k=case.k, m=case.m, **cure)

    smallest = found(cases(4, 6, least_k=2, skew=1), lambda case: refused(guarantees.has_no_cover_problem, made(case)))
    guarantees.has_no_cover_problem(made(smallest, cover="cure"))


def test_an_incomplete_release_is_caught():
    tree = decloak.Hierarchy.balanced(["a", "b"], 2)
    release = decloak.anonymise([["a"], ["a"]], "cut", k=1, m=1, hierarchy=tree)
    with pytest.raises(AssertionError, match="'b' is published 0 times"):
        guarantees.keeps_km(release, 1, 1, [["a"], ["a", "b"]])
    split = decloak.anonymise([["a"], ["a"]], "disassociation", k=2, m=1)
    with pytest.raises(AssertionError, match=r"only one side has the items \['b'\]"):
        guarantees.keeps_disassociation(split, 2, 1, [["a"], ["a", "b"]])
    with pytest.raises(AssertionError, match="another number of records"):
        guarantees.keeps_disassociation(split, 2, 1, [["a"]])
    with pytest.raises(AssertionError, match=r"more sub-records than records have the items \['a'\]"):
        guarantees.keeps_disassociation(
            Disassociated((Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b",)),)), 2, 1, [["a"], ["b"]]
        )
    table = decloak.anonymise([["a"], ["a"]], "itemsets", k=2, m=1, zeros="allow")
    with pytest.raises(AssertionError, match="supports of these itemsets are wrong"):
        guarantees.keeps_cells(table, 2, "allow", original=[["a"], []])
    shown = Published(((("a", "b"),), (("a", "b"),)), ("1", "2"))
    guarantees.keeps_coat(shown, 2, [["a"]], original=[["b", "c"], ["a"]])
    with pytest.raises(AssertionError, match="cannot belong to different records"):
        guarantees.keeps_coat(shown, 2, [["a"]], original=[["c"], ["a"]])


def test_a_file_and_another_form_are_taken_as_decloak_check_takes_them(tmp_path):
    split = decloak.anonymise([["a"], ["a"]], "disassociation", k=2, m=1)
    split.write(tmp_path / "release.jsonl")
    guarantees.keeps_disassociation(tmp_path / "release.jsonl", 2, 1)
    with pytest.raises(DecloakError, match="this check applies to generalised releases"):
        guarantees.keeps_km(split, 2, 1)
    guarantees.keeps_km([[], []], 5, 2)  # nothing is published, so nothing is violated
    with pytest.raises(AssertionError, match=r"k = 2, m = 1: itemset \('b',\), support 1"):
        guarantees.keeps_km([["a", "b"], ["a"]], 2, 1)


ROWS = [["a" if number % 2 else "b", f"c{number}"] for number in range(16)]
NEAR = "".join(f"{item},{context},{0.1 if [item, context] in ROWS else 0.9}\n" for item in "ab" for _, context in ROWS)
"""Distances that tell which member of {a, b} is the original one."""


def test_an_attack_that_wins_more_than_the_limit_is_caught(tmp_path):
    (tmp_path / "scores.csv").write_text(f"a,b,ngd\n{NEAR}")
    told = {"relate": {"measure": "ngd", "source": "scores", "file": str(tmp_path / "scores.csv")}}
    release = decloak.anonymise(ROWS, "sets", sets=[["a", "b"]], order="recorded")
    with pytest.raises(AssertionError, match=r"^tba has a normalised advantage of 1.00, above 0.1 \(p = 1.7e-09\)$"):
        guarantees.wins_no_more_than("tba", 0.1, release, ROWS, **told)
    guarantees.wins_no_more_than("tba", 1.0, release, ROWS, **told)
    few = decloak.anonymise(ROWS[:4], "sets", sets=[["a", "b"]], order="recorded")
    guarantees.wins_no_more_than("tba", 0.1, few, ROWS[:4], **told)  # four records show little
    split = decloak.anonymise(ROWS, "disassociation", k=2, m=1, order="recorded")
    with pytest.raises(DecloakError, match="the records of these rows cannot show"):
        guarantees.wins_no_more_than("aba", 1.0, split, ROWS)  # the rows of clusters are in another order


# Explaining an example traces every line, and takes longer than finding and shrinking it.
GROWING = settings(
    max_examples=200, database=None, derandomize=True, deadline=None, stateful_step_count=4,
    phases=[Phase.generate, Phase.shrink],
)  # fmt: skip


class Whole(IncrementalReleases):
    """Anonymises all records again for each release."""

    most_items = 2
    published: ClassVar[list[object]] = []

    def __init__(self):
        super().__init__()
        self.published.clear()

    def publish(self, rows):
        self.published.append(rows)
        names = [f"i{number}" for number in range(self.most_items)]
        tree = decloak.Hierarchy.balanced(names, 2)
        return decloak.anonymise(rows, "cut", k=self.k, m=self.m, hierarchy=tree)


class Batches(Whole):
    """Publishes the records so far as they are, and a release of the new ones if there are enough."""

    def __init__(self):
        super().__init__()
        self.done, self.rows = 0, []

    def publish(self, rows):
        if len(rows) - self.done >= self.k:
            self.rows += super().publish(rows[self.done :]).transactions
            self.done = len(rows)
        return list(self.rows)


def test_publishing_all_records_again_reveals_the_new_ones_and_batches_do_not():
    labels = r"k = 2, m = 2: further records with these labels: \[\(\('i0',\), 1\)\]"
    with pytest.raises(AssertionError, match=labels):
        run_state_machine_as_test(Whole, settings=GROWING)
    assert Whole.published == [[["i0"], ["i0"]], [["i0"], ["i0"], ["i0"]]]  # the smallest story is told last
    run_state_machine_as_test(Batches, settings=settings(GROWING, max_examples=25))


def without_numbers(text: str) -> str:
    """The text with items of one name: which of them a case keeps depends on the version of Hypothesis."""
    return re.sub(r"\bi\d+\b", "i", text)


def test_the_page_says_what_happens(tmp_path, monkeypatch):
    """The files of the how-to are run as a reader runs them, with the messages that it shows."""
    blocks = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = re.findall(r"```text\nAssertionError: (.*?)\n```", PAGE.read_text(encoding="utf-8"))
    for name, text in blocks:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    theirs, checker, growing = map(importlib.import_module, ("test_theirs", "test_a_checker", "test_growing"))
    assert len(blocks[1][1].split("\n")) - blocks[1][1].split("\n").count("") <= 10
    with pytest.raises(AssertionError) as error:
        GROWING(theirs.test_their_anonymiser)()
    assert without_numbers(str(error.value)) == without_numbers(shown[0])
    few = settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
    for test in (checker.test_valid_releases_are_accepted, checker.test_near_valid_releases_are_refused):
        few(test)()
    with pytest.raises(AssertionError) as error:
        run_state_machine_as_test(growing.Again, settings=GROWING)
    assert str(error.value) == shown[1]


def test_without_hypothesis_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "decloak.strategies")
    with pytest.raises(ModuleNotFoundError, match="needs the package hypothesis; pip install hypothesis"):
        importlib.import_module("decloak.strategies")
