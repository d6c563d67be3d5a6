"""The attack by order: what it rules out is what its definition rules out, and what it tells is so."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.anonymisers.sets import random_sets
from decloak.data.generators.baskets import baskets
from decloak.data.published import Published
from decloak.errors import Faults
from decloak.rules.load import Catalogue
from decloak.rules.model import Settings
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.query import QueryFacts
from decloak.store.relations import RELATIONS
from decloak.store.sandbox import Sandbox
from naive_order import Transactions, misplaced

NAMES = ("apple", "Bread", "cake10", "cake9", "dates", "eggs", "Figs", "grapes", "ham", "ice")
ORDERS = {
    "name": lambda name: name,
    "backwards": lambda name: [-ord(c) for c in name] + [1],
    "small letters": str.lower,
    "number": lambda name: (name.rstrip("0123456789"), int(name[len(name.rstrip("0123456789")) :] or 0)),
    "shuffled": None,
}


def answer(transactions: Transactions) -> QueryFacts:
    """What the rule finds in a release."""
    catalogue = Catalogue()
    rule = catalogue.rule("order")
    columns = {name: relation.columns for name, relation in RELATIONS.items()} | dict(
        catalogue.relations_of_others(rule)
    )
    release = Published(tuple(map(tuple, transactions)), tuple(str(n + 1) for n in range(len(transactions))))
    names = sorted({i for row in transactions for e in row for i in ((e,) if isinstance(e, str) else e)})
    number = {name: place for place, name in enumerate(names)}
    with Sandbox.empty(columns) as sandbox:
        rows = list(enumerate(release.transactions))
        sandbox.fill("item", ("item", "name"), [(n, name) for name, n in number.items()])
        sandbox.fill("txn", ("txn", "position", "label"), [(n, n, str(n + 1)) for n, _ in rows])
        sandbox.fill("contains", ("txn", "position", "item"), [
            (n, p, number[e]) for n, row in rows for p, e in enumerate(row) if isinstance(e, str)
        ])  # fmt: skip
        hidden = {e: n for n, e in enumerate(release.generalised)}
        sandbox.fill("published_as", ("txn", "position", "generalised"), [
            (n, p, hidden[e]) for n, row in rows for p, e in enumerate(row) if not isinstance(e, str)
        ])  # fmt: skip
        sandbox.fill("member_of", ("generalised", "position", "item"), [
            (n, p, number[m]) for e, n in hidden.items() for p, m in enumerate(e)
        ])  # fmt: skip
        found = rule.operator.run(rule, AttackerView(sandbox), Settings())
    back = {n: name for name, n in number.items()}, {n: e for e, n in hidden.items()}
    facts = [(txn, back[1][g], back[0][item]) for txn, g, item, _ in (fact.values for fact in found.facts)]
    assert len(set(facts)) == len(facts)
    return QueryFacts(found.derives, facts, found.notes)


@st.composite
def releases(draw: st.DrawFn) -> list[list[str | tuple[str, ...]]]:
    """Transactions in one order or none, items of three sets generalised where the first of each stood."""
    order = ORDERS[draw(st.sampled_from(sorted(ORDERS)))]
    names = draw(st.permutations(NAMES))
    sets = [tuple(sorted(names[first:end])) for first, end in ((0, 3), (3, 5), (5, 7))]
    of = {item: members for members in sets for item in members}
    rows = draw(
        st.lists(st.lists(st.sampled_from(NAMES), unique=True, min_size=2, max_size=8), min_size=10, max_size=30)
    )
    rows = [row if order is None or draw(st.integers(0, 80)) == 7 else sorted(row, key=order) for row in rows]
    return [list(dict.fromkeys(of.get(item, item) for item in row)) for row in rows]


@settings(max_examples=150)
@given(releases())
def test_the_rule_rules_out_what_its_definition_does(release):
    assert set(answer(release).facts) == misplaced(release)


def test_among_random_releases_the_attack_finds_something_in_many():
    """Otherwise the test above would compare nothing with nothing."""
    rng = random.Random(1)
    hits = 0
    for _ in range(20):
        names = sorted(NAMES)
        of = {item: members for members in (tuple(names[::4]), tuple(names[1::5])) for item in members}
        rows = [sorted(rng.sample(names, 6)) for _ in range(20)]
        hits += bool(misplaced([list(dict.fromkeys(of.get(item, item) for item in row)) for row in rows]))
    assert hits >= 15


def alphabetical(count: int = 1500) -> decloak.Dataset:
    data = baskets(count, 1000, 6.5, 1)
    rows = tuple(tuple(sorted(row)) for row in data.transactions)
    return decloak.Dataset(rows, tuple(map(str, range(1, count + 1))))


def audited(folder: Path, data: decloak.Dataset, release: object, more: str = "") -> decloak.Run:
    """What an audit of a release says, with the originals to judge it by."""
    decloak.write(data, folder / "rows.jsonl", "jsonl")
    release.write(folder / "published.txt")
    (folder / "s.yaml").write_text(
        "scenario: s\ndata: {file: rows.jsonl, format: jsonl, published: published.txt}\n"
        f"attack: [{{rule: km_violation, k: 2, m: 1}}]\n{more}"
    )
    return decloak.run(folder / "s.yaml", store=folder / "s.db")


def figures(run: decloak.Run) -> dict[str, float | None]:
    return {one.measure: one.value for one in run.measures if one.attack == "order"}


def one_left(folder: Path, data: decloak.Dataset, release: Published) -> list[tuple[set[str], set[str], set[str]]]:
    """Return the one member left, all members and the original record of each generalised item with one member left."""
    with closing(sqlite3.connect(folder / "s.db")) as connection:
        misplaced_members = set(
            connection.execute(
                "select t.position, g.label, i.name from found_misplaced m join txn t on t.id = m.txn "
                "join generalised g on g.id = m.generalised join item i on i.id = m.item"
            )
        )
    hidden = [
        (place, set(element))
        for place, row in enumerate(release.transactions)
        for element in row
        if not isinstance(element, str)
    ]
    left = [
        (
            place,
            members,
            {one for one in members if (place, f"({', '.join(sorted(members))})", one) not in misplaced_members},
        )
        for place, members in hidden
    ]
    return [(rest, members, set(data.transactions[place])) for place, members, rest in left if len(rest) == 1]


def notes(run: decloak.Run) -> str:
    return "\n".join(run.variants[0].notes)


def test_alphabetical_baskets_give_a_third_of_their_brackets_away_by_place(tmp_path):
    data = alphabetical()
    release = decloak.anonymise(data, "sets", sets=random_sets(data.items, 4, 0.4, 1), order="recorded")
    run = audited(tmp_path, data, release)
    found = figures(run)
    alone = one_left(tmp_path, data, release)
    assert len(alone) > 1000
    assert all(left <= originals for left, _, originals in alone)
    assert sum(len(members & originals) / len(members) for _, members, originals in alone) < 0.3 * len(alone)
    assert found["precision"] > 0.98 > found["baseline"] + 0.2
    assert "Items are in the order of the alphabet" in notes(run)
    assert "have one member left. On average 1.8 of 4.0 members are left" in notes(run)
    assert "re-identifies all 1,500 people (1 expected at random)" in notes(run)


ALONE = "scenario: s\ndata: {published: published.txt}\nattack: [{rule: km_violation, k: 2, m: 1}]\n"


def test_of_a_release_that_is_sorted_one_sentence_says_that_order_tells_nothing(tmp_path):
    data = alphabetical(400)
    release = decloak.anonymise(data, "sets", sets=random_sets(data.items, 4, 0.4, 1))
    release.write(tmp_path / "published.txt")
    (tmp_path / "s.yaml").write_text(ALONE)
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert {measure.attack for measure in run.measures} == {"km_violation"}
    (said,) = [note for note in run.variants[0].notes if "order" in note]
    assert said == (
        "rule order: each generalised item has its own place among the others, which reveals nothing about its members"
        ". Records are sorted by content."
    )


def test_the_attack_on_what_is_made_in_order_is_not_run_unasked_and_tells_nothing_when_asked(tmp_path):
    decloak.write(alphabetical(400), tmp_path / "rows.jsonl", "jsonl")
    made = "scenario: s\ndata: {file: rows.jsonl, format: jsonl}\nanonymise: {method: sets, size: 4, share: 0.4}\n"
    for attack, attacks in (("{rule: km_violation, k: 2, m: 1}", {"km_violation"}), ("order", {"order"})):
        (tmp_path / "s.yaml").write_text(f"{made}attack: [{attack}]\n")
        run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
        assert {measure.attack for measure in run.measures} == attacks
        assert "rows are not sorted" not in notes(run)
        assert "order" not in attacks or figures(run)["eliminated"] is None
        assert ("rule order" in notes(run)) == ("order" in attacks)


def test_the_attack_on_what_is_made_in_the_order_of_the_records_is_run_unasked(tmp_path):
    decloak.write(alphabetical(400), tmp_path / "rows.jsonl", "jsonl")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: rows.jsonl, format: jsonl}\n"
        "anonymise: {method: sets, size: 4, share: 0.4, order: recorded}\n"
        "attack: [{rule: km_violation, k: 2, m: 1}]\n"
    )
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert figures(run)["precision"] > 0.98
    assert "re-identifies all 400 people" in notes(run)


def test_where_items_stand_in_no_order_there_is_no_row_and_it_is_said(tmp_path):
    data, rng = alphabetical(400), random.Random(2)
    data = decloak.Dataset(tuple(tuple(rng.sample(row, len(row))) for row in data.transactions), data.labels)
    release = decloak.anonymise(data, "sets", sets=random_sets(data.items, 4, 0.4, 1), order="recorded")
    run = audited(tmp_path, data, release)
    assert figures(run) == {}
    assert "no known order of items found" in notes(run)
    assert "re-identifies all 400 people (1 expected at random)" in notes(run)


def test_line_by_line_what_is_known_beside_the_release_tells_what_is_meant(tmp_path):
    data = alphabetical(400)
    rng = random.Random(3)
    data = decloak.Dataset(tuple(tuple(rng.sample(row, len(row))) for row in data.transactions), data.labels)
    lines = [", ".join(rng.sample(row, min(2, len(row)))) for row in data.transactions]
    (tmp_path / "known.txt").write_text("\n".join(lines) + "\n")
    sets = random_sets(data.items, 4, 0.4, 1)
    release = decloak.anonymise(data, "sets", sets=sets, order="recorded")
    run = audited(tmp_path, data, release, "attacker: {auxiliary: known.txt}\n")
    assert figures(run)["precision"] > 0.95
    assert "fits at 400 of 400 lines" in notes(run)
    elsewhere = rng.sample(lines, len(lines))
    (tmp_path / "known.txt").write_text("\n".join(elsewhere) + "\n")
    assert figures(audited(tmp_path, data, release, "attacker: {auxiliary: known.txt}\n")) == {}


def test_what_is_known_beside_the_release_must_be_gone_by(tmp_path):
    (tmp_path / "rows.txt").write_text("a, b\nb, c\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: rows.txt, format: basket}\nanonymise: {method: sets, size: 2}\n"
        "attacker: {auxiliary: rows.txt}\nattack: [{rule: km_violation, k: 2, m: 1}]\n"
    )
    with pytest.raises(
        Faults,
        match=r"s.yaml:4:23: no attack uses the further knowledge of the attacker; "
        "attack with conjunctive or order or same_line,",
    ):
        decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")


def test_a_elimination_by_place_is_explained_by_transaction_and_item(tmp_path, call):
    data = alphabetical(200)
    release = decloak.anonymise(data, "sets", sets=random_sets(data.items, 4, 0.4, 1), order="recorded")
    audited(tmp_path, data, release)
    store = ("--store", tmp_path / "s.db")
    first = call("explain", "last", "--attack", "order", "--most", 1, *store).out.splitlines()[-1]
    item, transaction = first.split("  ")[-1].split()[0], first.split("record ")[1].split(":")[0]
    said = call("explain", "last", transaction, item, "--attack", "order", *store).out
    assert f"{item} is not the original member of" in said
    assert "cannot be between" in said
    evidence = call("explain", "last", "--finding", 1, *store)
    assert "bounds:" in evidence.out or evidence.code == 0


def test_ids_that_are_more_than_numbers_of_lines_are_told(tmp_path):
    for ids, expected in (("3,5,9,12", "grow from row to row"), ("9,3,12,5", "re-identifies that person")):
        rows = [f"{label}, (a, b), c" for label in ids.split(",")]
        (tmp_path / "p.txt").write_text("\n".join(rows) + "\n")
        (tmp_path / "s.yaml").write_text("scenario: s\ndata: {published: {file: p.txt, ids: true}}\nattack: [order]\n")
        said = notes(decloak.run(tmp_path / "s.yaml", store=tmp_path / f"{len(expected)}.db"))
        assert expected in said


def test_a_rule_of_somebody_may_derive_what_a_step_of_the_attack_is_called(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "rule: mine\nform: query\nabout: all\nderives: best(txn)\nfacts: select txn from txn\nbecause: '{txn}'\n"
        "reference: ours\nwrong_when: never\n"
    )
    (tmp_path / "published.txt").write_text("a, (b, c)\nd, (b, c)\n")
    (tmp_path / "s.yaml").write_text("scenario: s\ndata: {published: published.txt}\nattack: [./mine.yaml]\n")
    assert "rule order" in notes(decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db"))


def test_what_is_not_looked_at_for_want_of_room_is_told_and_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("decloak.store.sandbox._MOST_STEPS", 200_000)
    data = alphabetical(1500)
    release = decloak.anonymise(data, "sets", sets=random_sets(data.items, 4, 0.4, 1), order="recorded")
    run = audited(tmp_path, data, release)
    assert figures(run) == {}
    assert "order was not run: the SQL takes too long" in notes(run)


def test_hostile_names_steer_nothing_where_places_tell(tmp_path, call):
    rng = random.Random(4)
    hostile = ["\x1b[31mred", "\u202eevil", "<script>alert(1)</script>", "a\x9bC1", "{item}", "=cmd|x", "x' or '1"]
    names = sorted([*hostile, *(f"i{number:02}" for number in range(40))])
    rows = tuple(tuple(sorted(rng.sample(names, 8))) for _ in range(120))
    data = decloak.Dataset(rows, tuple(map(str, range(1, 121))))
    release = decloak.anonymise(data, "sets", sets=random_sets(data.items, 4, 0.5, 1), order="recorded")
    audited(tmp_path, data, release)
    store = ("--store", tmp_path / "s.db")
    for command in (
        ["run", tmp_path / "s.yaml"], ["explain", "last", "--attack", "order", "--most", 1000],
        ["explain", "last", "--json"], ["explain", "last", "--finding", 9, "--graph"], ["show", "last", "--json"],
        ["graph", "--format", "json"], ["sql", "select * from found_misplaced"],
        ["report", "last", "--with-evidence", "-o", tmp_path / "page.html"],
    ):  # fmt: skip
        said = call(*command, *store)
        assert said.code == 0, said.err
        for mark in "\x1b\u202e\x9b":
            assert mark not in said.out + said.err
    page = (tmp_path / "page.html").read_text()
    assert "cannot be between" in page
    assert not {"\x1b", "\u202e", "\x9b"} & set(page)
    assert "<script>alert" not in page


TREE = "hierarchy: {by: cooccurrence, fanout: 4}"


@pytest.mark.parametrize(
    "method",
    [
        "{method: sets, size: 4, share: 0.4}",
        "{method: coat, k: 5, privacy: {count: 20, sizes: [2]}}",
        f"{{method: cut, k: 3, m: 2, {TREE}}}",
        f"{{method: partition, k: 3, {TREE}}}",
        f"{{method: lra, k: 3, m: 2, {TREE}}}",
    ],
)
def test_what_a_method_has_sorted_gives_nothing_away_by_place(tmp_path, method):
    rng = random.Random(5)
    names = [f"{first}{number:02}" for first in ("!", "#", "(", "0", "a", "~") for number in range(8)]
    rows = [sorted(rng.sample(names, 6)) for _ in range(300)]
    decloak.write(decloak.Dataset.of(rows), tmp_path / "rows.jsonl", "jsonl")
    (tmp_path / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: rows.jsonl, format: jsonl}}\nanonymise: {method}\nattack: [order]\n"
    )
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert figures(run)["eliminated"] is None
    assert "Records are sorted by content" in notes(run)
