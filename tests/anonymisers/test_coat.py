"""COAT: golden releases, the thesis's figures, a naive twin, what every release must have, and what is refused."""

import gzip
import json
import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.anonymisers.coat import CoatMethod
from decloak.anonymisers.kernels.coat import coat
from decloak.anonymisers.kernels.constraints import all_items, nested_sets, random_items
from decloak.counting.generalisation_guarantee import broken_privacy
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.published import Published
from decloak.errors import DecloakError
from naive_coat import NaiveCoat, assert_sound
from slowly import slow_but

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "generalisation.json").read_text())
FIG_2_11 = GOLDEN["worked_examples"]["coat_thesis_fig2_11"]
FIG_1_3 = GOLDEN["worked_examples"]["coat_thesis_fig1_3_to_1_5"]

ITEMS = "abcdefgh"
RARE = st.sets(st.sampled_from(ITEMS), max_size=3)
OFTEN = st.sets(st.sampled_from("abcd"), max_size=4)
RECORDS = st.lists(RARE | OFTEN | st.builds(set.union, RARE, OFTEN), min_size=4, max_size=16).filter(any)
PRIVACY = st.lists(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5, unique=True), min_size=1, max_size=4)


@st.composite
def utility_constraints(draw):
    """Some of the items in up to three constraints that do not overlap; all in one now and then."""
    owners = draw(st.just([0] * len(ITEMS)) | st.lists(st.integers(0, 3), min_size=len(ITEMS), max_size=len(ITEMS)))
    sets = [[item for item, owner in zip(ITEMS, owners, strict=True) if owner == one] for one in range(3)]
    return [one for one in sets if one]


def dataset(records):
    return Dataset(tuple(tuple(sorted(one)) for one in records), tuple(str(n) for n in range(len(records))))


def possible(records, k):
    return min(k, sum(map(bool, records)))


def marked(transactions):
    """Published transactions as the golden file writes them."""
    return [sorted([one] if isinstance(one, str) else list(one) for one in row) for row in transactions]


@pytest.mark.parametrize("case", GOLDEN["coat_instances"])
def test_golden_release(case):
    made = coat(dataset(case["D"]), case["P"], case["U"], k=case["k"], items=case["items"])
    expected = case["oracle"]
    assert {item: image and list(image) for item, image in made.phi.items()} == expected["phi"]
    assert marked(made.transactions) == expected["published"]
    assert made.ul == Fraction(expected["UL"]["frac"])
    assert list(made.suppressed) == expected["suppressed"]


@pytest.mark.parametrize("case", GOLDEN["coat_instances"])
def test_golden_violations_of_the_data_are_those_the_check_names(case):
    """The golden file lists all, each as the images of its items; the check names smallest ones, and some if any."""
    data = dataset(case["D"])
    for constraint, listed in zip(case["P"], case["violations_in_D"], strict=True):
        expected = {frozenset(item for (item,) in images): support for images, support in listed}
        smallest = {one for one in expected if not any(other < one for other in expected)}
        found = broken_privacy(Published(data.transactions, data.labels), [constraint], k=case["k"])
        assert {(frozenset(one.itemset), one.support) for one in found} <= {(one, expected[one]) for one in smallest}
        assert bool(found) == bool(expected)


def test_what_the_loss_alone_would_choose_is_not_figure_2_11():
    """The golden file says what taking the least loss everywhere gives: the thesis, and we, do otherwise."""
    assert (
        marked(coat(dataset(FIG_2_11["D"]), FIG_2_11["P"], FIG_2_11["U"], k=FIG_2_11["k"]).transactions)
        != (FIG_2_11["pure_UL_rule_gives"])
    )


def test_figure_2_11_of_the_thesis():
    made = coat(dataset(FIG_2_11["D"]), FIG_2_11["P"], FIG_2_11["U"], k=FIG_2_11["k"])
    assert marked(made.transactions) == FIG_2_11["published"]
    assert made.trace == tuple((done, *map(tuple, what)) for done, *what in FIG_2_11["trace"])
    assert (made.ul, made.suppressed) == (Fraction(FIG_2_11["UL"]["frac"]), ())


