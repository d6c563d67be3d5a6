"""What is handed out leads back to nobody: no ids, no order, no label or item that is not shown, no word beside it."""

import hashlib
import json
import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import decloak
from decloak.data.formats.delimited import records as records_of
from decloak.data.formats.generalised_file import write_generalised
from decloak.data.formats.lines import read_lines
from decloak.releases import publishing, set_generalised
from decloak.releases.file_formats import CHUNKS, LABELS, TEXT
from decloak.releases.public_store import STORE
from decloak.releases.registry import form_of
from decloak.store.opening import connect_readonly, open_store
from decloak.store.records import original_ids
from stores import old_store
from test_writing import full_disk

SECRET = "zosteria"
"""An item of one person, which coat cannot but suppress."""
ITEMS = tuple(f"{letter}{number}" for letter in "abcd" for number in range(3))
METHODS = {
    "cut": "method: cut, k: 3, m: 2, hierarchy: {by: names, fanout: 3}",
    "lra": "method: lra, k: 3, m: 1, parts: 3, hierarchy: {by: names, fanout: 3}",
    "vpa": "method: vpa, k: 3, m: 2, parts: 2, hierarchy: {by: names, fanout: 3}",
    "partition": "method: partition, k: 3, hierarchy: {by: names, fanout: 3}",
    "diversity": "method: diversity, l: 2, m: 1, sensitive: [d2], hierarchy: {by: names, fanout: 3}",
    "coat": "method: coat, k: 3, privacy: [[zosteria], [a0, b0]], utility: [[a0, a1, a2], [b0, b1, b2]]",
    "sets": "method: sets, size: 3, share: 1.0",
    "disassociation": "method: disassociation, k: 3, m: 2, max_cluster: 8, refine: true",
}
READERS = {"out.txt": TEXT, "out.jsonl": LABELS, "out.db": STORE}
EVERY = [
    pytest.param(method, file, id=f"{method}-{file}")
    for method in METHODS
    for file in READERS
    if (method, file) != ("disassociation", "out.txt")
]


