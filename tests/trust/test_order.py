"""What is published is a function of the records alone: of neither their order, nor that of their items, nor their ids.

A release of each method, in each format, must have the same bytes for the same records however they come; and who
has the records in their order must not find them again by place.
"""

import json
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import decloak
from decloak.data.generators.clinic import generate
from decloak.data.ordering import canonical_digest, sort_records
from decloak.store.opening import connect_readonly
from decloak.store.records import original_ids
from slowly import slow_but

INSTANCES = 50
ITEMS = tuple(f"{letter}{number}" for letter in "abcde" for number in range(3))
SENSITIVE = "e2"
"""An item in few records, so that it can be hidden among l."""
Call = Callable[..., Any]


def records(rng: random.Random, count: int = 40) -> decloak.Dataset:
    """Records of a few items each, some alike, the sensitive item in two of them."""
    rows = [tuple(rng.sample(ITEMS[:-1], rng.randint(1, 4))) for _ in range(count)]
    rows[0], rows[1], rows[3] = (SENSITIVE, *rows[0]), (SENSITIVE, *rows[1]), rows[2]
    return decloak.Dataset(tuple(rows), tuple(f"p{number}" for number in range(count)))


def rearranged(data: decloak.Dataset, rng: random.Random) -> decloak.Dataset:
    """The same records in another order, their items in another order, under other ids."""
    rows = [tuple(rng.sample(row, len(row))) for row in data.transactions]
    rng.shuffle(rows)
    return decloak.Dataset(tuple(rows), tuple(f"q{number}" for number in rng.sample(range(1000), len(rows))))


def tree(items: tuple[str, ...]) -> decloak.Hierarchy:
    return decloak.Hierarchy.balanced(items, fanout=3)


METHODS = {
    "sets": lambda _: {"sets": [["a1", "c2", "b0"], ["e0", "d1"]]},
    "coat": lambda _: {"k": 4, "privacy": [["a1", "b0"], ["c2"], ["d1", "e0"]], "utility": [ITEMS[:8], ITEMS[8:]]},
    "cut": lambda data: {"k": 4, "m": 2, "hierarchy": tree(data.items), "refine": True},
    "aa": lambda data: {"k": 4, "m": 2, "hierarchy": tree(data.items)},
    "da": lambda data: {"k": 4, "m": 2, "hierarchy": tree(data.items)},
    "oa": lambda data: {"k": 4, "m": 2, "hierarchy": tree(data.items)},
    "vpa": lambda data: {"k": 4, "m": 2, "hierarchy": tree(data.items), "parts": 2},
    "lra": lambda data: {"k": 4, "m": 2, "hierarchy": tree(data.items), "parts": 3, "flexibility": 2},
    "partition": lambda data: {"k": 4, "hierarchy": tree(data.items)},
    "diversity": lambda data: {"l": 2, "m": 1, "sensitive": [SENSITIVE], "hierarchy": tree(data.items[:-1])},
    "disassociation": lambda _: {"k": 2, "m": 2, "max_cluster": 8, "refine": True},
}  # fmt: skip


def written(release: object, folder: Path) -> dict[str, bytes]:
    """A release in every format it can be written in."""
    files = {}
    releases = {"release": release, "text": getattr(release, "published", release)}
    for name, shape in releases.items():
        for suffix in (".txt", ".jsonl"):
            path = folder / f"{name}{suffix}"
            try:
                shape.write(path)
                files[path.name] = path.read_bytes()
            except decloak.DecloakError as error:
                files[path.name] = error.message.encode()  # text cannot carry brackets that overlap
    return {**files, "text": str(release).encode()} if release.form == "disassociated" else files


@pytest.mark.parametrize("instances", slow_but([10], [10, INSTANCES]))
@pytest.mark.parametrize("method", slow_but(["sets", "coat", "cut", "disassociation"], METHODS))
def test_no_published_byte_depends_on_the_order_of_what_was_recorded(tmp_path, method, instances):
    differ = 0
    for seed in range(instances):
        rng = random.Random(seed)
        data = records(rng)
        options = METHODS[method](data)
        first, second = (decloak.anonymise(one, method, **options) for one in (data, rearranged(data, rng)))
        assert len(first.transactions) == len(data.transactions)
        differ += written(first, tmp_path) != written(second, tmp_path)
    assert differ == 0


