"""Pairs of originals whose releases show the same, and every writer of a release.

`another` builds a second original from the first and its release: hidden members take each other's places, sub-records
and terms move to other records of their cluster, suppressed items come and go. Whether its release shows the same is
for `content` to say, which knows neither names of labels nor any order.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

import decloak
from decloak.anonymisers.kernels.building import by_cooccurrence, by_relatedness, ordered
from decloak.anonymisers.registry import AnyMethod
from decloak.data.formats.folder import Folder
from decloak.data.hierarchy import Hierarchy

NAMES = ("a", "b", "c d", "10", "9", "*", "a..b", "é", "x", "x (2)", "y", "z1", "z2", "z10", "(a, b)", ".")
"""Plain names, and some that look like the label of a group."""
GENERALISE: Mapping[str, Mapping[str, Any]] = {
    "cut": {"k": 2, "m": 2},
    "refined": {"k": 2, "m": 2, "refine": True},
    "aa": {"k": 2, "m": 2},
    "da": {"k": 2, "m": 2},
    "oa": {"k": 2, "m": 2},
    "lra": {"k": 2, "m": 1, "parts": 2},
    "vpa": {"k": 2, "m": 2, "parts": 2},
    "partition": {"k": 2},
    "diversity": {"l": 2, "m": 1},
}
"""Methods that generalise in a hierarchy, and their settings."""
METHODS = (*GENERALISE, "coat", "sets", "disassociation", "joint")
TREES: Mapping[str, Callable[[decloak.Dataset, int], Hierarchy]] = {
    "given": lambda data, fanout: _given(data.items),
    "balanced": lambda data, fanout: Hierarchy.balanced(data.items, fanout),
    "names": lambda data, fanout: ordered(data, "names", fanout),
    "file": lambda data, fanout: ordered(data, "file", fanout),
    "popularity": lambda data, fanout: ordered(data, "popularity", fanout),
    "cooccurrence": by_cooccurrence,
    "relatedness": lambda data, fanout: by_relatedness(data.items, _together(data), fanout),
}


def _given(items: tuple[str, ...]) -> Hierarchy:
    """A tree with labels of its own."""
    groups = {item: f"group {number % 3}" for number, item in enumerate(items)}
    return Hierarchy.from_parents({**groups, **dict.fromkeys(groups.values(), "everything")})


def _together(data: decloak.Dataset) -> dict[tuple[str, str], float | None]:
    held = {item: {place for place, row in enumerate(data.transactions) if item in row} for item in data.items}
    return {(a, b): 1 / (1 + len(held[a] & held[b])) for a in held for b in held if a < b}


def original(rng: random.Random) -> decloak.Dataset:
    """A few records, of items of which some are rare."""
    items = rng.sample(NAMES, rng.randint(4, 10))
    share = {item: rng.random() ** 2 + 0.05 for item in items}
    rows = [[item for item in items if rng.random() < share[item]] or items[:1] for _ in range(rng.randint(8, 30))]
    return decloak.Dataset(tuple(map(tuple, rows)), tuple(str(number) for number in range(len(rows))))


Study = Callable[[decloak.Dataset], Any]


def study(rng: random.Random, data: decloak.Dataset, method: str, tree: str, order: str) -> Study:
    """A function that anonymises any data with settings that are drawn once; an error where that cannot be."""
    fanout, items = rng.choice((2, 3, 4)), list(data.items)
    rng.shuffle(items)
    parts = [items[start : start + 3] for start in range(0, len(items), 3)]

    def make(data: decloak.Dataset) -> Any:
        if method == "coat":
            privacy = [part[:2] for part in parts]
            options: dict[str, Any] = {"k": 3, "privacy": privacy, "utility": parts[1:], "items": items}
        elif method == "sets":
            options = {"sets": [part for part in parts[: 1 + len(parts) // 2] if len(part) > 1]}
        elif method in ("disassociation", "joint"):
            options = {"k": 2, "m": 2, "max_cluster": 2 + fanout * 2, "refine": method == "joint"}
        else:
            options, generalised = dict(GENERALISE[method]), data
            if method == "diversity":
                options["sensitive"] = items[:1]
                rows = tuple(tuple(item for item in row if item != items[0]) for row in data.transactions)
                generalised = decloak.Dataset(rows, data.labels)
            options["hierarchy"] = TREES[tree](generalised, fanout)
        names = {"refined": "cut", "joint": "disassociation"}
        return decloak.anonymise(data, names.get(method, method), order=order, **options)

    return make


def content(release: Any, order: str) -> object:
    """What a release shows: no order but the one that was asked for, and no name of a label."""
    if release.form == "disassociated":
        return _clusters(release)
    rows = [frozenset(map(_members, row)) for row in _published(release).transactions]
    return Counter(rows) if order == "sorted" else rows


def _published(release: Any) -> Any:
    return getattr(release, "published", release)


def _members(element: Any) -> tuple[bool, frozenset[str]]:
    return (False, frozenset([element])) if isinstance(element, str) else (True, frozenset(element))


def _chunks(chunks: Any) -> Counter[object]:
    return Counter(
        (frozenset(chunk.items), frozenset(Counter(map(frozenset, chunk.subrecords)).items())) for chunk in chunks
    )


def _clusters(release: Any) -> object:
    def shows(number: int) -> object:
        cluster = release.clusters[number]
        anchor = cluster.record_chunks[0].items if cluster.record_chunks else ()
        chunks = frozenset(_chunks(cluster.record_chunks).items())
        return cluster.size, chunks, frozenset(anchor), frozenset(cluster.term_chunk)

    joints = Counter(
        (frozenset(Counter(map(shows, joint.clusters)).items()), frozenset(_chunks(joint.shared_chunks).items()))
        for joint in release.joints
    )
    return Counter(map(shows, range(len(release.clusters)))), joints


def another(rng: random.Random, data: decloak.Dataset, release: Any) -> decloak.Dataset:
    """Another original that could be behind the release."""
    rows = _moved(rng, data, release) if release.form == "disassociated" else _swapped(rng, data, release)
    return decloak.Dataset(tuple(map(tuple, rows)), data.labels)


def _swapped(rng: random.Random, data: decloak.Dataset, release: Any) -> list[list[str]]:
    """Members of the same labels take each other's places in all records, or here and there; so do suppressed items."""
    labels = [
        {element} if isinstance(element, str) else set(element) for element in _published(release).rows.used_names
    ]
    alike: dict[tuple[int, ...], list[str]] = {}
    for item in data.items:
        alike.setdefault(tuple(number for number, label in enumerate(labels) if item in label), []).append(item)
    group = {item: members for members in alike.values() for item in members}
    if rng.random() < 0.5:
        turned: dict[str, str] = {}
        for members in alike.values():
            turned.update(zip(members, rng.sample(members, len(members)), strict=True))
        return [[turned[item] for item in row] for row in data.transactions]
    rows = [[rng.choice(group[item]) if rng.random() < 0.2 else item for item in row] for row in data.transactions]
    return [list(dict.fromkeys(row)) for row in rows]


