"""Rules of the forms query and itemsets: what they derive, round by round, and what the store keeps of it."""

import json
import random
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.errors import DecloakError
from decloak.rules.load import Catalogue
from decloak.rules.model import Settings
from decloak.rules.operators.attacker_view import AttackerView
from decloak.store.opening import connect_readonly, damage_of
from decloak.store.relations import RELATIONS
from decloak.store.sandbox import Sandbox
from test_rules_load import COUNT, written

REACH = """\
rule: reach
form: query
about: Who is related over any number of steps.
derives: reach(a, b)
start: select a, b from related
repeat: select l.a, r.b from last_round l join related r on r.a = l.b
because: "{a:item} reaches {b:item} in {round} steps"
reference: ours
wrong_when: never
"""


def rule(text: str, folder: Path):
    path = written(folder, text, f"{text.split()[1]}.yaml")
    return Catalogue([path]).rule(str(path))


def derived(found, rows: dict[str, list[tuple]], **given_settings):
    """What a rule derives from the rows of some relations: [(round, *values)]."""
    with Sandbox.empty({name: relation.columns for name, relation in RELATIONS.items()}) as sandbox:
        for name, values in rows.items():
            sandbox.fill(name, RELATIONS[name].columns, values)
        result = found.operator.run(found, AttackerView(sandbox), Settings(**given_settings))
        return [(one.round, *one.values) for one in result.facts]


def query(derives: str, body: str, sentence: str = "x") -> str:
    name = derives.partition("(")[0]
    head = f"rule: {name}\nform: query\nabout: One.\nderives: {derives}\n{body}\nbecause: {sentence!r}\n"
    return f"{head}reference: ours\nwrong_when: never\n"


@pytest.fixture(scope="module")
def reach(tmp_path_factory):
    return rule(REACH, tmp_path_factory.mktemp("rules"))


edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


@given(edges)
@settings(max_examples=60)
def test_a_fixpoint_is_the_transitive_closure_and_its_rounds_are_distances(reach, pairs):
    graph = nx.DiGraph(pairs)
    found = derived(reach, {"related": [(a, b, 0.5) for a, b in pairs]})
    assert {(a, b) for _, a, b in found} == set(nx.transitive_closure(graph, reflexive=False).edges)
    assert len(found) == len({(a, b) for _, a, b in found})
    for number, a, b in found:
        assert number == 1 + min(
            nx.shortest_path_length(graph, a, c) for c in graph.predecessors(b) if nx.has_path(graph, a, c)
        )
    assert [number for number, *_ in found] == sorted(number for number, *_ in found)


def test_rounds_are_numbered_without_a_gap(reach):
    chain = [(n, n + 1, 1.0) for n in range(20)]
    found = derived(reach, {"related": chain})
    assert sorted({number for number, *_ in found}) == list(range(1, 21))


def test_the_last_round_holds_only_what_was_new(tmp_path):
    body = (
        "start: select 0 as n, 0 as last, 0 as so_far\n"
        "repeat: |\n  select max(n) + 1 as n, count(*) as last, (select count(*) from seen) as so_far\n"
        "  from last_round having max(n) < 4\n"
    )
    found = derived(rule(query("seen(n, last, so_far)", body), tmp_path), {})
    assert [values for _, *values in found] == [[0, 0, 0], [1, 1, 1], [2, 1, 2], [3, 1, 3], [4, 1, 4]]


COUNTED = (
    "state: counting(n)\nstart: select 1 as n\nrepeat: select n + 1 as n from last_round where n < 5\n"
    "facts: select n from counting where n % 2"
)


def test_facts_are_a_selection_of_the_state_that_rounds_make(tmp_path):
    assert derived(rule(query("odd(n)", COUNTED), tmp_path), {}) == [(1, 1), (1, 3), (1, 5)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("state: counting(n)\n", "", "a query gives its facts once, or repeats, or selects them from a state"),
        ("counting(n)", "odd(n)", "'odd' is what the rule derives"),
        ("counting(n)", "counting", "cannot read 'counting'"),
        ("counting(n)", "item(n)", "'item(n)' is a relation of the store"),
        ("select 1 as n", "select 1 as m", "the SQL gives no column 'n'"),
    ],
)
def test_a_wrong_state_is_answered(tmp_path, old, new, expected):
    with pytest.raises(DecloakError) as caught:
        rule(query("odd(n)", COUNTED.replace(old, new, 1)), tmp_path)
    assert caught.value.message == expected


def test_a_fact_found_again_is_not_new(tmp_path):
    body = "start: select 1 as n union all select 1\nrepeat: select n % 3 + 1 as n from last_round"
    assert derived(rule(query("turn(n)", body), tmp_path), {}) == [(1, 1), (2, 2), (3, 3)]


