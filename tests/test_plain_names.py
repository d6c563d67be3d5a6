"""Names and docstrings of the engine in plain words: the shares that are reached must not get worse.

The words themselves are in docs/reference/vocabulary.md.
"""

import doctest
from pathlib import Path

import pytest

import plain_names
from conftest import ROOT
from plain_names import Documented, definitions, named_parameters, relative_docstrings, stated_results, vague_names

ENGINE = ROOT / "engine" / "decloak"
PLAIN = ("data", "yaml", "counting", "anonymisers", "scenario", "attack", "relate", "rules")
"""Folders whose docstrings follow the standard throughout; ruff checks their first words (pyproject.toml)."""
MOST_VAGUE, MOST_RELATIVE, LEAST_NAMED, LEAST_STATED = 120, 190, 70, 68
"""Limits of the whole engine: what is reached, to be tightened with every improvement."""
PLAIN_NAMED, PLAIN_STATED = 95, 90


def found_in(*folders: str) -> list[Documented]:
    """Return all definitions in some folders of the engine."""
    return list(definitions(sorted({path for folder in folders for path in (ENGINE / folder).rglob("*.py")})))


@pytest.fixture(scope="module")
def engine() -> list[Documented]:
    return found_in("")


@pytest.fixture(scope="module")
def plain() -> list[Documented]:
    return found_in(*PLAIN)


def test_the_examples_of_the_measure_hold():
    assert doctest.testmod(plain_names).failed == 0


def test_names_say_something_about_the_field(engine, plain):
    assert len(vague_names(engine)) <= MOST_VAGUE, vague_names(engine)
    assert vague_names(plain) == []


def test_docstrings_are_no_relative_clauses(engine, plain):
    assert len(relative_docstrings(engine)) <= MOST_RELATIVE
    assert relative_docstrings(plain) == []


def test_public_docstrings_name_parameters_and_results(engine, plain):
    assert named_parameters(engine).percent >= LEAST_NAMED
    assert stated_results(engine).percent >= LEAST_STATED
    assert named_parameters(plain).percent >= PLAIN_NAMED
    assert stated_results(plain).percent >= PLAIN_STATED


def test_the_measure_finds_what_it_is_for(tmp_path: Path):
    module = tmp_path / "held.py"
    module.write_text('def carried(out: int) -> int:\n    """What comes of it."""\n    return out\n')
    found = list(definitions([module]))
    assert [name.rpartition(" ")[2] for name in vague_names(found)] == ["carried"]
    assert len(relative_docstrings(found)) == 1
    assert named_parameters(found) == (0, 1)
    assert stated_results(found) == (0, 1)
