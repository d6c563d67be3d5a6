"""Members of brackets, and items of chunks, in an order that depends on the record: what is found, and what is not."""

import itertools
import json
import random

import pytest

from decloak.attack.written_order import moved_member, order_notes
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.data.published import Published

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


@pytest.mark.parametrize("many", [2, 3])
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


FOUND = "WARNING: the members of generalised items are in an order that depends on the record"


def test_a_published_file_whose_original_members_come_first_is_found(published, call):
    for arguments in (["run", "s.yaml"], ["run", "s.yaml", "--quiet"], ["check", published, "--k", 2, "--m", 1]):
        said = call(*arguments).err
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
    assert said.startswith("WARNING: brackets list the same members in several orders")
