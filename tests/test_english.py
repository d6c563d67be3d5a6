"""Every text for a reader follows the writing standard: short sentences, the noun first, one word for each concept."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import decloak
from decloak.cli import COMMANDS, cli
from english import faults, measured, printed, prose, sentences

ROOT = Path(__file__).parents[1]
PAGES = [path for path in ROOT.rglob("*.md") if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]
LIMITS = {"outputs": (16, 12, 1, 25)}
"""The limits of a source: mean words of a sentence; constructions and passives per 100 sentences."""
USUAL = (17, 15, 2, 25)
SQL = re.compile(r"\b(?:select|insert into|create (?:table|view|temp)|update|delete from|from \w+ join|where)\b", re.I)


def readme() -> Iterator[str]:
    yield from sentences(prose((ROOT / "README.md").read_text("utf-8")))


def docs() -> Iterator[str]:
    for page in PAGES:
        if page != ROOT / "README.md":
            yield from sentences(prose(page.read_text("utf-8")))


def outputs() -> Iterator[str]:
    """Yield the printed texts in the pages: no tables, no commands, no YAML."""
    for page in PAGES:
        for block in re.findall(r"(?ms)^```(?:console|text)\n(.*?)^```$", page.read_text("utf-8")):
            if "\n$ decloak " in f"\n{block}":
                yield from printed(block)


def commands() -> Iterator[click.Command]:
    yield cli
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield command
        yield from command.commands.values() if isinstance(command, click.Group) else ()


def helps() -> Iterator[str]:
    for command in commands():
        yield from sentences(prose(re.sub(r"\x08.*?(?:\n\n|\Z)", "", command.help or "", flags=re.S)))
        for option in command.params:
            yield from sentences(re.sub(r"\[[^\]]*\]", "", getattr(option, "help", None) or ""))
    for line in COMMANDS.values():
        yield from sentences(line)


@cache
def messages() -> list[str]:
    """Return the string literals of the engine that a reader may see: five words or more, no docstring, no SQL."""
    return list(_messages())


def _messages() -> Iterator[str]:
    for module in (ROOT / "engine").rglob("*.py"):
        tree = ast.parse(module.read_text("utf-8"))
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = _literal(node) if isinstance(node, ast.JoinedStr) or id(node) not in inner else None
            if text and len(text.split()) >= 5 and not SQL.search(text) and not re.search(r"[\\<>{}=]{2}", text):
                yield from sentences(prose(text))


def _literal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    return None


def rules() -> Iterator[str]:
    """Yield the descriptions and explanations of rules, and the titles of scenarios."""
    for folder in ("rules", "scenarios"):
        for file in (ROOT / folder).rglob("*.yaml"):
            for text in re.findall(r"(?m)^(?:about|because|scenario): [\"']?(.+?)[\"']?$", file.read_text("utf-8")):
                yield from sentences(re.sub(r"\{[^}]*\}", "X", text))


def public_api() -> Iterator[str]:
    for name in decloak.__all__:
        yield from sentences(
            prose(re.sub(r">>>.*?(?:\n\n|\Z)", "", inspect.getdoc(getattr(decloak, name)) or "", flags=re.S))
        )


SOURCES = {one.__name__: one for one in (readme, docs, outputs, helps, messages, rules, public_api)}


@pytest.mark.parametrize("source", SOURCES)
def test_a_text_is_plain_english(source):
    found = list(SOURCES[source]())
    assert len(found) >= 10
    figures = measured(found)
    worst = "\n".join(sorted(found, key=lambda one: -len(faults(one)))[:12])
    words, core, house, passive = LIMITS.get(source, USUAL)
    assert figures.words <= words, worst
    assert figures.openings == 0, [one for one in found if any("opens" in name for name in faults(one))]
    assert figures.core <= core, worst
    assert figures.house <= house, [one for one in found if faults(one, [__import__("english").HOUSE])][:20]
    assert figures.passive <= passive


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("What your file is, the command tells.", "opens with a question word"),
        ("Of a person with many items the rarest are known.", "opens with its object"),
        ("It counts the people of whom two items are known.", "relative without a noun"),
        ("Much of what was hidden comes back.", "stands, lies, goes by, comes back"),
        ("The release tells of 24 people.", "tells of, told apart"),
        ("Nobody in particular is looked for.", "archaic or chatty"),
        ("No figure is not measured here.", "two negations"),
        ("One fact: another; and a third one.", "three clauses in one"),
    ],
)
def test_a_hard_construction_is_found(sentence, fault):
    assert fault in faults(sentence)


def test_a_plain_sentence_has_no_fault():
    assert faults("An attacker who knows two items finds the record of 22 people.") == []
    assert measured(["Which method exposes the fewest patients?", "Add the item to the list."]).openings == 0


REASSURING = re.compile(
    r"(?<![\w-])(?:safe|anonymous|compliant)\b|\bpublish it\b|\bkeep it\b|(?<!what )\bit holds\b"
    r"|Linkability: does not apply",
    re.I,
)


def test_no_text_of_the_program_reassures_wrongly():
    template = (ROOT / "engine" / "decloak" / "report" / "templates" / "page.html").read_text("utf-8")
    shown = re.sub(r"\| *safe_svg", "", template)
    texts = [*shown.splitlines(), *helps(), *(one for one in messages() if not one.startswith("This result"))]
    assert [line for line in texts if REASSURING.search(line)] == []
