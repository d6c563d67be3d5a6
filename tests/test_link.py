"""The link attack, against the definition and by hand on the example of the thesis."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decloak.errors import DecloakError
from decloak.measure.kernels.link import Exposed, Link, link

# The thesis, Figure 4.18: one generalised item, struck by RBA; every strike was correct.
MEMBERS = {"blood pressure", "icd", "limbs", "injury"}
PLAIN = [{"heart disease", "weakness", "dizziness"}, {"anesthesia", "pain", "diabetes"}, {"gangrene"}, {"knee"}]
LEFT = [{"blood pressure", "icd"}, {"icd"}, {"limbs", "injury"}, {"injury"}]
BEFORE = [plain | MEMBERS for plain in PLAIN]
AFTER = [plain | left for plain, left in zip(PLAIN, LEFT, strict=True)]


def test_the_thesis_example_by_hand_with_one_known_item():
    found = link(BEFORE, AFTER, AFTER, k=2, m=1)
    assert found == Link(
        exposed=2,
        exposed_true=2,
        vanished=0,
        unique=(0, 1, 2, 3),
        unique_before=(0, 1, 2, 3),
        examples=(Exposed(("blood pressure",), 4, 1), Exposed(("limbs",), 4, 1)),
    )


def test_the_thesis_example_by_hand_with_two_known_items():
    found = link(BEFORE, AFTER, AFTER, k=2, m=2)
    assert (found.exposed, found.exposed_true, found.vanished) == (4, 4, 4)
    assert found.examples == (
        Exposed(("blood pressure",), 4, 1),
        Exposed(("limbs",), 4, 1),
        Exposed(("blood pressure", "icd"), 4, 1),
        Exposed(("injury", "limbs"), 4, 1),
    )


@pytest.mark.parametrize(("m", "exposed", "vanished"), [(1, 4, 0), (2, 6, 4)])
def test_the_thesis_example_by_hand_with_k_4(m, exposed, vanished):
    found = link(BEFORE, AFTER, k=4, m=m)
    assert (found.exposed, found.exposed_true, found.vanished) == (exposed, None, vanished)
    assert [one.after for one in found.examples] == ([1, 1, 2, 2] if m == 1 else [1, 1, 1, 1, 2, 2])


def test_without_telling_context_the_thesis_example_singles_out_two_of_four():
    for m in (1, 2, 3):
        found = link([MEMBERS] * 4, LEFT, k=2, m=m)
        assert (found.unique, found.unique_before) == ((0, 2), ())


def test_a_wrong_strike_makes_an_exposed_itemset_false():
    found = link([{"a", "b"}] * 2, [{"a"}, {"b"}], [{"a"}, {"a"}], k=2, m=2)
    assert (found.exposed, found.exposed_true, found.vanished) == (2, 1, 1)


def test_examples_are_alphabetical_whichever_item_was_struck():
    before = [{"b", "c", "a"}] * 2
    found = link(before, [{"a", "b"}, {"a", "b", "c"}], k=2, m=2, examples=2)
    assert [one.itemset for one in found.examples] == [("c",), ("a", "c")]


def test_of_equally_supported_examples_the_alphabetically_first_are_named():
    after = [{"a", "b"}, {"a", "b"}, {"c", "e"}, {"c", "e"}, {"a", "e"}, {"b", "c"}]
    found = link([{"a", "b", "c", "e"}] * 6, after, k=2, m=2, examples=1)
    assert (found.exposed, found.vanished) == (2, 2)
    assert found.examples == (Exposed(("a", "e"), 6, 1),)


def by_hand(before, after, originals, k, m, most):
    """The naive twin: every itemset over all items, in every transaction."""
    items = sorted(set().union(*before))
    itemsets = [set(one) for size in range(1, m + 1) for one in combinations(items, size)]

    def holders(states, itemset):
        return [number for number, state in enumerate(states) if itemset <= state]

    def singled_out(states):
        return {found[0] for one in itemsets if len(found := holders(states, one)) == 1}

    protected = [one for one in itemsets if len(holders(before, one)) >= k]
    exposed = [one for one in protected if 1 <= len(holders(after, one)) < k]
    true = [one for one in exposed if any(one <= originals[t] for t in holders(after, one))]
    examples = [Exposed(tuple(sorted(one)), len(holders(before, one)), len(holders(after, one))) for one in exposed]
    return Link(
        exposed=len(exposed),
        exposed_true=len(true),
        vanished=sum(not holders(after, one) for one in protected),
        unique=tuple(sorted(singled_out(after))),
        unique_before=tuple(sorted(singled_out(before))),
        examples=tuple(sorted(examples, key=lambda one: (one.after, len(one.itemset), one.itemset))[:most]),
    )


@st.composite
def attacked(draw):
    """Few items that most transactions may contain, so that many itemsets are protected and few left."""
    some = st.sets(st.sampled_from("abcde"))
    missing = st.sets(st.sampled_from("abcde"), max_size=2)
    rows = draw(st.lists(st.tuples(missing, some, some), max_size=7))
    before = [set("abcde") - absent for absent, _, _ in rows]
    after = [could - struck for could, (_, struck, _) in zip(before, rows, strict=True)]
    return before, after, [original for _, _, original in rows]


@settings(max_examples=200)
@given(attacked(), st.integers(1, 5), st.integers(1, 4), st.integers(0, 5))
def test_the_link_attack_equals_its_definition(states, k, m, most):
    found = link(*states, k=k, m=m, examples=most)
    assert found == by_hand(*states, k, m, most)


@settings(max_examples=50)
@given(attacked(), st.integers(1, 4), st.permutations("abcde"))
def test_renaming_items_changes_no_count(states, k, names):
    renamed = [[{names["abcde".index(item)] for item in held} for held in state] for state in states]
    one, other = link(*states, k=k, m=2, examples=0), link(*renamed, k=k, m=2, examples=0)
    assert one == other


def test_any_iterables_will_do():
    def stream(rows):
        return (iter(sorted(row)) for row in rows)

    assert link(stream(BEFORE), stream(AFTER), k=2, m=2) == link(BEFORE, AFTER, k=2, m=2)


@pytest.mark.parametrize("rows", [[], [set()], [set(), set()]])
def test_where_nothing_is_held_nothing_is_found(rows):
    assert link(rows, rows, rows, k=1, m=3) == Link(0, 0, 0, (), (), ())


@pytest.mark.parametrize(
    ("before", "after", "originals", "message"),
    [
        ([{"a"}], [], None, "1 transactions before, 0 after the attack"),
        ([{"a"}], [{"a"}], [], "1 transactions before, 1 after the attack, 0 originals"),
        ([{"a"}, {"b"}], [{"a"}, {"b", "c\n", "d"}], None, r"transaction 1 holds 'c\\x0a' after the attack"),
        ([{"a"}], ["a"], None, "transaction 1 is 'a', not a list of items"),
        ([{"a"}], [[1]], None, "an item of transaction 1 is '1', not a string"),
        ([frozenset()] * (1 << 21), [frozenset()] * (1 << 21), None, "a link attack takes at most 2097151"),
    ],
    ids=["shorter", "originals", "added", "text", "number", "too many"],
)
def test_what_cannot_be_compared_is_named_on_one_line(before, after, originals, message):
    with pytest.raises(DecloakError, match=message) as caught:
        link(before, after, originals, k=2, m=1)
    assert "\n" not in str(caught.value)


def test_k_and_m_are_whole_numbers_from_1():
    for k, m in ((0, 1), (1, 0)):
        with pytest.raises(DecloakError, match="give a whole number of at least 1"):
            link([], [], k=k, m=m)


def test_a_k_beyond_all_transactions_protects_nothing():
    assert link(BEFORE, AFTER, k=10**30, m=10**30).exposed == 0
