"""Whatever bytes a file has: it is read as one thing, the same twice, or refused in one line with its place."""

import random
from pathlib import Path

import pytest

import decloak
from decloak.data.published import Published, read_published
from decloak.errors import DecloakError
from decloak.rules.load import parse_rule
from decloak.scenario.document import load
from studies import LINES, STUDIES, written
from tries import drawn

SEEDS = {
    "basket": ("\n".join(LINES), {"format": "basket"}),
    "long": ("tid,item\n" + "\n".join(f"{at},{item}" for at, line in enumerate(LINES) for item in line.split(", ")),
             {"format": "long"}),
    "onehot": ("id,a,b,c\n1,0,1,1\n2,1,0,0\n3,1,1,1\n", {"format": "onehot"}),
    "jsonl": ("\n".join(f'["{at}", "x\\u00e9"]' for at in range(9)), {"format": "jsonl"}),
    "spmf": ("@CONVERTED_FROM_TEXT\n@ITEM=1=a\n@ITEM=2=b b\n1 2\n2\n", {"format": "spmf"}),
}  # fmt: skip
MARKS = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b'""', b",", b"\t", b";", b"\r", b"\n\n", b"\\", b"(", b")", b"{", b"]"),
    *(b"\xe2\x80\xa8", b"\xed\xa0\x80", b"1e999", b"-0", b"&a *a", b"!!python/object", b"? :", b"%TAG", b"~"),
)


def spoilt(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few cut out, doubled, changed, or with marks put between them."""
    for _ in range(rng.choice((1, 2, 5))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 3, 40))
        piece = {0: b"", 1: data[at : at + size] * 2, 2: rng.choice(MARKS), 3: rng.randbytes(size)}[rng.randrange(4)]
        data = data[:at] + piece + data[at + size * rng.randrange(2) :]
    return data


def outcome(read, *arguments, **options) -> object:
    """What reading comes to: a value, or the one line that refuses it."""
    try:
        return read(*arguments, **options)
    except DecloakError as error:
        said = str(error)
    assert said
    assert said.isprintable() or "\n" in said
    return said


@pytest.mark.parametrize("form", SEEDS)
def test_a_data_file_is_read_the_same_twice_or_refused(tmp_path, tries, form):
    text, options = SEEDS[form]
    for number in tries(200):
        path = tmp_path / f"f.{form}"
        path.write_bytes(spoilt(text.encode(), drawn(form, number)))
        first = outcome(decloak.read, path, **options)
        assert outcome(decloak.read, path, **options) == first
        if isinstance(first, decloak.Dataset):
            assert all(len(set(row)) == len(row) for row in first.transactions)
            assert len(set(first.labels)) == len(first.labels) == len(first.transactions)


def releases(folder: Path) -> list[bytes]:
    data = decloak.read(folder / "baskets.txt", format="basket")
    tree = decloak.Hierarchy.balanced(data.items, fanout=3)
    made = (
        decloak.anonymise(data, "cut", k=3, m=2, hierarchy=tree),
        decloak.anonymise(data, "disassociation", k=2, m=2, max_cluster=10),
    )
    for number, release in enumerate(made):
        release.write(folder / f"{number}.jsonl")
    return [(folder / f"{number}.jsonl").read_bytes() for number in range(len(made))]


def test_a_release_file_is_read_the_same_twice_or_refused(tmp_path, tries):
    written(tmp_path, "cut")
    seeds = releases(tmp_path)
    for number in tries(200):
        rng = drawn("release", number)
        path = tmp_path / "r.jsonl"
        path.write_bytes(spoilt(rng.choice(seeds), rng))
        first = outcome(decloak.read_release, path)
        assert outcome(decloak.read_release, path) == first


@pytest.mark.parametrize("form", STUDIES)
def test_a_scenario_is_understood_or_refused_at_its_places(tmp_path, tries, form):
    path = written(tmp_path, form)
    seed = path.read_bytes()
    for number in tries(60):
        path.write_bytes(spoilt(seed, drawn(form, number)))
        first = outcome(load, path)
        if isinstance(first, str):
            assert all(line.startswith((str(path), "and ")) for line in first.splitlines()), first


def test_a_rule_is_understood_or_refused(tries):
    rules = sorted((Path(__file__).parents[2] / "rules").glob("*/*.yaml"))
    seeds = [path.read_bytes() for path in rules if not path.name.endswith(".test.yaml")]
    for number in tries(60):
        rng = drawn("rule", number)
        text = spoilt(rng.choice(seeds), rng).decode("utf-8", "replace")
        outcome(parse_rule, text)


def test_names_of_any_kind_come_back_from_release_files(tmp_path, tries):
    letters = (*range(33, 127), 0xE9, 0x4E2D, 0x1F600, 0x202E)
    for number in tries(60):
        rng = drawn("names", number)
        names = sorted({"".join(chr(rng.choice(letters)) for _ in range(rng.randint(1, 9))) for _ in range(12)})
        rows = [tuple(names), *(tuple(rng.sample(names, rng.randint(1, 5))) for _ in range(20))]
        data = decloak.Dataset(tuple(rows), tuple(str(at) for at in range(len(rows))))
        release = decloak.anonymise(data, "sets", sets=[names[:3], names[3:5]])
        for name, read in (("r.jsonl", decloak.read_release), ("r.txt", read_published)):
            path = tmp_path / name
            refused = outcome(release.write, path)
            if refused is None:  # names that a file cannot carry are refused, never changed
                back = read(path)
                assert as_sets(getattr(back, "published", back)) == as_sets(release)
                path.unlink()


def as_sets(release: Published) -> list[frozenset[object]]:
    return [
        frozenset(element if isinstance(element, str) else frozenset(element) for element in row)
        for row in release.transactions
    ]
