"""Rules see numbers that only what is published decides; the store has its own, and they are translated."""

import re
import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest

import decloak
from decloak.errors import DecloakError
from decloak.rules.explain import explain_finding, list_findings
from decloak.rules.load import checked, parse_rule
from decloak.store import inserting
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.opening import connect_readonly
from decloak.store.relations import Scope
from stores import attackers_sandbox

HIDES = """\
rule: hides
form: query
about: what may be meant
derives: hides(txn, generalised, other, place)
let:
  every: |
    select p.txn, p.generalised, m.item as other, m.item, m.position as place
    from published_as p join member_of m using (generalised)
facts: select txn, generalised, other, place from every
evidence: [every]
because: "{txn:txn} hides {other:item} in {generalised:generalised}"
reference: ours
wrong_when: never
"""
AGAIN = """\
rule: again
form: query
about: the same, by the relation of another rule
derives: again(label, name, n)
facts: |
  select t.label, i.name, count(*) as n from hides h join txn t on t.txn = h.txn join item i on i.item = h.other
  join published_as p on p.txn = h.txn and p.generalised = h.generalised group by t.label, i.name
because: "{label} may have {name}"
reference: ours
wrong_when: never
"""
OTHER = """\
scenario: other
data: {generate: clinic, transactions: 30, seed: 1}
anonymise: {method: cut, k: 2, m: 1, hierarchy: {by: random, fanout: 4}}
attack: [km_violation]
"""
ALL = sorted(
    (transaction, item)
    for transaction in ("1", "2", "3", "4")
    for item in ("blood pressure", "icd", "injury", "limbs")
)  # fmt: skip


def ran(example, tmp_path):
    """A run of both rules in a store that had other data before; its place."""
    store = tmp_path / "s.db"
    scenario = example / "scenario.yaml"
    (example / "other.yaml").write_text(OTHER)
    decloak.run(example / "other.yaml", store=store)
    original = example / "original.txt"
    original.write_text("".join(f"hidden {n}, {line}\n" for n, line in enumerate(original.read_text().splitlines())))
    for name, text in (("hides", HIDES), ("again", AGAIN)):
        (example / f"{name}.yaml").write_text(text)
    scenario.write_text(scenario.read_text().replace("[mda, tba, wba, gba, rba]", "[rba, hides.yaml, again.yaml]"))
    decloak.run(scenario, store=store)
    return store