@pytest.mark.parametrize("method", METHODS)
def test_as_recorded_it_does_depend_on_it(tmp_path, method):
    """Otherwise the test above could not fail."""
    rng = random.Random(1)
    data = records(rng)
    options = {**METHODS[method](data), "order": "recorded"}
    first, second = (decloak.anonymise(one, method, **options) for one in (data, rearranged(data, rng)))
    if method != "disassociation":  # whose chunks are sorted in any order
        assert written(first, tmp_path) != written(second, tmp_path)


DRAWN = {
    "sets": "method: sets, size: 3",
    "coat": "method: coat, k: 4, privacy: {share: 0.3}",
    "coat, related": "method: coat, k: 4, privacy: [[a1]], utility: {relate: {measure: ngd, source: release}}",
    "cut": "method: cut, k: 4, m: 2, hierarchy: {by: random, fanout: 3}",
    "cooccurrence": "method: cut, k: 4, m: 2, hierarchy: {by: cooccurrence, fanout: 3}",
    "relatedness": "method: cut, k: 4, m: 2, hierarchy: {by: relatedness, fanout: 3, relate: {measure: ngd, source: "
    "release}}",
    "popularity": "method: lra, k: 4, m: 2, hierarchy: {by: popularity, fanout: 3}",
    "partition": "method: partition, k: 4, hierarchy: {by: names, fanout: 3}",
    "disassociation": "method: disassociation, k: 2, m: 2, max_cluster: 8, refine: true",
}
WRITTEN = ("long", "jsonl", "basket")


def published(
    call: Call, folder: Path, data: decloak.Dataset, kind: str, anonymise: str
) -> tuple[list[bytes], list[tuple]]:
    """The release that a scenario about a file makes, in every format, and as the store has it."""
    folder.mkdir()
    decloak.write(data, folder / f"rows.{kind}", kind, ids=kind != "long")
    ids = "" if kind == "long" else ", ids: true"
    attack = "cover" if "disassociation" in anonymise else "{rule: km_violation, k: 4, m: 2}"
    (folder / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: rows.{kind}, format: {kind}{ids}}}\nanonymise: {{{anonymise}}}\n"
        f"attack: [{attack}]\n"
    )
    store = ("--store", str(folder / "store.db"))
    assert call("run", folder / "s.yaml", *store).code == 0
    for file, *options in (["release.txt"], ["release.jsonl"], ["tables.txt", "--text"]):
        call("publish", "last", folder / file, *options, *store)
    with closing(connect_readonly(folder / "store.db")) as connection:
        stored = connection.execute(
            "select t.position, t.label, c.position, i.name from txn t join dataset d on d.id = t.dataset left join "
            "contains c on c.txn = t.id left join item i on i.id = c.item where d.kind = 'published' union all "
            "select t.position, t.label, p.position, g.label from txn t join published_as p on p.txn = t.id "
            "join generalised g on g.id = p.generalised order by 1, 3"
        ).fetchall()
    files = [path for path in sorted(folder.iterdir()) if path.name.startswith(("release", "tables"))]
    assert files
    return [path.read_bytes() for path in files], stored


def check_scenarios(call: Call, tmp_path: Path, instances: int) -> None:
    for seed in range(instances):
        rng = random.Random(seed)
        data = records(rng)
        for number, (name, anonymise) in enumerate(DRAWN.items()):
            kind, other = WRITTEN[(seed + number) % 3], WRITTEN[(seed + number + 1) % 3]
            first = published(call, tmp_path / f"{seed}-{number}-a", data, kind, anonymise)
            second = published(call, tmp_path / f"{seed}-{number}-b", rearranged(data, rng), other, anonymise)
            assert first == second, name


def test_nor_in_a_scenario_on_a_file_of_any_format_whatever_is_drawn(call, tmp_path):
    check_scenarios(call, tmp_path, 1)


