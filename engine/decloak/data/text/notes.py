"""Transactions from documents: a record has the nouns and noun phrases of one document.

Removal of the lines that every document repeats, by patterns of the user.

A regular expression may take extremely long, and Python cannot interrupt it. So another process does the matching,
which can be ended. It gets every line that is short enough for a header once, and a time limit.
"""

import json
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import FilePath, Line, ReadProgress, location
from decloak.data.formats.record import LineLabels, Names
from decloak.data.formats.unpacked import unpacked
from decloak.data.text.documents import RECORDS, TextOptions, Values, files_of, kind_of, text_lines, text_of, whole_text
from decloak.data.text.phrases import Tagger, english, outermost, phrases, sentences
from decloak.errors import DecloakError, quote, suggest

_SOUGHT = "expected a text file a document, or .csv, .tsv or .jsonl with one a record; hidden files are left out"


def read_text(
    path: FilePath,
    *,
    field: str | None = None,
    ids: str | None = None,
    headers: Sequence[str] = (),
    progress: ReadProgress | None = None,
    tagger: Tagger | None = None,
) -> Dataset:
    """Return the documents at `path` as records: the nouns and noun phrases of each, in order of appearance.

    A folder has one document per file, named by its path. A .csv, .tsv or .jsonl file has one per record, in the column
    or key `field`, named by the field `ids`, or numbered from 1. Lines that match one of the regular expressions
    `headers` are left out, and so are documents without a noun. `progress` is called during reading; `tagger` replaces
    the English one.
    """
    tag = tagger or english()
    documents = list(_documents(Path(path), field, ids))
    texts = without_headers([document.text for document in documents], headers)
    names, labels, transactions = Names(), LineLabels(), []
    for done, (document, text) in enumerate(zip(documents, texts, strict=True), 1):
        items = outermost(item for sentence in sentences(text) for item in phrases(tag(sentence)))
        if items:
            labels.add(document.line, document.label)
            transactions.append(tuple(map(names.__getitem__, items)))
        if progress is not None:
            progress(done, len(documents))
    if not documents:
        raise DecloakError("no document found", location(path), _SOUGHT)
    if not transactions:
        raise DecloakError(f"no nouns (documents: {len(documents):,})", location(path), "expected English text")
    return Dataset(tuple(transactions), labels.labels, location(path))


class _Document(NamedTuple):
    line: Line
    label: str
    text: str


def _documents(path: Path, field: str | None, ids: str | None) -> Iterator[_Document]:
    """Yield every document with its location and its name; records are numbered over all files."""
    numbers = count(1)
    for file in files_of(path):
        with unpacked(file) as stream:
            read = RECORDS.get(kind_of(file))
            if read is None:
                if field is not None or ids is not None:
                    raise DecloakError("plain text has no fields", location(file), "of a folder, name neither")
                label = file.relative_to(path).as_posix() if file != path else file.name
                yield _Document(Line(str(file), 1, ""), label, whole_text(stream, file))
            elif field is None:
                hint = "name it as field: NAME in a scenario, as --field NAME on the command line"
                raise DecloakError("nothing says which field holds the text", location(file), hint)
            else:
                for line, values in read(text_lines(stream, file), TextOptions(field)):
                    label = str(next(numbers)) if ids is None else _label(line, values, ids)
                    yield _Document(line, label, text_of(line, values, field))


def _label(line: Line, values: Values, ids: str) -> str:
    if ids not in values:
        hint = suggest(ids, values) or f"there are {len(values)} fields; name one of them"
        raise line.error(f"no field {quote(ids)}", hint)
    value = values[ids]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise line.error(f"the id of the document, in the field {quote(ids)}", "write a string or a whole number")
    return str(value)


LONGEST_HEADER = 500
"""Largest number of characters of a header. A longer line is never removed."""

LONGEST_PATTERN = 1_000
SECONDS = 10.0
PER_SECOND = 50_000
"""Least number of lines that are matched per second, in addition to the fixed SECONDS."""

_MATCH = """
import json, re, sys
patterns, lines = json.load(sys.stdin)
found = set()
for number, pattern in enumerate(patterns):
    print(number, file=sys.stderr, flush=True)
    search = re.compile(pattern).search
    found.update(at for at, line in enumerate(lines) if search(line))
json.dump(sorted(found), sys.stdout)
"""
"""The program of the process. It prints the number of the pattern before it tries it, for the error."""


def without_headers(texts: Sequence[str], patterns: Sequence[str], *, seconds: float = SECONDS) -> list[str]:
    """Return `texts` without the lines that match one of the regular expressions `patterns`, within `seconds`.

    >>> without_headers(["DISCHARGE REPORT 7\\nno pain"], [r"^DISCHARGE REPORT \\d+$"])
    ['no pain']
    """
    if not patterns:
        return list(texts)
    for pattern in patterns:
        check_pattern(pattern)
    headers = _headers(texts, patterns, seconds)
    return ["\n".join(line for line in text.splitlines() if line not in headers) for text in texts]


def _headers(texts: Sequence[str], patterns: Sequence[str], seconds: float) -> set[str]:
    import subprocess

    short = {line: None for text in texts for line in text.splitlines() if len(line) <= LONGEST_HEADER}
    lines = list(short)
    try:
        done = subprocess.run(
            # Isolated, so that neither the folder nor the environment of the user adds code.
            [sys.executable, "-I", "-S", "-Wignore", "-c", _MATCH],
            input=json.dumps([list(patterns), lines]),
            capture_output=True,
            text=True,
            timeout=seconds + len(lines) * len(patterns) / PER_SECOND,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        # After a timeout the output is bytes, in spite of `text=True`, or None.
        slow = quote(patterns[int((error.stderr or b"0").split()[-1])])
        message = f"too slow for {len(lines):,} lines: {slow}"
        raise DecloakError(message, hint="leave out repeats inside repeats, such as (a+)+") from None
    except (OSError, subprocess.CalledProcessError):
        raise DecloakError("the process that matches header patterns failed", hint="leave the patterns out") from None
    return {lines[number] for number in json.loads(done.stdout)}


def check_pattern(pattern: str) -> None:
    """Raise an error if `pattern` is not a regular expression."""
    if len(pattern) > LONGEST_PATTERN:
        raise DecloakError(f"a pattern of {len(pattern):,} characters", hint=f"at most {LONGEST_PATTERN:,}")
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "write . ( ) [ * + ? with a backslash where they stand for themselves"
        raise DecloakError(f"{quote(pattern)} is no regular expression: {quote(error)[1:-1]}", hint=hint) from None
