"""The SQL of a rule gives the same whatever the truth is: it runs over the attacker's database, which holds none."""

import json
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import decloak
from decloak.errors import DecloakError
from decloak.rules.load import checked, parse_rule
from decloak.rules.model import Settings, Sql
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.registry import OPERATORS
from decloak.store import attackers_database
from decloak.store.attackers_database import AttackersDatabase
from decloak.store.documentation import schema_tables
from decloak.store.opening import connect_readonly
from decloak.store.relations import RELATIONS, Derives, Scope
from decloak.store.sandbox import Sandbox
from generated_sql import PARTS, TRUTH, Generated
from processes import children_of
from slowly import slow_but
from stores import attackers_sandbox
from tries import SECONDS, SEED

HELPFUL = """\
rule: helpful
form: query
about: helps
derives: truth_origin(txn, original)
start: select txn, 0 as original from txn where position < 1
repeat: select txn, original from last_round where 0
notes: |
  select 'row ' || txn || ' is line ' || original || ' of the original file' from
  (select 1 as txn, 1 as original where 0) natural full join truth_origin limit 3
because: "{txn}"
reference: ours
wrong_when: never
"""
CHUNKS = """\
scenario: cut apart
data: {file: records.txt, format: basket}
anonymise: {method: disassociation, k: 2, m: 2, max_cluster: 4}
relate: {measure: ngd, source: scores, file: scores.csv}
attacker: {model: moderate, share: 0.5}
attack: [aba, cover]
measure: [breach]
"""
TABLE = """\
scenario: counted
data: {file: records.txt, format: basket}
anonymise: {method: itemsets, k: 3, m: 2}
attack: [differenced]
"""
DISTANCES = "scenario: marked\ndata: {distances: table.csv}\nattack: [rba]\n"
SUPPRESSED = "an item that is suppressed"


@pytest.fixture
def secret(example, tmp_path) -> Path:
    """A store with releases of four forms, an item that is suppressed and marks of originals."""
    store = tmp_path / "the secret store.db"
    original = example / "original.txt"
    original.write_text(original.read_text().replace("icd\n", f"icd, {SUPPRESSED}\n", 1))
    rows = ("a, b, c", "a, b, d", "a, c, d", "b, c, e", "a, b, c, f", "d, e, f", "c, d, e", "a, e")
    (example / "records.txt").write_text("\n".join(rows))
    decloak.run(example / "scenario.yaml", store=store)
    (example / "scores.csv").write_text("a,b,ngd\na,b,0.5\na,c,0.3\nb,c,0.2\nd,a,0.7\n")
    for name, text in (("chunks.yaml", CHUNKS), ("marked.yaml", DISTANCES), ("table.yaml", TABLE)):
        (example / name).write_text(text)
        decloak.run(example / name, store=store)
    return store


def scopes(store: Path) -> list[Scope]:
    """The scope of each release of a store; the second release is what the attacker of the first has beside it."""
    with closing(connect_readonly(store)) as connection:
        rows = connection.execute(
            "select a.release, r.dataset, max(a.scoring), max(a.attacker), null, max(s.relatedness) from attack a "
            "join release r on r.id = a.release left join scoring s on s.id = a.scoring group by a.release order by 1"
        )
        first, second, *others = (Scope(*row) for row in rows)
    return [first._replace(auxiliary=second.dataset), second, *others]


def changed(store: Path, to: Path, change: Callable[[sqlite3.Connection], None]) -> Path:
    with closing(sqlite3.connect(store)) as source, closing(sqlite3.connect(to, isolation_level=None)) as copy:
        source.backup(copy)
        copy.execute("pragma foreign_keys = off")
        change(copy)
    return to


def permuted(connection: sqlite3.Connection) -> None:
    """Exchange the rows of every truth table."""
    for table in (one for one in TRUTH if _is_table(one)):
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        rows = connection.execute(f"select * from {table}").fetchall()
        last = [row[-1] for row in rows]
        connection.execute(f"delete from {table}")
        marks = ", ".join("?" * len(columns))
        moved = {(*row[:-1], other) for row, other in zip(rows, [*last[1:], *last[:1]], strict=True)}
        connection.executemany(f"insert into {table} values ({marks})", sorted(moved))