@pytest.mark.slow
def test_nor_in_fifty_of_them(call, tmp_path):
    check_scenarios(call, tmp_path, INSTANCES)


def fitting(data: decloak.Dataset, release: object) -> int:
    """How many rows can be of the record at their place."""
    possible = [
        {item for element in row for item in ((element,) if isinstance(element, str) else element)}
        for row in getattr(release, "published", release).transactions
    ]
    return sum(set(items) <= row for items, row in zip(data.transactions, possible, strict=True))


@pytest.mark.parametrize("method", ["sets", "cut"])
def test_a_line_fits_the_record_at_its_place_by_chance_only(method):
    data = generate(400, 3)
    common = sorted(data.items, key=lambda item: -sum(item in row for row in data.transactions))
    options = {"sets": {"sets": [common[:4], common[4:8]]}, "cut": {"k": 5, "m": 1, "hierarchy": tree(data.items)}}
    sorted_release = decloak.anonymise(data, method, **options[method])
    recorded = decloak.anonymise(data, method, **options[method], order="recorded")
    assert fitting(data, recorded) == 400
    rng = random.Random(5)
    shuffled = [fitting(rearranged(data, rng), sorted_release) for _ in range(200)]
    assert fitting(data, sorted_release) <= max(shuffled) + 1


def test_ids_are_new_and_only_the_truth_links_them(call, tmp_path):
    data = records(random.Random(2))
    published(call, tmp_path / "a", data, "long", DRAWN["sets"])
    with closing(connect_readonly(tmp_path / "a" / "store.db")) as connection:
        ids = original_ids(connection, 1)
        labels = [label for (label,) in connection.execute("select label from txn where dataset = 2 order by position")]
    assert labels == [str(number) for number in range(1, 41)]
    assert sorted(ids) == sorted(data.labels)
    assert ids != list(data.labels)


def test_rows_that_show_the_same_do_not_tell_by_their_place_what_they_hide(tmp_path):
    """Attacks that take the first of equal rows would fare by the spelling of what is hidden."""
    rows = [("a", "x"), ("b", "x")] * 200
    data = decloak.Dataset(tuple(rows), tuple(map(str, range(400))))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: rows.jsonl, format: jsonl}\nanonymise: {method: sets, sets: [[a, b]]}\n"
        "attack: [{rule: km_violation, k: 2, m: 1}]\n"
    )
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        hidden = [data.transactions[int(label) - 1][0] for label in original_ids(connection, 1)]
    assert 70 <= hidden[:200].count("a") <= 130


def test_the_digest_of_records_is_that_of_their_set():
    rng = random.Random(9)
    data = records(rng)
    assert canonical_digest(data) == canonical_digest(rearranged(data, rng))
    assert canonical_digest(data) != canonical_digest(decloak.Dataset(data.transactions[1:], data.labels[1:]))
    assert sort_records(sort_records(data)[0])[0] == sort_records(data)[0]


@pytest.mark.parametrize("method", ["sets", "coat", "cut"])
def test_what_a_release_loses_and_hides_is_the_same_in_either_order(tmp_path, method):
    """The evaluator finds the record behind each row, wherever it is published."""
    decloak.write(records(random.Random(4)), tmp_path / "rows.txt", "basket", ids=True)
    (tmp_path / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: rows.txt, format: basket, ids: true}}\nanonymise: {{{DRAWN[method]}}}\n"
        "relate: {measure: ngd, source: release}\nattacker: {context: all}\nattack: [mda]\n"
        "measure: [recovery, loss, mining]\nvary: {anonymise.order: [sorted, recorded]}\n"
    )
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    first, second = (
        {one.measure: one.value for one in run.measures if one.variant == f"anonymise.order={order}"}
        for order in ("sorted", "recorded")
    )
    same = {"ncp", "support_error", "labels", "suppressed", "ul_log10", "added", "density", "tkd", "ml2", "dml2"}
    assert len(same & first.keys()) >= 5
    assert {name: first[name] for name in same & first.keys()} == {name: second[name] for name in same & first.keys()}