def records() -> list[list[str]]:
    """Sixty people's items, one of them with the secret."""
    rng = random.Random(7)
    rows = [rng.sample(ITEMS[:-1], rng.randint(1, 4)) for _ in range(60)]
    for row in rng.sample(rows, 12):
        row.append(ITEMS[-1])
    rows[17].append(SECRET)
    return rows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data about people whose ids, file, folder and scenario have names that stand nowhere else."""
    (tmp_path / "krumhorn-hospital").mkdir()
    monkeypatch.chdir(tmp_path / "krumhorn-hospital")
    lines = [", ".join((f"qq{number:03d}", *row)) for number, row in enumerate(records())]
    Path("krumhorn.txt").write_text("\n".join(lines))
    return Path.cwd()


def scenario(anonymise: str) -> Path:
    attack = "cover" if "disassociation" in anonymise else "{rule: km_violation, k: 2, m: 2}"
    Path("s.yaml").write_text(
        "scenario: who comes to krumhorn\ndata: {file: krumhorn.txt, format: basket, ids: true}\n"
        f"anonymise: {{{anonymise}}}\nattack: [{attack}]\n"
    )
    return Path("s.yaml")


_STORES: dict[tuple[bytes, bytes], bytes] = {}


def ran(method: str, more: str = "") -> None:
    """Make store.db by a run of a method; where there is none yet, one that another test made will do."""
    path, store = scenario(METHODS[method] + more), Path("store.db")
    inputs = (path.read_bytes(), Path("krumhorn.txt").read_bytes())
    if store.exists():
        decloak.run(path)
    elif inputs in _STORES:
        store.touch(mode=0o600)
        store.write_bytes(_STORES[inputs])
    else:
        decloak.run(path)
        _STORES[inputs] = store.read_bytes()


def carrier(method: str, file: str):
    return CHUNKS if method == "disassociation" and file == "out.jsonl" else READERS[file]


def content(release) -> object:
    """What a release shows, whatever its order."""
    if release.form == "disassociated":
        return release.clusters, release.joints
    published = getattr(release, "published", release)
    return Counter(map(content_of_row, published.transactions))


def content_of_row(row) -> frozenset:
    return frozenset(element if isinstance(element, str) else frozenset(element) for element in row)


def held(number: int = 1):
    with closing(connect_readonly("store.db")) as connection:
        return form_of(connection, number).load(connection, number).published


@pytest.mark.parametrize(("method", "file"), EVERY)
def test_no_byte_that_is_handed_out_tells_of_anybody(folder, call, method, file):
    ran(method)
    assert call("publish", "1", file) == (0, f"wrote {file} and {file}.manifest.json\n", "")
    names = {path.name for path in folder.iterdir()}
    assert names == {"krumhorn.txt", "s.yaml", "store.db", file, f"{file}.manifest.json"}
    with closing(connect_readonly("store.db")) as connection:
        keys = connection.execute("select digest from dataset union all select digest from release").fetchall()
    for path in (file, f"{file}.manifest.json"):
        written = Path(path).read_bytes().lower()
        assert b"qq0" not in written
        assert b"krumhorn" not in written
        assert not any(key.encode() in written for (key,) in keys)  # by which a guess at the data could be confirmed
        assert (SECRET.encode() in written) == (method != "coat" and path == file)


@pytest.mark.parametrize(("method", "file"), EVERY)
def test_what_is_handed_out_is_the_release_in_its_own_order(folder, call, method, file):
    ran(method)
    assert call("publish", "last", file).code == 0
    release = carrier(method, file).read(Path(file), False)
    assert content(release) == content(held())
    arranged = release.sorted_by_content().release
    assert content(arranged) == content(release)
    if method != "disassociation":
        assert arranged.transactions == release.transactions
        assert release.ids == tuple(str(number) for number in range(1, 61))


@pytest.mark.parametrize(("method", "file"), EVERY)
def test_a_manifest_is_the_same_wherever_and_whenever(folder, call, tmp_path, monkeypatch, method, file):
    ran(method)
    assert call("publish", "last", file).code == 0
    manifest = json.loads(Path(f"{file}.manifest.json").read_text())
    assert manifest["sha256"] == {"release": hashlib.sha256(Path(file).read_bytes()).hexdigest()}
    assert manifest["method"] == method
    assert manifest["order"] == "sorted"
    assert manifest["ids"] == "none"
    assert manifest["warnings"] == []
    assert manifest["parameters"].keys().isdisjoint({"seed", "suppressed", "method", "hierarchy", "processes"})
    assert all(type(value) in (int, float, bool, str) for value in manifest["parameters"].values())
    rows = {"clusters"} if method == "disassociation" else {"transactions", "plain items", "generalised items"}
    assert rows <= manifest["counts"].keys()
    before = Path(f"{file}.manifest.json").read_bytes()
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "same.txt").write_bytes(Path("krumhorn.txt").read_bytes())
    text = Path("s.yaml").read_text().replace("krumhorn.txt", "same.txt")
    monkeypatch.chdir(other)
    Path("s.yaml").write_text(text)
    decloak.run("s.yaml", store="another.db")
    assert call("publish", "last", f"renamed{Path(file).suffix}", "--store", "another.db").code == 0
    assert Path(f"renamed{Path(file).suffix}.manifest.json").read_bytes() == before


def test_ids_of_the_originals_leave_only_when_asked_for_and_are_told(folder, call):
    ran("cut")
    with closing(connect_readonly("store.db")) as connection:
        ids = original_ids(connection, 1)
    for file in READERS:
        said = call("publish", "1", file, "--original-ids")
        assert said.code == 0
        assert "WARNING: the file contains the original ids" in said.err
        manifest = json.loads(Path(f"{file}.manifest.json").read_text())
        assert manifest["ids"] == "original"
        assert manifest["warnings"] == [said.err.removeprefix("note: ").strip()]
        release = READERS[file].read(Path(file), True)
        truth = dict(zip(ids, map(content_of_row, held().transactions), strict=True))
        told = {name: content_of_row(row) for name, row in rows_of(release)}
        assert told == truth
    assert "No such option '--ids'" in call("publish", "last", "no.txt", "--ids").err


def rows_of(release):
    published = getattr(release, "published", release)
    return zip(release.ids, published.transactions, strict=True)


def test_who_publishes_as_recorded_is_told_what_that_gives_away(folder, call):
    ran("sets", ", order: recorded")
    said = call("publish", "1", "out.txt")
    assert said.code == 0
    assert "WARNING: the release keeps the order of the records" in said.err
    manifest = json.loads(Path("out.txt.manifest.json").read_text())
    assert manifest["order"] == "recorded"
    assert manifest["warnings"] == [said.err.removeprefix("note: ").strip()]


def test_only_labels_that_transactions_show_are_listed(folder, call):
    edges = [f"{item},{item[0].upper()}\n" for item in (*ITEMS, "e0", "e1")]
    Path("tree.csv").write_text("child,parent\n" + "".join([*edges, *(f"{letter},ALL\n" for letter in "ABCDE")]))
    rows = [[item for item in row if item != SECRET] for row in records()]
    Path("krumhorn.txt").write_text("\n".join(f"qq{number}, {', '.join(row)}" for number, row in enumerate(rows)))
    tree = decloak.Hierarchy.read("tree.csv", "parents")
    release = decloak.anonymise(rows, "lra", k=3, m=1, parts=3, hierarchy=tree)
    assert set(release.members) > {label for row in release.transactions for label in row}
    release.write("python.jsonl")
    decloak.run(scenario("method: lra, k: 3, m: 1, parts: 3, hierarchy: {file: tree.csv, format: parents}"))
    assert call("publish", "last", "out.jsonl", "--cut", "labels.csv").code == 0
    for file in ("python.jsonl", "out.jsonl"):
        again = decloak.read_release(file)
        assert set(again.members) == {label for row in again.transactions for label in row}
        assert '"label": "E"' not in Path(file).read_text()
    listed = {line.split(",")[0] for line in Path("labels.csv").read_text().splitlines()[1:]}
    assert listed == set(decloak.read_release("out.jsonl").members)


# What could go wrong inside: each is what a careless maker of files would do.
def with_ids(release, path, ids):
    replace(release, labels=tuple(f"qq{number:03d}" for number in range(60))).write(path, ids=True)


def with_ids_in_json(release, path, ids):
    write_generalised(replace(release, ids=tuple(f"qq{number:03d}" for number in range(60))), path, ids=True)


def as_recorded(release, path, ids):
    replace(release, transactions=tuple(map(tuple, release.transactions[::-1]))).write(path)


def rows_turned(release, path, ids):
    replace(release, transactions=tuple(row[::-1] for row in release.transactions)).write(path)


def with_an_idle_label(release, path, ids):
    write_generalised(release, path)
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([head, '{"label": "Z", "items": ["zz"]}', *lines]) + "\n")


def with_the_secret(release, path, ids):
    replace(release, transactions=(*release.transactions[:-1], (SECRET,))).write(path)


def cut_short(release, path, ids):
    replace(release, transactions=release.transactions[:-1], labels=release.labels[:-1]).write(path)


def store_with(sql):
    def write(release, path, ids):
        STORE.write(release, path, ids)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(sql)

    return write


SABOTAGE = {
    "ids": ("out.txt", with_ids, "the file differs from the release"),
    "ids in JSON": ("out.jsonl", with_ids_in_json, "60 of its 60 rows are called as the originals: 'qq000'"),
    "another order": ("out.txt", as_recorded, "the rows or their items are not sorted by content"),
    "another order in rows": ("out.txt", rows_turned, "the rows or their items are not sorted by content"),
    "an idle label": ("out.jsonl", with_an_idle_label, "it lists labels that no record shows: 'Z'"),
    "a suppressed item": ("out.txt", with_the_secret, "the file differs from the release"),
    "cut short": ("out.txt", cut_short, "the file differs from the release"),
    "truth": ("out.db", store_with("insert into item values (99, 'a0x'); insert into truth_suppressed values (1, 99)"),
        "its table truth_suppressed is not empty"),
    "originals": ("out.db", store_with("insert into dataset values (9, 'd', 'original', 'o', 'f', null, 1, 0)"),
        "it has original data"),
    "a suppressed item in a store": ("out.db", store_with(f"insert into item values (99, '{SECRET}')"),
        f"it names items that the release does not show: '{SECRET}'"),
    "a run": ("out.db", store_with("insert into run values (1, 'd', 's', 'v', 1, 1, '{}', 'now', 1)"),
        "its table run is not empty"),
    "what was deleted": ("out.db", store_with("create table x as select zeroblob(99999); drop table x"),
        "its free pages"),
}  # fmt: skip


MAKERS = {
    "out.txt": (set_generalised, "TEXT"),
    "out.jsonl": (set_generalised, "LABELS"),
    "out.db": (publishing, "STORE"),
}


@pytest.mark.parametrize("name", SABOTAGE)
def test_what_leads_back_is_found_before_it_is_there(folder, call, monkeypatch, name):
    file, write, message = SABOTAGE[name]
    ran("coat")
    module, carrier = MAKERS[file]
    monkeypatch.setattr(module, carrier, READERS[file]._replace(write=write))
    before = sorted(folder.iterdir())
    said = call("publish", "last", file)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"decloak: {file}: not published: ")
    assert message in said.err
    assert sorted(folder.iterdir()) == before


def test_every_link_there_is_would_be_named(folder, call, monkeypatch):
    """That a release does not read back hides no other fault: all of them are looked for."""
    ran("coat")
    with closing(connect_readonly("store.db")) as connection:
        form = form_of(connection, 1)
        truth = publishing.HiddenFacts.of(form.load(connection, 1))
    assert truth.suppressed == {SECRET}
    assert len(truth.ids) == len(truth.places) == 60
    release = TEXT.content(held()).sorted_by_content().release
    names = tuple(f"qq{number:03d}" for number in range(60))
    told = replace(release, transactions=((SECRET,), *release.transactions[:0:-1]), labels=names)
    links = publishing.find_leaks(told, release, truth, recorded=False, with_ids=False)
    whole, order, secret = (
        "the file differs from the release",
        "the rows or their items are not sorted",
        "it names items that the release suppressed",
    )
    for link, message in zip(links, (whole, "60 of its 60 rows", order, secret), strict=True):
        assert link.message.startswith(message)
    asked = publishing.find_leaks(told, release, truth, recorded=True, with_ids=True)
    for link, message in zip(asked, (whole, secret), strict=True):
        assert link.message.startswith(message)


def test_the_list_of_labels_is_looked_at_as_well(folder, call, monkeypatch):
    ran("coat")
    text = f"label,item\n(a0, a1),{SECRET}\n"
    monkeypatch.setattr(publishing, "_write_labels", lambda pairs, path: path.write_text(text))
    before = sorted(folder.iterdir())
    said = call("publish", "last", "out.jsonl", "--cut", "labels.csv")
    assert said.code == 2
    assert f"the list of its labels names items that the release suppressed: '{SECRET}'" in said.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("parameter", ["krumhorn.txt", SECRET, "qq001"])
def test_no_word_of_the_data_gets_into_a_manifest(folder, call, parameter):
    ran("cut")
    with open_store("store.db") as store, store.stage() as connection:
        connection.execute("update release set parameters = json_set(parameters, '$.refine', ?)", (parameter,))
    said = call("publish", "last", "out.txt")
    assert said.code == 2
    assert f"not published: its manifest says '{parameter}'" in said.err


@pytest.mark.parametrize("file", READERS)
def test_a_full_disk_leaves_no_part_of_what_was_to_be_handed_out(folder, call, file):
    names = [f"long name of an item {number}" for number in range(97)]
    rows = [[f"p{row}", *(names[row * item % 97] for item in range(1, 40))] for row in range(400)]
    Path("krumhorn.txt").write_text("\n".join(map(", ".join, rows)))
    decloak.run(scenario("method: sets, size: 3, share: 1.0"))
    before = sorted(folder.iterdir())
    cut = [] if file == "out.db" else ["--cut", "labels.csv"]
    with full_disk():
        said = call("publish", "last", file, *cut)
    assert (said.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
    assert call("publish", "last", file, *cut).code == 0


@pytest.mark.parametrize("step", [0, 1, 2])
def test_release_labels_and_manifest_come_together_or_not_at_all(folder, call, monkeypatch, step):
    ran("cut")
    before = sorted(folder.iterdir())
    replaced = []
    put = Path.replace

    def interrupted(self, goal):
        if Path(goal).parent != Path():
            return put(self, goal)  # a file written inside
        replaced.append(Path(goal).name)
        if len(replaced) == step + 1:
            raise KeyboardInterrupt
        return put(self, goal)

    monkeypatch.setattr(Path, "replace", interrupted)
    parts = []
    atomic_paths = publishing.atomic_paths
    monkeypatch.setattr(publishing, "atomic_paths", lambda *goals: parts.extend(goals) or atomic_paths(*goals))
    assert call("publish", "last", "out.jsonl", "--cut", "labels.csv").code == 130
    assert [path.name for path in parts] == ["out.jsonl", "labels.csv", "out.jsonl.manifest.json"]
    assert sorted(folder.iterdir()) == before


RELATED = "relate: {measure: ngd, source: release}\n"


def theirs(file: str, attacks: str, more: str = "") -> Path:
    """A scenario of somebody who got a file."""
    Path("theirs.yaml").write_text(f"scenario: s\ndata: {{release: {file}}}\n{more}attack: [{attacks}]\n")
    return Path("theirs.yaml")


def test_a_store_that_is_handed_out_can_be_asked_drawn_checked_attacked_and_published(folder, call):
    ran("cut")
    assert call("publish", "last", "out.db").code == 0
    assert call("publish", "last", "out.jsonl").code == 0
    kinds = json.loads(call("sql", "select distinct kind from node order by kind", "--store", "out.db", "--json").out)
    assert [row["kind"] for row in kinds] == ["dataset", "generalised", "item", "release", "txn"]
    assert call("graph", "--store", "out.db", "--format", "json").code == 0
    assert call("check", "out.db").err == "the guarantee is met: k = 3, m = 2\n"
    assert call("runs", "--store", "out.db").code == 0
    figures = []
    for file in ("out.db", "out.jsonl"):
        run = decloak.run(theirs(file, "mda, tba, gba, rba, km_violation", RELATED), store=f"of-{file}.db")
        figures.append([(measure.attack, measure.measure, measure.value) for measure in run.measures])
    assert figures[0] == figures[1]
    assert any(value for _, name, value in figures[0] if name == "eliminated")
    assert call("publish", "release:1", "again.jsonl", "--store", "out.db").code == 0
    assert Path("again.jsonl").read_bytes() == Path("out.jsonl").read_bytes()


@pytest.mark.parametrize("file", READERS)
def test_what_is_handed_out_has_the_mode_the_user_gives_files(folder, call, file):
    ran("cut")
    assert call("publish", "last", file).code == 0
    Path("other").touch()
    assert {Path(name).stat().st_mode for name in ("other", file, f"{file}.manifest.json")} == {
        Path("other").stat().st_mode
    }
    assert Path("store.db").stat().st_mode & 0o777 == 0o600


def test_any_reader_of_sqlite_sees_all_of_it_and_reading_changes_nothing(folder, call):
    ran("cut")
    assert call("publish", "last", "out.db").code == 0
    before = Path("out.db").read_bytes()
    with closing(sqlite3.connect("out.db")) as plain:
        assert plain.execute("select count(*) from txn").fetchone() == (60,)
        shown = plain.execute("select count(*) from published_as union all select count(*) from contains").fetchall()
    assert sum(count for (count,) in shown) == sum(map(len, held().transactions))
    assert call("sql", "select * from node", "--store", "out.db").code == 0
    assert call("graph", "--store", "out.db").code == 0
    assert call("check", "out.db").code == 0
    assert Path("out.db").read_bytes() == before


def test_a_store_of_an_older_version_is_read_as_one_of_today_and_stays_as_it_is(folder, call):
    ran("cut")
    assert call("publish", "last", "out.db").code == 0
    today = STORE.read(Path("out.db"), False)
    Path("out.db").rename("new.db")
    old_store(Path("new.db"), Path("out.db"), 1)
    with closing(sqlite3.connect("out.db")) as plain:
        plain.executescript("drop view node; create view node as select 'item' as kind, id, name as label from item")
    before = Path("out.db").read_bytes()
    assert STORE.read(Path("out.db"), False) == today
    run = decloak.run(theirs("out.db", "mda", RELATED), store="mine.db")
    assert run.variants
    assert Path("out.db").read_bytes() == before


@pytest.mark.parametrize("parameters", ["[1]", "{", "null", '{"k": "x", "m": [1]}'])
def test_a_store_that_says_nonsense_of_its_release_is_an_error_in_a_line(folder, call, parameters):
    ran("cut")
    assert call("publish", "last", "out.db").code == 0
    with closing(sqlite3.connect("out.db")) as plain:
        plain.execute("update release set parameters = ?", (parameters,))
        plain.commit()
    Path("out.db.manifest.json").unlink()
    for command in (["check", "out.db"], ["run", theirs("out.db", "{rule: km_violation}"), "--store", "mine.db"]):
        said = call(*command)
        assert said.code == 2
        assert len(said.err.splitlines()) == 1, said.err
        assert "fault inside" not in said.err


def test_a_look_at_a_store_says_what_it_is(folder, call):
    ran("cut")
    said = call("look", "store.db")
    assert said.code == 2
    assert "store.db: a SQLite database: a store, or none of decloak's; ask it by `decloak sql`" in said.err


def test_a_store_with_more_than_one_release_is_none_to_attack(folder, call):
    ran("cut")
    ran("sets")
    theirs("store.db", "{rule: km_violation, k: 2, m: 2}")
    said = call("run", "theirs.yaml", "--store", "mine.db")
    assert said.code == 2
    assert (
        "store.db: a store of 2 releases, not of one; name a store that `decloak publish RUN FILE.db` wrote" in said.err
    )


def test_a_disassociated_store_is_attacked_as_its_file_is(folder, call):
    ran("disassociation")
    figures = []
    for file in ("out.db", "out.jsonl"):
        assert call("publish", "last", file).code == 0
        assert call("check", file).err == "the guarantee is met: k = 3, m = 2\n"
        run = decloak.run(theirs(file, "aba, cover", RELATED), store=f"of-{file}.db")
        figures.append([(measure.attack, measure.measure, measure.value) for measure in run.measures])
    assert figures[0] == figures[1]


HOSTILE = ["a\nb", 'say "a, (b)"', "(a, b)", "*", "=1+1", "\u202ecba", "a" * 3000]


@pytest.mark.parametrize("file", READERS)
def test_every_release_a_store_can_hold_can_be_handed_out_somehow(folder, call, file):
    """Names that a text cannot carry, brackets that overlap: the remedy that is told works."""
    members = [{"label": f"L{number}", "items": [name, "other"]} for number, name in enumerate(HOSTILE)]
    plain = [{"label": "plain", "items": ["plain"]}]
    header = {"decloak": "release", "version": 1, "method": "generalisation"}
    rows = [[f"L{number}", f"L{number + 1}", "plain"] for number in range(len(HOSTILE) - 1)]
    Path("theirs.jsonl").write_text("\n".join(json.dumps(line) for line in [header, *members, *plain, *rows, []]))
    decloak.run(theirs("theirs.jsonl", "{rule: km_violation, k: 2, m: 1}"))
    said = call("publish", "last", file)
    if file == "out.txt":
        assert said.code == 2
        assert said.err.splitlines()[0].endswith(("write a release file (.jsonl)", "write jsonl"))
        assert not Path(file).exists()
    else:
        assert said.code == 0
        assert content(READERS[file].read(Path(file), False)) == content(decloak.read_release("theirs.jsonl"))


def test_a_release_that_no_run_attacked_is_handed_out_by_its_number(folder, call):
    Path("theirs.txt").write_text("zz, (b, a)\n(a, b), aa\n")
    assert call("import", "theirs.txt", "--format", "published").code == 0
    assert call("publish", "release:1", "out.txt").code == 0
    assert Path("out.txt").read_text() == "(a, b), aa\n(a, b), zz\n"
    assert "no release 9; `decloak sql" in call("publish", "release:9", "no.txt").err


def test_somebody_elses_release_leaves_its_order_and_ids_behind(folder, call):
    Path("original.txt").write_text("r1, tea, milk\nr2, bread, ham\nr3, bread, tea\n")
    Path("theirs.txt").write_text("r1, tea, (milk, soy)\nr2, bread, (ham, eggs)\nr3, bread, tea\n")
    Path("s.yaml").write_text(
        "scenario: s\ndata: {file: original.txt, format: basket, ids: true, published: {file: theirs.txt, ids: true}}\n"
        "attack: [{rule: km_violation, k: 1, m: 1}]\n"
    )
    decloak.run("s.yaml")
    assert call("publish", "last", "out.txt").code == 0
    assert Path("out.txt").read_text() == "(eggs, ham), bread\n(milk, soy), tea\nbread, tea\n"
    assert call("publish", "last", "ids.txt", "--original-ids").code == 0
    assert Path("ids.txt").read_text() == "r2, (eggs, ham), bread\nr1, (milk, soy), tea\nr3, bread, tea\n"


def test_what_a_method_promises_is_found_in_the_manifest(folder, call):
    ran("partition")
    assert call("publish", "last", "out.jsonl").code == 0
    assert call("check", "out.jsonl").err == "the guarantee is met: k = 3, of whole transactions\n"
    assert call("check", "out.jsonl", "--k", 60).code == 3
    Path("out.jsonl").write_text(Path("out.jsonl").read_text() + "[]\n")
    said = call("check", "out.jsonl")
    assert said.code == 2
    assert "out.jsonl: the manifest belongs to another file; take the two that belong together" in said.err
    Path("out.jsonl.manifest.json").unlink()
    assert "give --k and --m" in call("check", "out.jsonl").err


@pytest.mark.parametrize("method", ["coat", "diversity"])
def test_a_promise_about_listed_items_asks_for_the_list(folder, call, method):
    ran(method)
    assert call("publish", "last", "out.jsonl").code == 0
    said = call("check", "out.jsonl")
    assert said.code == 2
    assert "does not list the protected items" in said.err
    assert "add --constraints" in said.err
    assert call("check", "out.jsonl", "--constraints", "s.yaml").code == 0


NO_MANIFEST = ("{", "[]", '{"decloak": "manifest", "version": 2}', '{"decloak": "manifest", "version": 1}', "\xff")


@pytest.mark.parametrize("text", NO_MANIFEST)
def test_a_manifest_that_is_none_is_an_error_in_a_line(folder, call, text):
    ran("partition")
    assert call("publish", "last", "out.jsonl").code == 0
    Path("out.jsonl.manifest.json").write_bytes(text.encode("latin-1"))
    said = call("check", "out.jsonl")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert "out.jsonl.manifest.json" in said.err


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("disassociation", ["out.jsonl", "--original-ids"], "has no ids and no labels"),
        ("disassociation", ["out.db", "--original-ids"], "has no ids and no labels"),
        ("disassociation", ["out.db", "--text"], "a store has no text"),
        ("disassociation", ["out.DB", "--text"], "a store has no text"),
        ("cut", ["out.txt", "--text"], "a text as it is; leave --text out"),
        ("cut", ["out.db", "--cut", "x.csv"], "a store has no text, and the labels in it"),
        ("cut", ["out.txt", "--cut", "out.txt.manifest.json"], "go to the same file"),
        ("cut", ["none/out.txt"], "there is no such folder"),
        ("disassociation", ["out.tsv"], "cannot write .tsv for this release; use .jsonl (release file)"),
        ("disassociation", ["out.txt"], "or --text with .txt (tables for people)"),
        ("disassociation", ["out.jsonl", "--text"], "cannot write .jsonl for this release; use .txt"),
        ("cut", ["out.xlsx"], "cannot write .xlsx for this release; use .txt (one record per line)"),
        (
            "coat",
            ["out.JSONL"],
            "use .txt (one record per line), .csv (with a codebook), .jsonl (release file) or .db (store)",
        ),
        ("coat", ["out.txt.gz"], "cannot write .gz for this release"),
    ],
)
def test_what_cannot_be_handed_out_so_is_refused(folder, call, method, arguments, message):
    ran(method)
    before = sorted(folder.iterdir())
    said = call("publish", "last", *arguments)
    assert said.code == 2
    assert message in said.err
    assert sorted(folder.iterdir()) == before


def test_who_publishes_one_of_several_runs_is_told_which(folder, call):
    vary = "vary: {anonymise.k: [2, 3]}\nrepeat: {times: 2}\n"
    scenario = folder / "sweep.yaml"
    (folder / "d.txt").write_text("".join(", ".join(row) + "\n" for row in records()))
    method = METHODS["coat"].replace("zosteria", "c0")
    text = f"scenario: s\ndata: {{file: d.txt, format: basket}}\nanonymise: {{{method}}}\n"
    scenario.write_text(f"{text}attack: [{{rule: km_violation, k: 2, m: 1}}]\n{vary}")
    assert call("run", scenario, "--store", folder / "sweep.db").code == 0
    said = call("publish", "3", folder / "third.jsonl", "--store", folder / "sweep.db").err
    assert (
        "note: run 3 (anonymise.k=3 #1) is one of 4 runs of its sweep; `decloak show 3` lists the people exposed"
        in said
    )
    assert (
        "runs of its sweep" not in call("publish", "release:1", folder / "o.jsonl", "--store", folder / "sweep.db").err
    )


@pytest.mark.parametrize("method", ["cut", "coat", "disassociation"])
def test_a_table_for_readers_has_a_codebook_and_shows_what_the_release_shows(folder, call, method):
    ran(method)
    assert call("publish", "last", "out.csv").code == 0
    assert call("publish", "last", "out.jsonl").code == 0
    rows = [row for _, row in records_of(read_lines(Path("out.csv")))]
    book = [row for _, row in records_of(read_lines(Path("out.codebook.csv")))]
    release = decloak.read_release("out.jsonl")
    if method == "disassociation":
        shown = Counter((row[0], row[3], row[4]) for row in rows[1:] if row[2] == "record")
        assert sum(shown.values()) == sum(
            len(one) for cluster in release.clusters for chunk in cluster.record_chunks for one in chunk.subrecords
        )
        terms = {(row[0], row[5]) for row in rows[1:] if row[2] == "term"}
        assert terms == {(str(n), item) for n, cluster in enumerate(release.clusters) for item in cluster.term_chunk}
        shared = sum(len(one) for joint in release.joints for chunk in joint.shared_chunks for one in chunk.subrecords)
        assert sum(row[2] == "shared" for row in rows) == shared
        assert {row[0]: int(row[1]) for row in rows[1:] if row[2] in ("record", "term")} == {
            str(n): cluster.size for n, cluster in enumerate(release.clusters)
        }
    else:
        of_record = {}
        for name, label in rows[1:]:
            of_record.setdefault(name, []).extend([label] if label else [])
        assert list(of_record.values()) == [list(row) for row in release.transactions]
        members = {}
        for entry, name, meaning in book:
            if entry == "label":
                members.setdefault(name, []).append(meaning)
        assert members == {label: sorted(items) for label, items in release.members.items()}
    assert [row[1] for row in book if row[0] == "column"] == rows[0]
    assert ["fact", "k", "3"] in book
    if method == "coat":  # it suppresses the item of one person
        assert SECRET not in Path("out.csv").read_text() + Path("out.codebook.csv").read_text()
    assert {"release", "codebook"} == set(json.loads(Path("out.csv.manifest.json").read_text())["sha256"])
    assert "there is something already" in call("publish", "last", "out.csv").err
