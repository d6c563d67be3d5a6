"""What a corpus counts, as it is defined: go through every document and look."""

import re
import unicodedata
from collections.abc import Sequence

from decloak.data.document_counter import Query


def words(text: str) -> list[str]:
    """Runs of letters and digits, whatever their case and accents."""
    plain = "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))
    return re.findall(r"[^\W_]+", plain.lower())


def holds(document: str, query: Query) -> bool:
    """Whether the words of a query stand in the document in a row, or anywhere in it."""
    have, want = words(document), words(query.text)
    if query.words:
        return set(want) <= set(have)
    return any(have[at : at + len(want)] == want for at in range(len(have)))


def count(documents: Sequence[str], *queries: Query) -> int | None:
    """In how many documents all the queries are found; None when one of them has no word."""
    if not all(words(query.text) for query in queries):
        return None
    return sum(all(holds(document, query) for query in queries) for document in documents)
