"""The whole context as one conjunctive term: its distances by the definition, and what a run makes of it."""

import json
import math
import re
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from decloak.rules.load import Catalogue
from decloak.store.opening import connect_readonly
from decloak.store.relations import RELATIONS
from decloak.store.results import notes_of
from decloak.store.sandbox import Sandbox

RULE = Catalogue().rule("conjunctive")
ITEMS = range(6)


def naive(lines, context, member):
    """NGD of a context and a member: lines that hold all of it, the member, both; 1 where they are never together."""
    n = len([line for line in lines if line])
    whole = sum(set(context) <= line for line in lines)
    alone = sum(member in line for line in lines)
    both = sum({*context, member} <= line for line in lines)
    if not whole or not alone or n <= min(whole, alone):
        return None
    if not both:
        return 1.0
    return min(1.0, (math.log(max(whole, alone)) - math.log(both)) / (math.log(n) - math.log(min(whole, alone))))


@settings(max_examples=60)
@given(
    st.lists(st.frozensets(st.sampled_from(ITEMS)), max_size=8),
    st.lists(st.frozensets(st.sampled_from(ITEMS), max_size=3), min_size=1, max_size=3),
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=3, unique=True),
)
def test_distances_are_those_of_the_definition(lines, contexts, members):
    rows = {
        "distance": [(0, row, col, 0.5) for row in range(len(contexts)) for col in range(len(members))],
        "distance_col": [(0, col, item) for col, item in enumerate(members)],
        "context": [(0, row, item) for row, items in enumerate(contexts) for item in items],
        "auxiliary": [(number, str(number), 0, item) for number, line in enumerate(lines) for item in line],
    }
    with Sandbox.empty({name: relation.columns for name, relation in RELATIONS.items()}) as sandbox:
        for name, of_relation in rows.items():
            sandbox.fill(name, RELATIONS[name].columns, of_relation)
        columns, cells = sandbox.select(RULE.model.cells)
    assert columns == ("item_group", "row", "col", "d")
    distances = {(row, col): d for _, row, col, d in cells}
    for row, context in enumerate(contexts):
        for col, member in enumerate(members):
            theirs = naive(lines, context, member) if context else None
            assert distances[row, col] == (None if theirs is None else pytest.approx(theirs))


def written(tmp_path, attacker, attack="[rba, conjunctive]", others=40):
    """Records of two kinds, and others of the same population beside them."""
    rows = [
        [*(f"{kind}{each}" for each in range(3)), "ab"[number % 2] + str(number % 5)]
        for kind in "xy"
        for number in range(20)
    ]
    for name, count in (("published", 40), ("others", others)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows[:count]))
    (tmp_path / "s.yaml").write_text(
        "scenario: conjunctions\ndata: {file: published.jsonl, format: jsonl}\n"
        "anonymise: {method: coat, k: 12, order: recorded, privacy: [[a0], [b1], [a2], [b3]]}\n"
        f"relate: {{measure: ngd, source: sample, file: others.jsonl, format: jsonl}}\nattacker: {attacker}\n"
        f"attack: {attack}\nmeasure: [recovery]\n"
    )
    return tmp_path / "s.yaml"


BESIDE = "auxiliary: {file: others.jsonl, format: jsonl}"


def test_of_one_item_it_is_what_rba_eliminates(tmp_path):
    run = decloak.run(written(tmp_path, f"{{context: 1, {BESIDE}}}"), store=tmp_path / "s.db")
    sql = (
        "select group_concat(s.distance_table || ' ' || s.row || ' ' || s.col) "
        "from eliminated s join finding f on f.id = s.finding join run_attack a on a.attack = f.attack group by a.label"
    )
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        first, second = connection.execute(sql).fetchall()
        (knows,) = connection.execute(
            "select json_extract(a.parameters, '$.knows') from run_attack r join attack a on a.id = r.attack "
            "where r.label = 'conjunctive'"
        ).fetchone()
    assert first == second
    assert run.variants[0].measures["eliminated", "conjunctive"] > 0
    assert "sample" in knows


def test_contexts_that_nobody_has_are_counted_in_a_note(tmp_path):
    decloak.run(written(tmp_path, f"{{context: 3, {BESIDE}}}", others=20), store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        (note,) = (note for note in notes_of(connection, 1) if note.startswith("conjunctive has no score in"))
    bare, rows = map(int, re.match(r"conjunctive has no score in (\d+) of (\d+) rows", note).groups())
    assert 0 < bare < rows


def test_without_transactions_beside_it_an_audit_leaves_it_out_and_a_run_says_it_had_nothing(tmp_path):
    run = decloak.run(written(tmp_path, "{context: 1}", "all"), store=tmp_path / "s.db")
    assert "conjunctive" not in {attack for _, attack in run.variants[0].measures}
    decloak.run(written(tmp_path, "{context: 1}"), store=tmp_path / "t.db")
    with closing(connect_readonly(tmp_path / "t.db")) as connection:
        assert "no cell has a score, so the attack eliminates nothing" in notes_of(connection, 1)