def test_a_start_without_facts_ends_at_once(tmp_path):
    body = "start: select a as n from related\nrepeat: select n + 1 as n from last_round"
    assert derived(rule(query("none(n)", body), tmp_path), {}) == []


def test_nothing_is_equal_to_nothing_in_a_fixpoint(tmp_path):
    body = (
        "start: select null as n, 'x' as t\nrepeat: select n, t from last_round union all select n, t from last_round"
    )
    assert derived(rule(query("same(n, t)", body), tmp_path), {}) == [(1, None, "x")]


@pytest.mark.slow
def test_a_fixpoint_that_never_ends_is_an_error_of_the_rule(tmp_path):
    found = rule(query("count(n)", "start: select 1 as n\nrepeat: select n + 1 as n from last_round"), tmp_path)
    with pytest.raises(DecloakError) as caught:
        derived(found, {})
    assert caught.value.message == "still something new after 10000 rounds"
    assert caught.value.place == f"{found.path}:6:9"


def test_facts_are_distinct_and_in_order_of_their_values(tmp_path):
    found = rule(query("one(a, b)", "facts: select b, a, score from related"), tmp_path)
    rows = [(2, 1, 0.1), (1, None, 0.2), (2, 1, 0.3), (1, None, 0.4), (1, 2, None), (None, None, None)]
    assert derived(found, {"related": rows}) == [(1, None, None), (1, 1, None), (1, 1, 2), (1, 2, 1)]


def test_steps_read_those_above_them_and_are_indexed(tmp_path):
    body = """\
let:
  one: select a, b from related
  two: select a, count(*) as n from one group by a
  three: select two.a, two.n, one.b from two join one using (a)
facts: select a, b, n from three where exists (select 1 from two)"""
    found = rule(query("many(a, b, n)", body), tmp_path)
    assert derived(found, {"related": [(1, 2, 0.0), (1, 3, 0.0), (2, 3, 0.0)]}) == [
        (1, 1, 2, 2),
        (1, 1, 3, 2),
        (1, 2, 3, 1),
    ]
    with Sandbox.empty({}) as sandbox:
        sandbox.make("step", "select 1 as a, 2 as b, 3 as c, 4 as d, 5 as e")
        sandbox.index("step")
        plan = sandbox.engine("explain query plan select e from temp.step where a = 1 and b = 2 and c = 3 and d = 4")
        assert "USING INDEX" in plan[0][3]
        assert "d=?" in plan[0][3]


def test_a_step_cannot_read_one_below_it(tmp_path):
    body = "let:\n  one: select x from two\n  two: select 1 as x\nfacts: select x from one"
    with pytest.raises(DecloakError, match="no such table: two"):
        rule(query("late(x)", body), tmp_path)


def test_values_of_every_kind_come_through(tmp_path):
    found = rule(query("kinds(a, b, c, d, e)", "facts: select 9223372036854775807 as a, -0.5 as b, 'é\n''' as c, "
                       "null as d, 9e999 as e".replace("\n", " ")), tmp_path)  # fmt: skip
    assert derived(found, {}) == [(1, 2**63 - 1, -0.5, "é '", None, float("inf"))]


# What runs keep.

SHOWS = """\
rule: shows
form: query
about: Which plain items are shown.
derives: seen(txn, item)
let:
  held: select txn, item from contains
facts: select txn, item from held
evidence: [held]
because: "{txn:txn} shows {item:item}: 100%, it's {{said}} in round {round} of {txn:.2f}"
reference: ours
wrong_when: never
"""
PAIRS = """\
rule: pairs
form: query
about: Transactions that show one item.
derives: pairs(a, b)
facts: select x.txn as a, y.txn as b from seen x join seen y on y.item = x.item and y.txn > x.txn
because: "{a:txn} and {b:txn} share an item"
reference: ours
wrong_when: never
"""
ALARM = """\
rule: alarm
form: query
about: Cells that an attack eliminated in its first round.
derives: alarm(n)
facts: select count(*) as n from gba where round = 1
because: "{n}"
reference: ours
wrong_when: never
"""


def scenario(folder: Path, attacks: str) -> Path:
    """The worked example with other attacks, and two more transactions that share a plain item."""
    with (folder / "published.txt").open("a") as file:
        file.write("cough, fever\nfever, flu\n")
    with (folder / "original.txt").open("a") as file:
        file.write("cough, fever\nfever, flu\n")
    text = (folder / "scenario.yaml").read_text()
    text = text.replace("measure: [recovery, {coverage: {least: 0.2}}]\n", "")
    (folder / "scenario.yaml").write_text(text.replace("[mda, tba, wba, gba, rba]", attacks))
    return folder / "scenario.yaml"


