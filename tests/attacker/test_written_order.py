"""Members of brackets, and items of chunks, in an order that depends on the record: what is found, and what is not."""

import itertools
import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decloak.attacker.written_order import _usual, moved_member, order_notes, revealed_members
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.data.published import Published
from slowly import slow_but

SETS = [tuple(f"m{number}{letter}" for letter in "abcdef"[: 2 + number % 5]) for number in range(12)]


def first(true, rest, rng):
    return true, *rest


def last(true, rest, rng):
    return *rest, true


def second(true, rest, rng):
    return rest[0], true, *rest[1:]


def shuffled(true, rest, rng):
    return tuple(rng.sample((true, *rest), len(rest) + 1))


def first_of_shuffled(true, rest, rng):
    return true, *rng.sample(rest, len(rest))


def last_of_shuffled(true, rest, rng):
    return *rng.sample(rest, len(rest)), true


def by_name(true, rest, rng):
    return tuple(sorted((true, *rest)))


def brackets(write, count=400, seed=1, even=False):
    """Brackets of some sets of members, one of which is original, as somebody writes them."""
    rng = random.Random(seed)
    for _ in range(count):
        members = rng.choice(SETS)
        weights = [1.0 if even else 1 / (1 + place) for place in range(len(members))]
        (true,) = rng.choices(members, weights)
        yield write(true, [member for member in members if member != true], rng)


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize(("write", "place"), [(first, 0), (last, -1), (second, 1)])
def test_the_place_of_one_moved_member_is_found(write, place, even):
    found = moved_member(brackets(write, even=even))
    assert found.place == place
    assert found.p < 1e-20


@pytest.mark.parametrize(("write", "place"), [(first_of_shuffled, 0), (last_of_shuffled, -1)])
def test_the_place_of_the_original_member_among_shuffled_ones_is_found(write, place):
    assert moved_member(brackets(write)).place == place


def test_a_few_brackets_are_enough_where_one_member_is_moved():
    assert moved_member(brackets(first, count=40)).place == 0


@pytest.mark.parametrize("write", [by_name, shuffled])
def test_an_order_that_tells_nothing_is_not_found(write):
    assert [moved_member(brackets(write, count=150, seed=seed)) for seed in range(200)] == [None] * 200


def test_single_members_and_no_brackets_are_no_order():
    assert moved_member([]) is None
    assert moved_member([("a",), ("b",)] * 50) is None


ORDERS = st.permutations("abcde").map(tuple)


@given(st.dictionaries(st.builds(lambda order, gone: order[:gone] + order[gone + 1 :], ORDERS, st.integers(0, 5)),
                       st.integers(1, 4), min_size=1, max_size=6), st.sampled_from([1, 20, 1 << 20]))  # fmt: skip