def emptied(connection: sqlite3.Connection) -> None:
    """Take all truth away: the tables of that name, original data, what only they hold, and what was configured."""
    for table in (one for one in TRUTH if _is_table(one)):
        connection.execute(f"delete from {table}")
    originals = "(select id from dataset where kind = 'original')"
    connection.execute(f"delete from record where dataset in {originals}")
    for table in ("run", "concept", "is_a", "hierarchy", "measure", "count_source", "counted"):
        connection.execute(f"delete from {table}")
    connection.execute("delete from item where name = ?", (SUPPRESSED,))
    connection.execute("update dataset set origin = 'x', note = null")
    # The k and m of a release are published with it: another test compares them with the manifest.
    stated = "json_object('k', json_extract(parameters, '$.k'), 'm', json_extract(parameters, '$.m'))"
    connection.execute(f"update release set parameters = {stated}, loss = '{{}}', notes = '[]', method = 'unknown'")


def moved(connection: sqlite3.Connection) -> None:
    """Number the originals and the transactions of releases in another way, as if there had been more data before."""
    for table, column in (("record", "id"), ("distance_row", "txn"), ("dataset", "first"), ("cluster", "first")):
        connection.execute(f"update {table} set {column} = -{column} - 5000")
        connection.execute(f"update {table} set {column} = -{column}")


def _is_table(name: str) -> bool:
    return next(one.kind for one in schema_tables() if one.name == name) == "table"


@pytest.fixture
def stores(secret, tmp_path) -> list[Path]:
    """The store, and stores with the same releases and another truth."""
    changes = (permuted, emptied, moved)
    return [secret, *(changed(secret, tmp_path / f"{change.__name__}.db", change) for change in changes)]


def database(store: Path, scope: Scope) -> bytes:
    with closing(connect_readonly(store)) as connection, closing(sqlite3.connect(":memory:")) as into:
        into.isolation_level = None
        AttackersDatabase(connection, scope).write(into, RELATIONS.keys())
        return into.serialize()


def count_rows(content: bytes) -> int:
    """The number of rows of all relations of an attacker's database."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return sum(connection.execute(f"select count(*) from {name}").fetchone()[0] for name in RELATIONS)


def test_the_database_is_the_same_whatever_the_truth_is(stores):
    store, *others = stores
    for scope in scopes(store):
        expected = database(store, scope)
        assert SUPPRESSED.encode() not in expected
        assert count_rows(expected) > 10  # it is looked at in the right place
        for other in others:
            assert database(other, scope) == expected, other.name


def test_relations_of_graph_algorithms_are_compared_too(secret):
    filled = set()
    for scope in scopes(secret):
        with attackers_sandbox(secret, scope) as sandbox:
            filled |= {
                name for name in ("component", "k_core", "matching") if sandbox.select(f"select * from {name}")[1]
            }
    assert filled == {"component", "k_core", "matching"}


@pytest.mark.parametrize(
    ("method", "attack"),
    [
        ("cut, k: 3, m: 1, hierarchy: {by: random, fanout: 3}", "order"),
        ("partition, k: 3, hierarchy: {by: random, fanout: 3}", "order"),
        ("coat, k: 3, privacy: {count: 5, sizes: [2]}", "order"),
        ("suppression, suppress: items, k: 3, m: 1", "order"),
        ("disassociation, k: 3, m: 2, max_cluster: 6", "cover"),
        ("itemsets, k: 3, m: 2", "differenced"),
    ],
)
def test_a_release_states_the_k_and_m_of_its_manifest_and_no_more(tmp_path, monkeypatch, call, method, attack):
    """The relation `stated` has nothing that its recipients do not get."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(SEED)
    rows = (", ".join(rng.sample("abcdefgh", rng.randrange(2, 5))) for _ in range(40))
    Path("records.txt").write_text("\n".join(rows))
    data = "data: {file: records.txt, format: basket}"
    Path("s.yaml").write_text(f"scenario: s\n{data}\nanonymise: {{method: {method}}}\nattack: [{attack}]\n")
    decloak.run("s.yaml", store="s.db")
    assert call("publish", "last", "release.db", "--store", "s.db").code == 0
    (manifest,) = (json.loads(path.read_text()) for path in Path().glob("release.*manifest*"))
    with closing(connect_readonly("s.db")) as connection:
        scope = Scope(*connection.execute("select id, dataset from release").fetchone())
    with attackers_sandbox("s.db", scope) as sandbox:
        stated = sandbox.select("select k, m from stated")[1]
    assert stated == [tuple(manifest["parameters"].get(name) for name in ("k", "m"))]
    assert stated[0][0] == 3


