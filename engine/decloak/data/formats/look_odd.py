"""What is odd about transactions that were read, and may be a misreading or a fault of the data."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from decloak.data.dataset import Dataset
from decloak.errors import shown

__all__ = ["oddities"]

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[ T][\d:.]+)?|\d\d?[./]\d\d?[./]\d{2,4}(?: [\d:.]+)?")
_ID = re.compile(r"[A-Za-z]{0,4}[-_]?\d{7,}|\S+@\S+\.\w+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
EXAMPLES = 3


def oddities(dataset: Dataset) -> tuple[str, ...]:
    """What is odd, in a line each; nothing where all is as it should be."""
    return tuple(_oddities(dataset))


def _oddities(dataset: Dataset) -> Iterator[str]:
    sizes = Counter(map(len, dataset.transactions))
    records = len(dataset.transactions)
    if sizes[0]:
        yield f"{sizes[0]:,} of {records:,} records without items"
    if sizes[1] == records:
        yield "every record has one item"
    elif 2 * sizes[1] > records:
        yield f"{sizes[1]:,} of {records:,} records with one item"
    for what, pattern in (("dates", _DATE), ("ids", _ID)):
        like = [item for item in dataset.items if pattern.fullmatch(item)]
        if like:
            yield f"items that look like {what}: {_listed(like)}"
    alike = [names for names in _alike(dataset) if len(names) > 1]
    if alike:
        listed = "; ".join(" and ".join(map(shown, names[:EXAMPLES])) for names in alike[:EXAMPLES])
        yield f"names that differ in case or blanks only: {listed}{_more(alike)}"


def _alike(dataset: Dataset) -> Iterator[list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for item in dataset.items:
        groups["".join(item.split()).casefold()].append(item)
    yield from groups.values()


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:EXAMPLES])) + _more(names)


def _more(found: list[str] | list[list[str]]) -> str:
    return f" and {len(found) - EXAMPLES:,} more" if len(found) > EXAMPLES else ""
