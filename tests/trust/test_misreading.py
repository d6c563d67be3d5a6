"""Whatever a file holds and however it is written: a look finds it right, or says what it is unsure of."""

import json
import random
from typing import NamedTuple

from decloak.data.formats.delimited import join
from decloak.data.formats.look import look
from decloak.data.formats.plain_files import FORMATS, read
from tries import drawn

ID_COLUMNS = ("id", "", "Kunde", "customer no", "nr", "tid", "patient", "customer_id")
ITEM_COLUMNS = ("items", "item", "products", "Artikel", "diagnoses", "codes", "baby product")
IDS = {
    "none": lambda rng, at: None,
    "counted": lambda rng, at: str(at + 1),
    "p01": lambda rng, at: f"p{at:03}",
    "hex": lambda rng, at: f"{rng.getrandbits(32):08x}",
    "names": lambda rng, at: f"{rng.choice(('anna', 'bob', 'carl', 'dora'))}{at}",
    "sparse": lambda rng, at: str(rng.randint(1, 10**6) * 1000 + at),
    "dates": lambda rng, at: f"2024-{1 + at // 28 % 12:02}-{1 + at % 28:02}-{at}",
}


class Sought(NamedTuple):
    """A file, and the records and ids that are in it."""

    lines: list[str]
    records: list[list[str]]
    ids: list[str]


def vocabulary(rng: random.Random) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    count = rng.choice((5, 10, 40, 400))
    words = ["".join(rng.choices(letters, k=rng.randint(3, 8))) for _ in range(count)]
    kinds = (
        words,
        [f"{word} {other}" for word, other in zip(words, reversed(words), strict=True)],
        [str(100 + at) for at in range(count)],
        [f"E{at // 10}.{at % 10}" for at in range(count)],
        [word.upper() for word in words],
    )
    return list(dict.fromkeys(rng.choice(kinds)))


def made(rng: random.Random) -> Sought:
    """Records of one vocabulary in one of the shapes that files of transactions have."""
    items, count, most = vocabulary(rng), rng.choice((2, 3, 5, 8, 15, 40, 200)), rng.choice((2, 3, 6, 12))
    records = [rng.sample(items, min(len(items), rng.randint(1, most))) for _ in range(count)]
    if rng.random() < 0.5:
        records = [sorted(record) for record in records]
    id_of = IDS[rng.choice(list(IDS))]
    ids = [id_of(rng, at) for at in range(count)]
    with_ids = None not in ids
    ids = ids if with_ids and len(set(ids)) == count else [str(at + 1) for at in range(count)]
    shape = rng.choice(("basket", "basket", "nested", "long", "onehot", "jsonl"))
    blank_free = not any(" " in item for item in items)
    separator = rng.choice((",", ";", "\t", "|", *(" " if blank_free and shape == "basket" else ())))
    title = separator.join([*([rng.choice(ID_COLUMNS)] if with_ids or shape != "basket" else []),
                            rng.choice(ITEM_COLUMNS)])  # fmt: skip
    head = [title] if rng.random() < 0.4 else []
    if shape == "basket":
        lines = [join([*([label] if with_ids else []), *record], separator)
                 for label, record in zip(ids, records, strict=True)]  # fmt: skip
        return Sought(head + lines, records, ids)
    if shape == "nested":
        inner = rng.choice([mark for mark in ("|", ";", ",", *(" " if blank_free else ())) if mark != separator])
        lines = [join([label, inner.join(record)], separator) for label, record in zip(ids, records, strict=True)]
        return Sought(head + lines, records, ids)
    if shape == "long":
        lines = [join([label, item], separator)
                 for label, record in zip(ids, records, strict=True) for item in record]  # fmt: skip
        return Sought(head + lines, records, ids)
    if shape == "onehot":
        columns = items[: rng.choice((3, 8, 20))]
        records = [[item for item in record if item in columns] for record in records]
        lines = [separator.join(([label] if with_ids else []) + ["01"[column in record] for column in columns])
                 for label, record in zip(ids, records, strict=True)]  # fmt: skip
        return Sought([separator.join((["id"] if with_ids else []) + columns), *lines], records, ids)
    rows = [{"id": label, "items": record} if with_ids else record for label, record in zip(ids, records, strict=True)]
    return Sought([json.dumps(row) for row in rows], records, ids)


def test_no_file_is_misread_silently(tmp_path, tries):
    path = tmp_path / "data"
    sure = files = 0
    for number in tries(400):
        rng = drawn("file", number)
        sought, files = made(rng), files + 1
        bom, ends = b"\xef\xbb\xbf" * (rng.random() < 0.3), rng.choice(("\n", "\r\n"))
        path.write_bytes(bom + "".join(line + ends for line in sought.lines).encode())
        seen = look(path)
        if not seen.is_certain or seen.format not in FORMATS:
            assert seen.unsure or seen.problem, (seen.reading, sought.lines[:5])
            continue
        data = read(path, seen.format, **seen.reading.options._asdict())
        was_read = [sorted(record) for record in data.transactions], list(data.labels)
        assert was_read == ([*map(sorted, sought.records)], sought.ids), (str(seen.reading), sought.lines[:5])
        sure += 1
    assert sure > files / 2  # to be unsure of everything would be no help