METHODS = {
    "cut": "{method: cut, k: 3, m: 1, hierarchy: {by: random, fanout: 3}}",
    "coat": "{method: coat, k: 3, privacy: {count: 5, sizes: [2]}}",
    "disassociation": "{method: disassociation, k: 2, m: 2, max_cluster: 6}",
}


@pytest.mark.parametrize("method", METHODS)
def test_the_database_does_not_tell_the_order_nor_the_ids_of_the_records(tmp_path, method):
    rng = random.Random(SEED)
    rows = [", ".join(rng.sample("abcdefghij", rng.randrange(2, 5))) for _ in range(40)]
    made = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        lines = [f"person {rng.randrange(10**6)} {place}, {row}" for place, row in enumerate(rows)]
        (folder / "records.txt").write_text("\n".join(lines))
        attack = "[cover, order_in_chunks]" if method == "disassociation" else "[order]"
        data = "{file: records.txt, format: basket, ids: true}"
        text = f"scenario: s\ndata: {data}\nanonymise: {METHODS[method]}\nattack: {attack}\n"
        (folder / "scenario.yaml").write_text(text)
        decloak.run(folder / "scenario.yaml", store=folder / "s.db")
        with closing(connect_readonly(folder / "s.db")) as connection:
            scope = Scope(*connection.execute("select id, dataset from release").fetchone())
        made.append(database(folder / "s.db", scope))
        rng.shuffle(rows)
    assert b"person" not in made[0]
    assert made == made[:1] * 3


def outcome(text: str, sandbox: Sandbox) -> tuple[str, Any]:
    """What a rule comes to: refused where it is checked, refused when it runs, or found with notes."""
    try:
        rule = checked(parse_rule(text), ())
    except DecloakError as error:
        return "checked", str(error)
    try:
        result = rule.operator.run(rule, AttackerView(sandbox), Settings(k=2, m=2))
    except DecloakError as error:
        return "refused", str(error)
    return "found", (repr(getattr(result, "facts", None) or getattr(result, "tables", None)), tuple(result.notes))


def directly(sql: str, sandbox: Sandbox) -> tuple[str, Any]:
    """What a SELECT comes to that nobody has checked."""
    try:
        return "found", sandbox.select(sql)
    except DecloakError as error:
        return "refused", str(error)


@pytest.fixture
def few_steps(monkeypatch):
    """An end of what joins everything with everything."""
    monkeypatch.setattr("decloak.store.sandbox._MOST_STEPS", 400_000)
    monkeypatch.setattr("decloak.store.sandbox._STRIDE", 20_000)
    monkeypatch.setattr("decloak.rules.load._bundled_digests", _Everything)


class _Everything:
    """Takes every rule for one that came with decloak, so that no process has to start for each."""

    def __contains__(self, digest: object) -> bool:
        return True


LEAST = 5_000 if SECONDS else 250