def _moved(rng: random.Random, data: decloak.Dataset, release: Any) -> list[list[str]]:
    """Records whose parts in the chunks of a cluster belong to others of the cluster, and those in its terms too."""
    rows: list[list[str]] = []
    starts = {}
    for number, cluster in enumerate(release.clusters):
        starts[number] = len(rows)
        mine: list[list[str]] = [[] for _ in range(cluster.size)]
        for chunk in cluster.record_chunks:
            for place, held in zip(
                rng.sample(range(cluster.size), len(chunk.subrecords)), chunk.subrecords, strict=True
            ):
                mine[place] += held
        for item in cluster.term_chunk:
            mine[min(range(cluster.size), key=lambda place: (len(mine[place]), rng.random()))].append(item)
        rows += mine
    for joint in release.joints:
        places = [starts[number] + row for number in joint.clusters for row in range(release.clusters[number].size)]
        for chunk in joint.shared_chunks:
            for place, held in zip(rng.sample(places, len(chunk.subrecords)), chunk.subrecords, strict=True):
                rows[place] += held
    return [list(dict.fromkeys(row)) for row in rows]


def written(release: Any, folder: Path) -> dict[str, bytes]:
    """A release in every format that Python writes, and as Python shows it."""
    files = {}
    for name, shape in {"release": release, "text": _published(release)}.items():
        for suffix in (".txt", ".jsonl"):
            path = folder / f"{name}{suffix}"
            try:
                shape.write(path)
                files[path.name] = path.read_bytes()
            except decloak.DecloakError as error:
                files[path.name] = str(error).encode()  # text carries no brackets that overlap
    shown = {element for row in release.transactions for element in row}
    members = [pair for pair in getattr(release, "members", {}).items() if pair[0] in shown]
    files["Python"] = repr((release.transactions, release.ids, release.parameters, members)).encode()
    if release.form == "disassociated":
        files["tables"] = str(release).encode()
    return files


def pairs(rng: random.Random, method: str, tree: str, order: str, draws: int = 4) -> Iterator[tuple[Any, Any]]:
    """Releases that show the same, of two originals that differ."""
    first = original(rng)
    make = study(rng, first, method, tree, order)
    try:
        release = make(first)
    except decloak.DecloakError:
        return
    for _ in range(draws):
        second = another(rng, first, release)
        if second.transactions == first.transactions:
            continue
        try:
            like = make(second)
        except decloak.DecloakError:
            continue
        if content(release, order) == content(like, order):
            yield release, like