def test_the_usual_orders_equal_their_naive_twin(rests, cells):
    before = Counter()
    for rest, times in rests.items():
        before.update(dict.fromkeys(itertools.combinations(rest, 2), times))
    usual = [rest for rest in rests if all(before[a, b] >= before[b, a] for a, b in itertools.combinations(rest, 2))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("decloak.attacker.written_order.CELLS", cells)
        assert _usual(Counter(rests), frozenset("abcde")) == sum(rests[rest] for rest in usual)


def test_brackets_of_thousands_of_members_are_tested():
    members = [f"item {number}" for number in range(1_500)]
    assert moved_member([(true, *(one for one in members if one != true)) for true in members[:20]]).place == 0


@pytest.mark.parametrize("many", slow_but([2], [2, 3]))
def test_the_test_of_random_orders_is_honest(many):
    """All ways to write a few brackets: no more than the level of them is found."""
    ways = list(itertools.permutations("abc"[:many]))
    found = [moved_member(chosen) is not None for chosen in itertools.product(ways, repeat=5)]
    assert not any(found)


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A release whose original members are written first."""
    monkeypatch.chdir(tmp_path)
    rng, lines = random.Random(2), []
    for members in brackets(first, seed=3):
        parts = [f"({', '.join(members)})", *(f"p{number}" for number in rng.sample(range(9), rng.randint(0, 3)))]
        lines.append(", ".join(rng.sample(parts, len(parts))))
    (tmp_path / "r.txt").write_text("\n".join(lines))
    (tmp_path / "s.yaml").write_text("scenario: x\ndata: {published: r.txt}\nattack: [order]\n")
    return tmp_path / "r.txt"


FOUND = "WARNING: the order of the members of generalised items depends on the record"


def test_a_published_file_whose_original_members_come_first_is_found(published, call):
    for arguments in (["run", "s.yaml"], ["run", "s.yaml", "--brief"], ["check", published, "--k", 2, "--m", 1]):
        said = " ".join(call(*arguments).err.split())
        assert FOUND in said, arguments
        assert "written first" in said
    assert "the member that is written first" in call("look", published).out
    assert any("written first" in one for one in json.loads(call("look", published, "--json").out)["warnings"])


def test_what_decloak_writes_of_it_has_the_members_by_name(published, call):
    call("run", "s.yaml")
    assert call("publish", "last", "again.txt").code == 0
    assert "WARNING: the members" not in call("check", "again.txt", "--k", 2, "--m", 1).err


@pytest.mark.parametrize("order", ["recorded", "sorted"])
@pytest.mark.parametrize("name", ["r.txt", "r.jsonl"])
def test_decloak_writes_members_by_name(tmp_path, monkeypatch, call, order, name):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    data = "\n".join(", ".join(rng.sample([f"i{n}" for n in range(30)], 5)) for _ in range(80))
    (tmp_path / "d.txt").write_text(data)
    (tmp_path / "s.yaml").write_text(
        "scenario: x\ndata: {file: d.txt, format: basket}\n"
        f"anonymise: {{method: sets, size: 3, share: 0.5, order: {order}}}\nattack: [order]\n"
    )
    call("run", "s.yaml")
    assert call("publish", "last", name).code == 0
    text = (tmp_path / name).read_text()
    if name == "r.txt":
        written = [part.split(")")[0].split(", ") for line in text.splitlines() for part in line.split("(")[1:]]
    else:
        written = [value["items"] for line in text.splitlines() if "label" in (value := json.loads(line))]
    assert written
    assert all(members == sorted(members) for members in written)


def test_items_of_sub_records_and_terms_in_another_order_are_found():
    held = Chunk(("a", "b"), (("b", "a"), ("a",)))
    release = Disassociated(
        (Cluster(3, (held,), ("d", "c")), Cluster(2, (Chunk(("a",), (("a",),)),), ("e",))), k=2, m=1
    )
    said = list(order_notes(release))
    assert said[0].startswith("WARNING: 1 of 2 chunks list the items of sub-records")
    assert said[1].startswith("WARNING: 1 of 2 clusters list their terms")
    ordered = Disassociated((Cluster(3, (Chunk(("a", "b"), (("a", "b"), ("a",))),), ("c", "d")),), k=2, m=1)
    assert not list(order_notes(ordered))


def test_several_orders_that_no_place_explains_are_told():
    rows = [[members] for members in brackets(shuffled, count=60)]
    (said,) = order_notes(Published(tuple(map(tuple, rows)), tuple(map(str, range(60)))))
    assert said.startswith("WARNING: several orders of the same members occur, and the order may depend on the record")


def revealing(write, tmp_path, monkeypatch, call, rows=300):
    """Run a release file of brackets of three with one original member each; return what the terminal said."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(3)
    sets = [("a", "b", "c"), ("d", "e", "f")]
    original, shown = [], []
    for _ in range(rows):
        members = rng.choice(sets)
        true = rng.choice(members)
        written = write(true, [member for member in members if member != true], rng)
        more = rng.sample(["p", "q", "r"], 2)
        original.append(", ".join([true, *more]))
        shown.append(", ".join([f"({', '.join(written)})", *more]))
    (tmp_path / "d.txt").write_text("\n".join(original))
    (tmp_path / "r.txt").write_text("\n".join(shown))
    data = "data: {file: d.txt, format: basket, published: r.txt, repeats: true}"
    (tmp_path / "s.yaml").write_text(f"scenario: x\n{data}\nrelate: {{measure: ngd, source: release}}\nattack: [mda]\n")
    said = call("run", "s.yaml")
    assert said.code == 0, said.err
    counted = json.loads(call("show", "last", "--json").out)
    return said.out, {one["measure"]: one["value"] for one in counted if "members" in one["measure"]}


@pytest.mark.parametrize("write", [first, last, first_of_shuffled])
def test_an_original_member_at_one_place_of_every_bracket_is_a_finding_in_people(tmp_path, monkeypatch, call, write):
    said, figures = revealing(write, tmp_path, monkeypatch, call)
    assert figures == {"revealed_by_members": 300, "revealed_by_members_baseline": pytest.approx(100)}
    assert "The place of a member reveals an original item of 300 of 300 people" in " ".join(said.split())


@pytest.mark.parametrize("write", [shuffled, by_name])
def test_an_order_that_does_not_depend_on_the_record_reveals_nobody(tmp_path, monkeypatch, call, write):
    said, figures = revealing(write, tmp_path, monkeypatch, call)
    assert figures == {"revealed_by_members": 0, "revealed_by_members_baseline": 0}
    assert "reveals an original item" not in " ".join(said.split())


def test_people_are_counted_once_by_their_labels_and_beside_a_random_order():
    people = [
        ((("a", "b"), ("d", "c")), ("a", "d")), ((("b", "a"), "x"), ("b", "x")), ((("b", "a"), ("c", "d")), ("b", "d")),
    ]  # fmt: skip
    labels = [f"p{number}" for number in range(120)]
    rows = [people[number % 3] for number in range(120)]
    backwards = Dataset(tuple(items for _, items in reversed(rows)), tuple(reversed(labels)))
    release = Published(tuple(shown for shown, _ in rows), tuple(labels))
    # All have their member of the first bracket first. By chance 1 - 1/4, 1/2 and 1 - 1/4 of each three.
    assert revealed_members(release, backwards) == (120, pytest.approx(40 * 2))


def test_members_in_one_order_for_each_label_reveal_nobody():
    release = Published(((("b", "a"),), (("c", "d"),)) * 60, tuple(map(str, range(120))))
    assert revealed_members(release, Dataset((("b",), ("c",)) * 60, release.labels)) is None


def test_an_order_that_goes_by_what_is_frequent_is_not_taken_for_one_of_records():
    rng = random.Random(5)
    true = rng.choices("ab", (9, 1), k=400)
    orders = rng.choices((("a", "b"), ("b", "a")), (9, 1), k=400)
    labels = tuple(map(str, range(400)))
    release = Published(tuple((order,) for order in orders), labels)
    assert revealed_members(release, Dataset(tuple((one,) for one in true), labels)) == (0, 0)


def test_random_orders_are_taken_for_orders_of_records_with_the_probability_that_is_said():
    found = [
        revealed_members(
            Published(tuple((tuple(rng.sample("abc", 3)),) for _ in range(60)), tuple(map(str, range(60)))),
            Dataset(tuple((rng.choice("abc"),) for _ in range(60)), tuple(map(str, range(60)))),
        )
        for rng in map(random.Random, range(300))
    ]
    assert found == [(0, 0)] * 300