def test_a_rule_finds_the_same_whatever_the_truth_is(stores, tries, few_steps):
    generated, seen = Generated(random.Random(SEED)), Counter()
    of_scope = scopes(stores[0])
    for number in tries(LEAST):
        scope = of_scope[number % len(of_scope)]
        part = PARTS[number % len(PARTS)]
        text, sql = generated.rule(part, "got"), generated.select(["a", "b"])
        outcomes = []
        for store in stores:
            with _opened(store, scope) as sandbox:
                outcomes.append((_whole(outcome(text, sandbox)), _whole(directly(sql, sandbox))))
        assert all(one == outcomes[0] for one in outcomes), (SEED, number, text, sql)
        (way, said), (way_directly, _) = outcomes[0]
        seen[way] += 1
        seen[part, way] += 1
        seen[f"{way_directly} directly"] += 1
        seen["with rows"] += way == "found" and "Derived" in said
        # What a rule may name where it is checked is there where it runs.
        assert way != "refused" or "no such table" not in said, (SEED, number, text)
    assert seen["found"] > LEAST / 10, seen
    assert seen["with rows"] > LEAST / 50, seen
    assert seen["checked"] > LEAST / 5, seen
    assert seen["found directly"] > LEAST / 10, seen
    assert all(seen[part, "found"] for part in PARTS), seen


def test_every_sql_of_a_rule_is_tried():
    """Rules with SQL of random choices have every form, and each of its keys that are SQL."""
    generated, keys = Generated(random.Random(SEED)), set()
    for part in PARTS:
        model = parse_rule(generated.rule(part, "got")).model
        keys |= {(model.form, key) for key in model.model_fields_set}
    expected = {
        (form, key)
        for form, operator in OPERATORS.items()
        for key, hint in get_type_hints(operator.model, include_extras=True).items()
        if repr(Sql) in repr(hint)
    }
    assert len(expected) == 9
    assert expected <= keys


_FILES: dict[tuple[str, Scope], bytes] = {}


def _opened(store: Path, scope: Scope) -> Sandbox:
    """A sandbox of its own over a database that is made once."""
    key = (str(store), scope)
    if key not in _FILES:
        _FILES[key] = database(store, scope)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(_FILES[key])
    return Sandbox(connection, RELATIONS)


def _whole(outcome: tuple[str, Any]) -> tuple[str, str]:
    return outcome[0], repr(outcome[1])


@pytest.mark.slow
def test_the_protection_can_fail(stores, monkeypatch, few_steps):
    """With one truth table in the database the test above fails."""

    def unprotected(self, into, relations, earlier=()):
        write(self, into, relations, earlier)
        into.execute("create table truth_origin (txn integer primary key, original integer)")
        into.executemany("insert into truth_origin values (?, ?)", self._store.execute("select * from truth_origin"))

    write = AttackersDatabase.write
    monkeypatch.setattr(attackers_database.AttackersDatabase, "write", unprotected)
    _FILES.clear()
    generated = Generated(random.Random(18))
    scope = scopes(stores[0])[1]
    told = 0
    for _ in range(3_000):
        sql = generated.select(["a", "b"])
        answers = []
        for store in stores[:3]:
            with _opened(store, scope) as sandbox:
                answers.append(_whole(directly(sql, sandbox)))
        told += len(set(answers)) > 1
    _FILES.clear()
    assert told > 3


def test_the_helpful_rule_is_refused_where_it_is_checked(example, call, tmp_path):
    path = example / "helpful.yaml"
    path.write_text(HELPFUL)
    scenario = example / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("[mda, tba, wba, gba, rba]", "[helpful.yaml]"))
    problem = "'truth_origin(txn, original)' is a table of the store; choose other names"
    for command in (("validate", scenario), ("run", scenario, "--store", tmp_path / "s.db"), ("rules", "test", path)):
        said = call(*command)
        assert said.code == 2
        assert said.err == f"decloak: {path}:4:10: {problem}\n"
    path.write_text(HELPFUL.replace("truth_origin(txn, original)", "mine(txn, original)"))
    said = call("validate", scenario)
    assert "may not read 'truth_origin': only the evaluator knows the truth" in said.err