SCENARIOS: Mapping[str, str] = {
    **{
        f"{method}, {tree}": f"method: {method}, k: 2, {settings}hierarchy: {{by: {tree}, fanout: 3}}"
        for tree in ("popularity", "cooccurrence", "names")
        for method, settings in {
            "cut": "m: 2, ", "aa": "m: 2, ", "da": "m: 2, ", "oa": "m: 2, ", "lra": "m: 1, parts: 2, ",
            "vpa": "m: 2, parts: 2, ", "partition": "",
        }.items()
    },
    "partition, given": "method: partition, k: 2, hierarchy: {file: tree.csv, format: parents}",
    "cut, given": "method: cut, k: 2, m: 2, hierarchy: {file: tree.csv, format: parents}",
    "sets": "method: sets, sets: [[a, b, é], [x, y, z1]]",
    "coat": "method: coat, k: 3, privacy: [[a, x], [y, z1], [é]], utility: [[a, b], [x, y, z1]]",
    "disassociation": "method: disassociation, k: 2, m: 2, max_cluster: 6, refine: true",
}  # fmt: skip
"""What stands under anonymise, for data of the items below."""
_ATTACKS = {
    "disassociation": "relate: {measure: ngd, source: release}\nattack: [aba, mra, cover]\n",
    "others": "relate: {measure: ngd, source: release}\nattack: [mda, rba, {rule: km_violation, k: 2, m: 2}]\n",
}
_ITEMS = ("a", "b", "é", "x", "y", "z1", "z10", "9")
_TREE = (
    "child,parent\n"
    + "".join(f"{item},group {place // 3}\n" for place, item in enumerate(_ITEMS))
    + "".join(f"group {number},everything\n" for number in range(3))
)
Call = Callable[..., Any]


def _records(rng: random.Random, anonymise: str) -> decloak.Dataset:
    """Records of few items, so few where they are put into clusters that another original is found soon."""
    count = 8 if "disassociation" in anonymise else 24
    rows = [tuple(item for item in _ITEMS if rng.random() < 0.3) or (rng.choice(_ITEMS),) for _ in range(count)]
    return decloak.Dataset((_ITEMS, *rows), tuple(str(number) for number in range(count + 1)))


def published(call: Call, folder: Path, data: decloak.Dataset, anonymise: str) -> dict[str, object]:
    """All that the release of a scenario can be handed out as; `folder` is the current one.

    Figures on a page compare with the originals, and may differ: numbers are left out of it, and where there are
    attacks everything but the names of items and labels.
    """
    for path in folder.iterdir():
        path.unlink()
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data.transactions))
    (folder / "tree.csv").write_text(_TREE)
    attacks = _ATTACKS["disassociation" if "disassociation" in anonymise else "others"]
    text = f"scenario: s\ndata: {{file: d.jsonl, format: jsonl}}\nanonymise: {{{anonymise}}}\n{attacks}"
    (folder / "s.yaml").write_text(text)
    assert call("run", "s.yaml").code == 0
    said: dict[str, object] = {}
    for file, *more in (["out.txt"], ["labels.jsonl", "--cut", "labels.csv"], ["out.jsonl"], ["out.db"],
                        ["tables.txt", "--text"]):  # fmt: skip
        said[f"publish {file}"] = call("publish", "last", file, *more)
    written = [path for path in folder.iterdir() if path.name.startswith(("out", "labels", "tables"))]
    said |= {path.name: path.read_bytes() for path in written}
    said |= {form: call("graph", "--format", form) for form in ("graphml", "gexf", "json")}
    assert call("report", "last", "-o", "page.html").code == 0
    said["page"] = _named((folder / "page.html").read_text())
    return said


def _named(page: str) -> list[str]:
    """The items, labels and other names on a page that are not words of the language."""
    return re.findall(r"[^\s<>]*\.\.[^\s<>]*|\bz1\b|\bz10\b|é", page)


def published_pairs(call: Call, folder: Path, rng: random.Random, anonymise: str) -> Iterator[tuple[object, object]]:
    """All that releases can be handed out as which show the same, of two originals that differ; one pair at most."""
    data = _records(rng, anonymise)
    method = TypeAdapter(AnyMethod).validate_json(json.dumps(yaml.safe_load(f"{{{anonymise}}}")))
    (folder / "tree.csv").write_text(_TREE)

    def made(data: decloak.Dataset) -> Any:
        return method.publish(data, Folder(folder), 0).release

    with suppress(decloak.DecloakError):
        release = made(data)
        for _ in range(20):
            second = another(rng, data, release)
            differ = sorted(second.transactions) != sorted(data.transactions)
            if differ and content(made(second), "sorted") == content(release, "sorted"):
                yield published(call, folder, data, anonymise), published(call, folder, second, anonymise)
                return