@pytest.mark.parametrize("privacy", FIG_1_3["P_variants"])
def test_figure_1_3_becomes_figure_1_5_of_the_thesis(privacy):
    made = coat(dataset(FIG_1_3["D"]), privacy, FIG_1_3["U"], k=FIG_1_3["k"])
    assert marked(made.transactions) == FIG_1_3["published"]


@settings(max_examples=250)
@given(RECORDS, PRIVACY, utility_constraints(), st.integers(1, 6))
def test_equals_the_naive_twin(records, privacy, utility, k):
    k = possible(records, k)
    made = coat(dataset(records), privacy, utility, k=k, items=ITEMS)
    twin = NaiveCoat(records, privacy, utility, k, ITEMS)
    assert made.trace == tuple(twin.trace)
    assert made.phi == {item: image and tuple(sorted(image)) for item, image in twin.phi.items()}
    assert made.ul == twin.loss()


@settings(max_examples=80)
@given(st.lists(st.sets(st.sampled_from(range(12)), max_size=7), min_size=6, max_size=20).filter(any), st.data())
def test_equals_the_naive_twin_on_long_constraints(numbers, data):
    records = [{f"i{number:02}" for number in one} for one in numbers]
    items = [f"i{number:02}" for number in range(12)]
    privacy = data.draw(st.lists(st.lists(st.sampled_from(items), min_size=5, max_size=8, unique=True), min_size=1))
    k = possible(records, 3)
    made = coat(dataset(records), privacy[:2], [items[:9]], k=k, items=items)
    assert made.trace == tuple(NaiveCoat(records, privacy[:2], [items[:9]], k, items).trace)


@settings(max_examples=100)
@given(RECORDS, PRIVACY, utility_constraints(), st.integers(1, 6))
def test_every_release_has_every_property(records, privacy, utility, k):
    k = possible(records, k)
    made = coat(dataset(records), privacy, utility, k=k, items=ITEMS)
    assert_sound(records, made, privacy, utility, k, ITEMS)