def test_the_helpful_rule_is_harmless_if_it_gets_through(secret, monkeypatch):
    """Its notes, and the whole rule where nobody refuses the name."""
    scope = scopes(secret)[0]
    notes = HELPFUL.partition("notes: |\n")[2].partition("because")[0]
    for untrusted_name in (None, "the rule helpful"):
        with (
            attackers_sandbox(secret, scope, untrusted_name) as sandbox,
            pytest.raises(DecloakError, match="may not read 'truth_origin'"),
        ):
            sandbox.select(notes)
    rule = parse_rule(HELPFUL.replace("truth_origin(txn", "mine(txn"))
    object.__setattr__(rule, "derives", Derives("truth_origin", ("txn", "original")))
    with attackers_sandbox(secret, scope) as sandbox, pytest.raises(DecloakError, match="may not read 'truth_origin'"):
        rule.operator.run(rule, AttackerView(sandbox), Settings())
    rule = parse_rule(HELPFUL.replace("truth_origin(txn", "mine(txn").partition("notes")[0] + 'because: "{txn}"\n')
    object.__setattr__(rule, "derives", Derives("truth_origin", ("txn", "original")))
    with attackers_sandbox(secret, scope) as sandbox, pytest.raises(DecloakError, match="is a table of the store"):
        rule.operator.run(rule, AttackerView(sandbox), Settings())


QUERY = """\
rule: mine\nform: query\nabout: a\nderives: {}(x)\nlet:\n  {}: select 1 as x
facts: select 1 as x\nbecause: x\nreference: ours\nwrong_when: never
"""
TOLD = r"(of the store|like names of the store: \w+); choose"


OF_THE_STORE = [*(one.name for one in schema_tables()), "truth_mine", "sqlite_mine", "pragma_mine"]


@pytest.mark.parametrize("name", OF_THE_STORE)
def test_names_of_the_store_are_no_names_of_relations_and_rules(name):
    eliminate = "rule: {}\nform: eliminate\nabout: a\ncells: select * from distance\ngroups: [row]\n"
    eliminate += "suspicion: largest\neliminate: all\nbecause: x\nreference: ours\nwrong_when: never\n"
    for text, place in ((QUERY.format(name, "step"), "4:10"), (eliminate.format(name), "1:7")):
        with pytest.raises(DecloakError, match=rf"^rule:{place}: .*{TOLD}") as e:
            parse_rule(text)
        assert name in str(e.value)


@pytest.mark.parametrize(
    "name", slow_but(["item", "named_eliminated", "truth_origin", *OF_THE_STORE[-3:]], OF_THE_STORE)
)
def test_names_of_the_store_are_no_names_of_steps(name):
    with pytest.raises(DecloakError, match=rf"^rule:6:\d+: .*{TOLD} another name$"):
        checked(parse_rule(QUERY.format("mine", name)), ())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see what a process has")
def test_the_process_of_a_stranger_has_nothing_of_the_store(secret, example, monkeypatch):
    monkeypatch.chdir(secret.parent)
    monkeypatch.setenv("DECLOAK_TEST", str(secret))
    before = set(children_of(os.getpid()))
    with attackers_sandbox(secret, scopes(secret)[0], "the rule mine") as sandbox:
        (child,) = set(children_of(os.getpid())) - before
        place = f"{example}/evil.yaml:3:4"
        sandbox.make("step", "select group_concat(name) as names from item", place)
        assert "gangrene" in sandbox.select("select names from step", place)[1][0][0]
        proc = Path(f"/proc/{child}")
        shown = {path.name: str(path.readlink()) for path in (proc / "fd").iterdir()}
        shown |= {name: (proc / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ", "maps")}
        shown["cwd"] = str((proc / "cwd").readlink())
        for name, text in shown.items():
            assert "secret" not in text, name
            assert str(secret.parent) not in text, name
        assert shown["cwd"] == "/"
        memory = _memory(proc)
        assert b"gangrene" in memory  # it is looked at in the right place
        for word in (SUPPRESSED, "the secret store", "evil.yaml", str(example), "the worked example", "original.txt"):
            assert word.encode() not in memory, word


def _memory(proc: Path) -> bytes:
    parts = []
    with (proc / "mem").open("rb", buffering=0) as memory:
        for line in (proc / "maps").read_text().splitlines():
            span, rights, *_ = line.split()
            begin, end = (int(one, 16) for one in span.split("-"))
            if rights.startswith("rw"):
                memory.seek(begin)
                try:
                    parts.append(memory.read(end - begin))
                except OSError:
                    continue
    return b"".join(parts)