def test_findings_and_their_sentences_can_be_read_in_any_sqlite_shell(example, tmp_path):
    written(example, SHOWS, "shows.yaml")
    decloak.run(scenario(example, "[shows.yaml, gba]"), store=tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        found = connection.execute(
            "select t.label, i.name from found_seen f join txn t on t.id = f.txn join item i on i.id = f.item"
        ).fetchall()
        why = connection.execute("select run, attack, round, because from why_shows order by finding").fetchall()
        names = [column[0] for column in connection.execute("select * from why_gba").description]
    assert len(found) == 8
    assert ("5", "cough") in found
    assert len(why) == 8
    assert why[0][:3] == (1, "shows", 1)
    assert why[0][3].startswith("record 1 shows heart disease: 100%, it's {said} in round 1 of ")
    assert why[0][3].endswith(".00")
    assert {"run", "attack", "round", "record", "item", "because"} <= set(names)


def test_a_rule_reads_what_another_derives_which_is_run_for_it(example, tmp_path):
    for name, text in (("shows", SHOWS), ("pairs", PAIRS)):
        written(example, text, f"{name}.yaml")
    path = scenario(example, "[pairs.yaml, shows.yaml]")
    run = decloak.run(path, store=tmp_path / "s.db")
    assert run.ok
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert connection.execute("select because from why_pairs").fetchall() == [
            ("record 5 and record 6 share an item",)
        ]
        order = connection.execute("select u.name from attack a join rule u on u.id = a.rule order by a.id").fetchall()
        labels = connection.execute("select label from run_attack order by position").fetchall()
    assert [name for (name,) in order if name not in ("order", "same_line")] == ["shows", "pairs"]
    assert labels == [("pairs",), ("shows",), ("order",)]


def test_a_rule_may_read_what_a_bundled_attack_eliminated_though_the_scenario_does_not_name_it(example, tmp_path):
    written(example, ALARM, "alarm.yaml")
    decloak.run(scenario(example, "[alarm.yaml]"), store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert connection.execute("select n from found_alarm").fetchall() == [(1,)]
        assert connection.execute("select label from run_attack").fetchall() == [("alarm",), ("order",)]
        assert connection.execute("select count(*) from eliminated").fetchone() == (5,)


def test_rules_that_read_each_other_are_an_error_of_the_scenario(example, tmp_path):
    written(example, query("one(x)", "facts: select x from two"), "one.yaml")
    written(example, query("two(x)", "facts: select x from one"), "two.yaml")
    with pytest.raises(DecloakError, match=r"rules read each other in a circle: (one → two → one|two → one → two)"):
        decloak.run(scenario(example, "[one.yaml, two.yaml]"), store=tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


def test_another_shape_of_a_relation_in_the_same_store_is_an_error(example, tmp_path):
    written(example, SHOWS, "shows.yaml")
    path = scenario(example, "[shows.yaml]")
    decloak.run(path, store=tmp_path / "s.db")
    other = SHOWS.replace("seen(txn, item)", "seen(item)").replace("{txn:txn}", "x").replace("{txn:.2f}", "x")
    written(example, other, "shows.yaml")
    with pytest.raises(DecloakError, match=r"the store holds a relation seen\(txn, item\).*give the relation another"):
        decloak.run(path, store=tmp_path / "s.db")


def test_an_error_while_a_rule_runs_is_an_error_at_its_place(example, tmp_path):
    body = "facts: select abs(-9223372036854775807 - (txn > 0)) as x from contains"
    path = written(example, query("bad(x)", body), "bad.yaml")
    with pytest.raises(DecloakError) as caught:
        decloak.run(scenario(example, "[gba, bad.yaml]"), store=tmp_path / "s.db")
    assert caught.value.place == f"{path}:5:8"
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        assert connection.execute("select count(*) from run").fetchone() == (0,)


@pytest.mark.parametrize(
    "facts",
    [
        "select p.txn, p.generalised, c.item from published_as p join contains c on c.txn = p.txn",  # beside it
        "select c.txn, m.generalised, m.item from contains c, member_of m",  # somewhere else
        "select 'x' as txn, null as generalised, x'00' as item",
    ],
)
def test_facts_that_eliminate_what_the_release_does_not_show_are_an_error_of_the_rule(example, tmp_path, facts):
    path = written(example, query("wild(txn, generalised, item)", f"facts: {facts}"), "wild.yaml")
    path_of_scenario = scenario(example, "[wild.yaml]")
    with pytest.raises(DecloakError, match=r"it eliminates txn .*, which the release does not show") as caught:
        decloak.run(path_of_scenario, store=tmp_path / "s.db")
    assert caught.value.place == f"{path}:4:10"
    assert damage_of(tmp_path / "s.db") is None


def test_facts_that_are_no_text_do_not_break_the_sentence(example, tmp_path):
    body = "facts: select x'ff00' as x, null as y, 9e999 as z"
    written(example, query("odd(x, y, z)", body, "{x} {y} {z} {y:.2f} {y:item} {z:txn}"), "odd.yaml")
    decloak.run(scenario(example, "[odd.yaml]"), store=tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.text_factory = bytes
        (because,) = connection.execute("select because from why_odd").fetchone()
        assert b"none Inf" in because


# Itemsets.


def naive(sets: list[set[str]], k: int, m: int) -> dict[frozenset, int]:
    items = sorted(set().union(*sets))
    chosen = [frozenset(one) for size in range(1, m + 1) for one in combinations(items, size)]
    supports = {one: sum(one <= held for held in sets) for one in chosen}
    return {one: support for one, support in supports.items() if 1 <= support < k}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("report", ["minimal", "all", "count"])
def test_itemsets_agree_with_counting_by_hand(tmp_path, report, seed):
    draw = random.Random(seed)
    sets = [set(draw.sample("abcdef", draw.randint(1, 4))) for _ in range(12)]
    rows = [(number, at, item) for number, one in enumerate(sets) for at, item in enumerate(sorted(one))]
    text = COUNT.replace("of:", f"report: {report}\nof:")
    found = derived(rule(text, tmp_path), {"contains": rows}, k=3, m=3)
    violating = naive(sets, 3, 3)
    assert {frozenset(one): support for one, support in decloak.violations(sets, k=3, m=3)} == violating
    named = {(", ".join(sorted(one)), len(one), support) for one, support in violating.items()}
    if report == "all":
        assert {values for _, *rest in found for values in [tuple(rest)]} == named
    elif report == "minimal":
        least = {one for one in violating if not any(other < one for other in violating)}
        assert {one for _, one, _, _ in found} == {", ".join(sorted(one)) for one in least}
    else:
        assert sum(int(number) for _, number, _, _ in found) == len(violating)
        assert {(size, support) for _, _, size, support in found} == {(size, support) for _, size, support in named}


def test_sizes_and_supports_may_be_written_in_the_rule(tmp_path):
    rows = [(1, 0, "a"), (1, 1, "b"), (2, 0, "a")]
    fixed = COUNT.replace("1..m", "1..1").replace("1..k-1", "1..2")
    assert sorted(derived(rule(fixed, tmp_path), {"contains": rows})) == [(1, "a", 1, 2), (1, "b", 1, 1)]
    assert derived(rule(fixed, tmp_path), {}) == []


@pytest.mark.parametrize(("missing", "given_settings"), [("k", {"m": 2}), ("m", {"k": 3})])
def test_a_bound_that_nobody_gives_is_an_error(tmp_path, missing, given_settings):
    with pytest.raises(DecloakError, match=rf"the rule mine needs {missing}; write with: {{k: 3, m: 2}}"):
        derived(rule(COUNT, tmp_path), {"contains": [(1, 0, "a")]}, **given_settings)


def test_itemsets_of_a_run(example, tmp_path):
    written(example, COUNT)
    decloak.run(scenario(example, "[{rule: mine.yaml, k: 2, m: 1}]"), store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        found = connection.execute("select itemset, size, support from found_mine").fetchall()
        why = connection.execute("select because from why_mine").fetchall()
    assert len(found) == 6
    assert all(size == support == 1 for _, size, support in found)
    assert len(why) == 6


def test_a_rule_that_goes_by_what_others_found_counts_what_is_not_there(tmp_path):
    (tmp_path / "d.txt").write_text("a, c\n" * 4 + "a\n" * 4 + "c\n" * 4 + "b, d\n" * 5 + "a, b, c\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: d.txt, format: basket}\nattack: [cover, cover_adjacent]\n"
        "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 30}\n"
    )
    measures = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").variants[0].measures
    assert measures["findings", "cover"] == measures["findings", "cover_adjacent"] == 0


def test_a_rule_that_finds_nothing_of_what_it_looks_at_says_so_and_counts_no_zero(tmp_path, call):
    (tmp_path / "d.txt").write_text("a, b\na, b\nc\n")
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: d.txt, format: basket}\nattack: [cover]\n"
        "anonymise: {method: sets, size: 2, share: 0.5}\n"
    )
    done = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db", "--json")
    assert done.code == 0
    assert {m["value"] for m in json.loads(done.out)["measures"] if m["measure"] == "findings"} == {None}
    assert "this release lacks the relations of the rule cover looks at (subrecord_item)" in done.err
