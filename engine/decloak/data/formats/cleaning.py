"""Cleaning of original records: one name for each item, and no items that should not be there.

Steps, in this order: spellings that differ in case or blanks get one name, synonyms get the name of a file, dropped
items and rare items go. No record goes: a person without items is still a person.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import check_width, records
from decloak.data.formats.lines import FilePath, location, stream_lines
from decloak.data.representation import counted
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, quote

COLUMNS = ["item", "name"]


def folded(name: str) -> str:
    """Return what two spellings of `name` have in common: neither case nor blanks.

    >>> folded("Heart  Disease") == folded("heart disease")
    True
    """
    return "".join(name.split()).casefold()


def cleaned(
    data: Dataset,
    *,
    fold_case: bool = False,
    synonyms: Mapping[str, str] | None = None,
    drop: Collection[str] = (),
    min_support: int = 1,
) -> Dataset:
    """Return `data` with clean items, and a warning that counts what changed.

    - `fold_case`: spellings that differ in case or blanks become the most frequent one.
    - `synonyms`: another name for an item. With `fold_case` any spelling of the item matches, also in `drop`, and all
      spellings of the other name become that name.
    - `drop`: items to leave out.
    - `min_support`: items in fewer records are left out, counted after the other steps.
    """
    rows = data.rows
    supports = rows.supports()
    key = folded if fold_case else str
    other = {key(name): to for name, to in (synonyms or {}).items()}
    spelling: dict[str, str] = {}
    # A name of the file is a spelling too, so that no other one of it stays beside.
    for name in (*other.values(), *sorted(supports, key=lambda name: (-supports[name], name))):
        spelling.setdefault(key(name), name)
    drop_keys = {key(name) for name in drop}
    named = {name: spelling[key(other.get(key(name), name))] for name in supports}
    # A name to drop may be written as in the file, or as the synonyms call it.
    dropped = {name for name, to in named.items() if key(to) in drop_keys or key(name) in drop_keys}
    # Two spellings in one record become one item, which counts once.
    clean = [dict.fromkeys(named[name] for name in row if name not in dropped) for row in rows]
    left = Counter(name for row in clean for name in row)
    rare = {name for name, support in left.items() if support < min_support}
    kept = CodedRows.of([name for name in row if name not in rare] for row in clean)
    merged = len(supports) - len(dropped) - len(left)
    emptied = int((kept.lengths == 0).sum() - (rows.lengths == 0).sum())
    counts = {
        f"{counted(merged, 'name')} merged": merged,
        f"{counted(len(dropped), 'name')} dropped": len(dropped),
        f"{counted(len(rare), 'item')} in fewer than {min_support:,} records left out": len(rare),
        f"{counted(emptied, 'more record')} without items": emptied,
    }
    listed = ", ".join(text for text, count in counts.items() if count)
    warnings = (*data.warnings, *([f"cleaned: {listed}"] if listed else []))
    return replace(data, transactions=kept, warnings=warnings)


def read_synonyms(path: FilePath) -> dict[str, str]:
    """Read synonyms from the CSV file at `path`, with the columns item and name; return the name of each item."""
    names: dict[str, str] = {}
    for number, (line, row) in enumerate(records(stream_lines(path))):
        if number == 0:
            if row != COLUMNS:
                raise line.error("the first line is not item,name", "write it above the synonyms")
            continue
        check_width(line, row, len(COLUMNS))
        item, name = (cell.strip() for cell in row)
        if not item or not name:
            raise line.error("an empty name", "write an item, and the name that replaces it")
        if names.setdefault(item, name) != name:
            raise line.error(f"{quote(item)} has two names", "give every item one name")
    # Names are replaced once, so a chain of synonyms would stop halfway.
    twice = next((name for name in names.values() if names.get(name, name) != name), None)
    if twice is not None:
        message = f"{quote(twice)} is a name, and has another name itself"
        raise DecloakError(message, location(path), f"write {quote(names[twice])} for both")
    return names


def read_names(path: FilePath) -> list[str]:
    """Read items from the file at `path`, one a line."""
    return [line.text.strip() for line in stream_lines(path) if line.text.strip()]