class Alike:
    """A digest that all names share, so that each gets the next number that is free."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def digest(self) -> bytes:
        return bytes(32)


@pytest.mark.parametrize("digest", [sha256, Alike], ids=["usual", "all alike"])
def test_facts_are_translated_there_and_back(example, tmp_path, monkeypatch, digest):
    monkeypatch.setattr(inserting, "sha256", digest)
    store = ran(example, tmp_path)
    with closing(connect_readonly(store)) as connection:
        found = connection.execute(
            "select t.label, i.name, g.label from found_hides h join txn t on t.id = h.txn "
            "join item i on i.id = h.other join generalised g on g.id = h.generalised order by 1, 2"
        ).fetchall()
        assert [row[:2] for row in found] == ALL
        assert {row[2] for row in found} == {"(blood pressure, icd, limbs, injury)"}
        assert connection.execute("select label, name, n from found_again order by 1, 2").fetchall() == [
            (*row, 1) for row in ALL
        ]
        run = connection.execute("select max(id) from run").fetchone()[0]
        first = list_findings(connection, run, "hides", 1)[0]
        assert re.fullmatch(r"record 1 hides (.*) in \(blood pressure, icd, limbs, injury\)", first.sentence)
        explained, (step,) = explain_finding(connection, run, first.finding)
        assert explained == first
        assert step.rows[0][0] == "1"
        assert step.rows[0][step.columns.index("item")] in first.sentence


def test_numbers_are_those_of_what_is_published(example, tmp_path):
    store = ran(example, tmp_path)
    with closing(connect_readonly(store)) as connection:
        release, dataset = connection.execute("select id, dataset from release order by id desc").fetchone()
        (first,) = connection.execute("select first from dataset where id = ?", (dataset,)).fetchone()
        assert first > 34
    with attackers_sandbox(store, Scope(release, dataset)) as sandbox:
        assert sandbox.select("select txn, position, label from txn")[1] == [(n + 1, n, str(n + 1)) for n in range(4)]
        assert sandbox.select("select distinct generalised from published_as natural join member_of")[1] == [(1,)]


def test_items_with_scores_have_numbers_though_the_release_does_not_show_them(example, tmp_path):
    store = ran(example, tmp_path)
    with closing(sqlite3.connect(store)) as connection:
        release, dataset = connection.execute("select id, dataset from release order by id desc").fetchone()
        (relatedness,) = connection.execute("select id from relatedness").fetchone()
        connection.execute("update scored_item set scores = json_set(scores, '$.1', null)")
        (name,) = connection.execute("select name from item where id = 1").fetchone()
        with_scores, without = (
            AttackersDatabase(connection, Scope(release, dataset, relatedness=number)).numbering.names
            for number in (relatedness, None)
        )
    assert name not in without.values()
    assert name in with_scores.values()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("select 99 as txn, 1 as n", "the column txn has '99', the number of no transaction; select the column txn of"),
        ("select 1.0 * max(txn) + 1 as txn, 1 as n from txn", "the column txn has '5.0', the number of no transaction"),
        ("select '1' as txn, 1 as n", "the column txn has '1', the number of no transaction"),
        ("select 1 as txn, 12 as n", "the column n has '12', the number of no item"),
    ],
)
def test_a_number_that_nothing_has_is_refused_in_a_column_of_nodes(example, tmp_path, facts, said):
    path = example / "odd.yaml"
    path.write_text(
        f"rule: odd\nform: query\nabout: odd\nderives: odd(txn, n)\nfacts: {facts}\nbecause: '{{n:item}}'\n"
        "reference: ours\nwrong_when: never\n"
    )
    scenario = example / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("[mda, tba, wba, gba, rba]", "[rba, odd.yaml]"))
    with pytest.raises(DecloakError) as caught:
        decloak.run(scenario, store=tmp_path / "s.db")
    assert str(caught.value).startswith(f"{path}:4:10: {said}")


def test_what_is_no_whole_number_stays_as_it_is(example, tmp_path):
    path = example / "odd.yaml"
    facts = "select 1.0 * txn as txn, 'pool' as item, null as generalised, 2.5 as n from txn where position = 0"
    head = "rule: odd\nform: query\nabout: odd\nderives: odd(txn, item, n)\n"
    path.write_text(f"{head}facts: {facts}\nbecause: '{{txn:txn}} {{n:item}}'\nreference: ours\nwrong_when: never\n")
    scenario = example / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("[mda, tba, wba, gba, rba]", "[rba, odd.yaml]"))
    decloak.run(scenario, store=tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        (row,) = connection.execute("select t.label, o.item, o.n from found_odd o join txn t on t.id = o.txn")
        assert row == ("1", "pool", 2.5)


def test_a_column_is_named_as_one_kind_of_node():
    text = (
        "rule: two\nform: query\nabout: a\nderives: two(x)\nfacts: select 1 as x\nbecause: '{x:item} and {x:txn}'\n"
        "reference: ours\nwrong_when: never\n"
    )
    with pytest.raises(DecloakError, match=r"^rule:6:10: the sentence names 'x' as item and as txn; "):
        checked(parse_rule(text), ())


def test_a_store_that_is_damaged_is_told(store):
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("pragma foreign_keys = off")
        release, dataset = connection.execute("select id, dataset from release").fetchone()
        connection.execute("delete from item")
        database = closing(sqlite3.connect(":memory:", isolation_level=None))
        with database as into, pytest.raises(DecloakError, match="is damaged"):
            AttackersDatabase(connection, Scope(release, dataset)).write(into, {"item"})
