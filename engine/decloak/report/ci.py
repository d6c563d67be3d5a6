"""Write expectations for build servers: JUnit XML, SARIF 2.1.0, annotations, and Markdown for the summary of a step.

An expectation without a figure is an error, never a pass.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from decloak.errors import MARKS, escape_control
from decloak.report.table import markdown_text
from decloak.version import __version__

# XML 1.0 has no escape for these characters, except the carriage return.
_NOT_XML = "[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_SEPARATORS = ":,"
SIGNS = {True: "✓", False: "✗", None: "?"}


class Expected(NamedTuple):
    """An expectation: its name, its result (None if its figure is missing), the reason, and its place.

    `failed` means that the command stopped with an error, before any expectation.
    """

    name: str
    holds: bool | None
    said: str
    file: str
    line: int = 1
    column: int = 1
    failed: bool = False


def junit(suite: str, judged: Sequence[Expected]) -> str:
    """Return the expectations as JUnit XML, a test case for each; an undefined one is an error of its case."""
    from xml.etree import ElementTree

    # Build servers count errors apart from failures: a missing figure is not one that is too large.
    root = ElementTree.Element(
        "testsuite", name=_text(suite), tests=str(len(judged)),
        failures=str(sum(entry.holds is False for entry in judged)),
        errors=str(sum(entry.holds is None for entry in judged)),
    )  # fmt: skip
    for entry in judged:
        case = ElementTree.SubElement(
            root,
            "testcase",
            name=_text(entry.name),
            classname=_text(suite),
            file=_text(entry.file),
            line=str(entry.line),
        )
        if entry.holds is not True:
            kind = "failure" if entry.holds is False else "error"
            ElementTree.SubElement(case, kind, message=_text(entry.said))
    ElementTree.indent(root)
    # Marks that change the direction of text could make a failure look like a pass.
    text = MARKS.sub(lambda match: f"&#x{ord(match[0]):x};", ElementTree.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def sarif(judged: Iterable[Expected]) -> str:
    """Return a result for every failed or missing expectation, at its line in the scenario."""
    rules = [
        {"id": "does-not-hold", "shortDescription": {"text": "An expectation or a guarantee does not hold."}},
        {"id": "undefined", "shortDescription": {"text": "An expectation cannot be judged: a figure is undefined."}},
        {"id": "failed", "shortDescription": {"text": "The command failed, so nothing was judged."}},
    ]
    driver = {"name": "decloak", "version": __version__, "rules": rules}
    results = [_result(entry) for entry in judged if entry.holds is not True]
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=1) + "\n"


def _result(entry: Expected) -> dict[str, object]:
    region = {"startLine": entry.line, "startColumn": entry.column}
    return {
        "ruleId": "failed" if entry.failed else "does-not-hold" if entry.holds is False else "undefined",
        "level": "error",
        "message": {"text": f"{entry.name}: {entry.said}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": entry.file}, "region": region}}],
    }


def annotation(entry: Expected) -> str:
    """Return the line by which GitHub and Forgejo show `entry` at its place in the file.

    >>> print(annotation(Expected("50%", False, "a\\nb", "s,1.yaml", 7)))
    ::error file=s%2C1.yaml,line=7,col=1,title=50%25::a%0Ab
    """
    properties = {"file": entry.file, "line": entry.line, "col": entry.column, "title": entry.name}
    named = ",".join(f"{key}={_escaped(value, _SEPARATORS)}" for key, value in properties.items())
    return f"::error {named}::{_escaped(entry.said)}"


def _escaped(value: object, further: str = "") -> str:
    """Return `value` as text of an annotation. The characters that its syntax uses are escaped, with `further` ones."""
    text = escape_control(value, keep="\r\n")
    return "".join(f"%{ord(char):02X}" if char in f"%\r\n{further}" else char for char in text)


def markdown(title: str, sentences: Sequence[str], judged: Sequence[Expected]) -> str:
    """Return a heading, the sentences of the verdict, and a line for each expectation."""
    lines = [f"### {_plain(title)}", *(f"\n{_plain(sentence)}" for sentence in sentences)]
    lines += ["", *(f"- {SIGNS[entry.holds]} {_plain(entry.said)}" for entry in judged)] if judged else []
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Return `text` with a mark in place of each character that XML cannot hold."""
    return re.sub(_NOT_XML, "\ufffd", text)


def _plain(text: str) -> str:
    return markdown_text(_text(text))