@settings(max_examples=60)
@given(RECORDS, PRIVACY, utility_constraints(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_neither_names_nor_the_order_of_records_matter(records, privacy, utility, k, shuffler):
    """Names decide ties by their order, and by nothing else."""
    k = possible(records, k)
    renamed = {item: f"\U0001f9a0 {number}" for number, item in enumerate(ITEMS)}
    shuffled = [[renamed[item] for item in one] for one in records]
    shuffler.shuffle(shuffled)
    other_privacy, other_utility = ([[renamed[item] for item in one] for one in sets] for sets in (privacy, utility))
    made = coat(dataset(records), privacy, utility, k=k, items=ITEMS)
    other = coat(dataset(shuffled), other_privacy, other_utility, k=k, items=renamed.values())
    assert other.ul == made.ul
    assert [
        (step.done, *(what and tuple(renamed[item] for item in what) for what in step[1:])) for step in made.trace
    ] == list(other.trace)


def test_a_record_keeps_its_order_and_a_generalised_item_stands_where_its_first_member_did():
    data = Dataset((("d", "z", "b", "a"), ("b", "z"), ("a", "x")), ("p", "q", "r"), "shop.csv")
    published = coat(data, [["d"]], [["a", "b", "d"]], k=3).published
    assert published.transactions == ((("a", "b", "d"), "z"), (("a", "b", "d"), "z"), (("a", "b", "d"), "x"))
    assert (published.labels, published.origin) == (("p", "q", "r"), "coat of shop.csv")


def test_a_record_whose_items_are_all_suppressed_stays_as_an_empty_one():
    made = coat(dataset([["a"], ["b"], ["b"]]), [["a"]], [], k=2)
    assert made.transactions == ((), ("b",), ("b",))
    assert (made.suppressed, made.phi["a"], made.ul) == (("a",), None, 0)


def test_items_repeated_in_a_record_or_a_constraint_count_once():
    data = Dataset((("a", "a", "b"), ("b", "a"), ("c",)), ("1", "2", "3"))
    made = coat(data, [["c", "c"]], [["c", "b", "b"]], k=2)
    assert made.transactions == (("a", ("b", "c")), (("b", "c"), "a"), (("b", "c"),))
    assert made.trace == (("merge", ("c",), ("c",), ("b",)),)


def test_what_is_done_for_one_constraint_is_mended_where_it_violates_another():
    """Once {a, b} stands for b, a record seems to hold it with c, which none did."""
    records = [["b"], ["b"], ["b"], ["a", "c"], ["c"], ["c"]]
    privacy = [["b", "c"], ["a"]]
    made = coat(dataset(records), privacy, [["a", "b"]], k=3)
    assert [step.constraint for step in made.trace] == [("a",), ("b", "c")]
    assert_sound(records, made, privacy, [["a", "b"]], 3, "abc")


def test_a_constraint_with_a_suppressed_item_has_no_support_and_waits():
    """Once a and e are gone, c of the last constraint is in two records, but {c, e} in none, like {b, c} before it."""
    records = [["a", "b"], ["b"], ["c"], ["d"], ["c", "d"], ["a"]]
    privacy = [["a"], ["c", "b"], ["e", "c"]]
    made = coat(dataset(records), privacy, [["b", "c", "d"], ["a", "e"]], k=3, items="abcde")
    assert made.trace == (
        ("merge", ("a",), ("a",), ("e",)),
        ("suppress", ("a",), ("a", "e"), None),
        ("merge", ("c", "b"), ("b",), ("c",)),
    )


@pytest.mark.parametrize(("suppress", "fits"), [(0.29, True), (0.28, False), (1, True), (0, False)])
def test_the_share_that_may_be_suppressed_is_taken_as_written(suppress, fits):
    """0.29 of 100 items are 29, though the nearest float is a little less."""
    items = [f"i{number}" for number in range(100)]
    data = dataset([items, items[29:]])
    privacy = [[item] for item in items]
    if fits:
        assert len(coat(data, privacy, [], k=2, suppress=suppress).suppressed) == 29
    else:
        with pytest.raises(DecloakError, match=r"29 of 100 items would have to be suppressed, more than the share"):
            coat(data, privacy, [], k=2, suppress=suppress)


def test_one_is_enough_for_k_to_change_nothing():
    made = coat(dataset(["ab", "a"]), [["a", "b"]], [["a", "b"]], k=1)
    assert (made.transactions, made.trace, made.ul) == ((("a", "b"), ("a",)), (), 0)


@pytest.mark.parametrize(
    ("name", "held", "partner"), [("d", 6, ("b", "c")), ("A", 6, ("A",)), ("d", 5, ("d",)), ("A", 7, ("b", "c"))]
)
def test_a_small_set_in_many_records_can_lose_as_much_as_a_large_one_in_few(name, held, partner):
    """With a, {b, c} loses 7 · 3, and the item that six other records hold 3 · 7: its name decides."""
    records = [["a", "b", "c"], ["b"], ["b"], *[[name]] * held]
    made = coat(dataset(records), [["c"], ["a"]], [["a", "b", "c", name]], k=3)
    assert [step.partner for step in made.trace] == [("b",), partner]


def test_a_loss_stays_exact_where_floats_end():
    """2^1500 is no float; all partners lose the same at every step, so the first name is next."""
    items = [f"i{number:04}" for number in range(1500)]
    made = coat(dataset([[item] for item in items]), [items[:1]], [items], k=1200)
    assert made.phi["i0000"] == tuple(items[:1200])
    assert made.ul == Fraction((2**1200 - 1) * 1200, (2**1500 - 1) * 1500)


def test_a_long_constraint_costs_little_on_sparse_data():
    rng = random.Random(1)
    items = [f"i{number:02}" for number in range(60)]
    records = [rng.sample(items, 3) for _ in range(400)]
    made = coat(dataset(records), [items], [items], k=3)
    assert broken_privacy(made.published, [items], k=3) == []


def test_a_constraint_with_too_many_rare_combinations_is_refused_and_does_not_hang():
    records = [set(pair) for pair in combinations(range(40), 2)]
    named = [[f"i{number:02}" for number in range(40) if number not in one] for one in records]
    items = [f"i{number:02}" for number in range(40)]
    with pytest.raises(DecloakError, match=r"privacy constraint 2: too many combinations .* split the") as error:
        coat(dataset([*named, ["i00"]]), [["i00"], items], [items], k=len(named) // 2)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, "k is '0'; give a whole number of at least 1"),
        ({"k": True}, "k is 'True'"),
        ({"k": 2.0}, "k is '2.0'"),
        ({"k": 4}, "3 records with items cannot hide among k = 4"),
        ({"suppress": 1.5}, "suppress is '1.5'; give a share of the items between 0 and 1"),
        ({"suppress": float("nan")}, "suppress is 'nan'"),
        ({"suppress": "all"}, "suppress is 'all'"),
        ({"data": []}, "0 records with items cannot hide among k = 2; give more data, or less k"),
        ({"data": [[], []], "items": ["a", "b"]}, "0 records with items"),
        ({"privacy": []}, "no privacy constraints; list the items to protect"),
        ({"privacy": [["a"], []]}, "privacy constraint 2: no items"),
        ({"privacy": ["ab"]}, "privacy constraint 1: 'ab' is not a list of items"),
        ({"privacy": "ab"}, "the privacy constraints are 'ab'; give a list of lists of items"),
        ({"privacy": [[1]]}, "privacy constraint 1: the item '1' is not a string"),
        ({"privacy": [["a", "milc"]]}, "privacy constraint 1: the item 'milc' is in no record; did you mean 'mi"),
        ({"privacy": [["a\x00\nb"]]}, "privacy constraint 1: the item 'a\\x00\\x0ab' is in no record"),
        ({"privacy": [["\ud800"]]}, "privacy constraint 1: the item '\\ud800' is in no record"),
        (
            {"privacy": [list(map(chr, range(97, 158)))], "items": map(chr, range(97, 158))},
            "privacy constraint 1: 61 it",
        ),
        ({"utility": [["a", "b"], ["milk"], ["b"]]}, "the item 'b' is in utility constraints 1 and 3; utility constr"),
        ({"utility": [["a"], []]}, "utility constraint 2: no items"),
        ({"utility": [None]}, "utility constraint 1: 'None' is not a list of items"),
        ({"utility": [], "suppress": 0.4}, "2 of 3 items would have to be suppressed, more than the share 0.4"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(changed, message):
    options = {"data": [["a"], ["b"], ["milk"]], "privacy": [["a", "b"]], "utility": [["a", "b"]], "k": 2} | changed
    with pytest.raises(DecloakError) as error:
        coat(dataset(options.pop("data")), options.pop("privacy"), options.pop("utility"), **options)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("k", slow_but([5], [5, 50]))
def test_random_constraints_on_a_click_stream(shared_data, k):
    with gzip.open(shared_data / "bms_webview1.dat.gz", "rt") as lines:
        data = dataset([line.split() for line in lines])
    for privacy in (nested_sets(data.items, 50, seed=1), random_items(data.items, 1.0, seed=1)):
        made = coat(data, privacy, all_items(data.items), k=k)
        assert made.trace
        assert broken_privacy(made.published, privacy, k=k) == []


def test_items_of_a_column_are_generalised_within_it(tmp_path):
    drugs = ["flu", "cough", "rash", "flu"] * 4
    data = dataset([[f"sex={'f' if n % 3 else 'm'}", f"age={20 + n % 4}", drug] for n, drug in enumerate(drugs)])
    privacy = (("sex=m",), ("age=21",), ("rash",))
    said = {"method": "coat", "k": 7, "privacy": privacy, "utility": {"columns": ("sex", "age")}}
    method = CoatMethod.model_validate(said)
    method.check(data, Folder(tmp_path))
    release = method.make(data, Folder(tmp_path), 0).release
    generalised = {element for row in release.transactions for element in row if isinstance(element, tuple)}
    assert {frozenset(item.partition("=")[0] for item in members if "=" in item) for members in generalised} == {
        frozenset(["sex"]), frozenset(["age"]), frozenset(),
    }  # fmt: skip
    wrong = CoatMethod.model_validate({**said, "utility": {"columns": ("sexe",)}})
    with pytest.raises(DecloakError, match="no item starts with 'sexe='"):
        wrong.check(data, Folder(tmp_path))
