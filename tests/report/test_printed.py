"""The output of the shipped scenarios: its width, its number of rows, and the words that it never has."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT
from decloak.cli import _code
from decloak.report.risk_tables import short_titles
from decloak.scenario.document import load
from decloak.scenario.variant import variants

QUICK = {
    "quickstart": "quickstart.yaml",
    "demo": "gallery/demo.yaml",
    "coat": "gallery/clinic-coat.yaml",
    "disassociated": "gallery/clinic-disassociated.yaml",
    "generalised": "gallery/clinic-generalised.yaml",
    "methods": "gallery/clinic-methods.yaml",
}
SLOW = ("coat", "disassociated", "generalised", "methods")
NEVER = re.compile(
    r"\b(safe|anonymous|compliant)\b|publish it|keep it|\bholds\b|Linkability: does not apply|\bstruck\b",
    re.IGNORECASE,
)
LABELS = ["RESULT", "Singling out", "Exposed", "Implied items", "Recovery", "Cost"]
MOST_WIDE, MOST_ROWS, MOST_NAME = 110, 8, 60
SHIPPED = sorted(path for path in (ROOT / "scenarios").rglob("*.yaml"))


class Printed(NamedTuple):
    """The output of a command, and the store that it wrote."""

    out: str
    err: str
    store: Path


@pytest.fixture(scope="module")
def printed_of(tmp_path_factory) -> Callable[[str], Printed]:
    """Return what a run of a shipped scenario prints on both streams; each runs once."""
    folder = tmp_path_factory.mktemp("printed")
    return cache(lambda name: printed_by("run", ROOT / "scenarios" / QUICK[name], store=folder / f"{name}.db"))


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in QUICK])
def printed(request, printed_of) -> Printed:
    """Return what a run of each of them prints."""
    return printed_of(request.param)


def printed_by(*arguments: object, store: Path) -> Printed:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert _code([*map(str, arguments), "--store", str(store)]) == 0
    return Printed(out.getvalue(), err.getvalue().replace(str(store), "store.db"), store)


def test_no_line_is_wider_than_110_columns(printed):
    assert [line for text in printed[:2] for line in text.splitlines() if len(line) > MOST_WIDE] == []


def test_no_word_reassures(printed):
    # Whoever finds that a release "identifies nobody" reads on; whoever reads "safe" stops.
    assert [line for text in printed[:2] for line in text.splitlines() if NEVER.search(line)] == []


def test_the_verdict_has_its_labels_in_order_and_the_worst_first(printed):
    labels = [line[:15].strip() for line in printed[0].split("\n\n")[0].splitlines() if line[:15].strip()]
    assert labels[0] == "RESULT"
    assert [label for label in labels if label in LABELS] == LABELS


def test_people_come_before_at_most_eight_rows_of_attacks(printed):
    out, err, _ = printed
    assert 0 < out.index("\nPeople exposed, of ") < out.index("normalised")
    tables = [part for part in out.split("\n\n") if "normalised" in part]
    rows = [line for table in tables for line in table.splitlines()[1:] if re.search(r"\d\.\d{3}", line)]
    assert 0 < len(rows) <= MOST_ROWS
    assert "_labels" not in out
    said = " ".join(err.split())
    assert "CONFIDENTIAL: store.db contains the original data. Share only files written by `decloak publish`." in said


def test_the_command_that_prints_all_figures_works(printed):
    named = re.search(r"`decloak (show) (\d+)` prints all figures", " ".join(printed.out.split()))
    assert (named is None) == ("attack rows" not in printed.out)
    said = printed_by(*(("show", "last") if named is None else named.groups()), store=printed.store)
    assert "AUC" in said.out or "itemsets exposed" in said.out
    assert [line for line in said.out.splitlines() if len(line) > MOST_WIDE or NEVER.search(line)] == []


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_variants_of_every_shipped_scenario_have_short_names_without_brackets(path):
    names = list(dict.fromkeys(one.name for one in variants(load(path), lambda scenario: "data")))
    titles = short_titles(names)
    assert [title for title in titles if len(title) > MOST_NAME or re.search(r"[{}\[\]]", title)] == []
    assert len(set(titles)) == len(names)


QUESTIONS = {
    "Does the release meet its guarantee?": r"RESULT +The release meets its guarantee \(k = 20\)",
    "How many people does it still expose?": r"still exposes 596 of 1,000 people",
    "Was this better in the original data?": r"\(637 in the original data\)",
    "How many people do 3 known items single out?": r"3 known items single out 788 of 1,000 people",
    "How many people does an attacker find who knows 1 random item?": r"With 1 random item: 141 of 1,000 people",
    "For how many people do 2 items reveal a third?": r"reveal a third item with certainty for 880 of 1,000 people",
    "Which attack recovers most, and how precisely?": r"tba eliminated 2,800 items .* precision of 92%",
    "What does random guessing reach?": r"Random guessing reaches 70%",
    "Would the attack work on other data of this kind?": r"Other data of this kind: the attack works",
    "By how many points is it better than random?": r"95% interval of the advantage \+18 to \+25 points",
    "What does the release cost?": r"Cost +The release hides 26% of the item occurrences",
    "Which attackers were not tested?": r"Not tested +Attackers who learn from the release, know a sample",
}
"""What a data protection officer asks, and the words of the first screen that answer it."""
SCREEN = 24


def test_twelve_questions_are_answered_on_the_first_screen(printed_of):
    said = printed_of("demo")
    screen = " ".join(" ".join(said.out.splitlines()[:SCREEN]).split())
    unanswered = [question for question, words in QUESTIONS.items() if not re.search(words, screen)]
    assert len(QUESTIONS) == 12
    assert unanswered == []


def test_the_readme_shows_the_result_of_the_demo(printed_of):
    result, _, _ = printed_of("demo").out.partition("\n\n")
    assert result in (ROOT / "README.md").read_text(encoding="utf-8"), "run `make examples`"


def test_a_brief_run_prints_the_result_alone(tmp_path):
    said = printed_by("run", ROOT / "scenarios" / "quickstart.yaml", "--brief", store=tmp_path / "s.db")
    assert said.out == "RESULT         WARNING: ids and row order re-identify 24 of 24 people.\n"


def test_long_names_stay_inside_110_columns(tmp_path):
    folder = tmp_path / "a-folder-with-a-long-name" / ("deep" * 30)
    folder.mkdir(parents=True)
    long = [f"{name}{'x' * 150}" for name in ("tea", "milk", "bread", "salt", "rice", "jam")]
    lines = "".join(f"{long[i % 6]}, {long[i * i % 5]}, {long[(i + 3) % 6]}\n" for i in range(60))
    for name in ("first", "second"):
        (folder / f"{name}{'-data' * 30}.txt").write_text(lines)
    (folder / "s.yaml").write_text(
        f"scenario: {'A very long title ' * 20}\n"
        "data: {format: basket}\n"
        f"vary: {{data.file: [first{'-data' * 30}.txt, second{'-data' * 30}.txt]}}\n"
        "anonymise: {method: coat, k: 3, privacy: {count: 3, sizes: [2]}}\n"
        "relate: {measure: ngd, source: release}\n"
        "attack: [ra, tba]\n"
        "expect: [hidden >= 0]\n"
    )
    store = folder / f"{'store' * 20}.db"
    ran = printed_by("run", folder / "s.yaml", store=store)
    shown = [printed_by("show", "last", store=store), printed_by("compare", "1", "2", store=store)]
    for said in (ran, *shown):
        assert [line for text in said[:2] for line in text.splitlines() if len(line) > MOST_WIDE] == []
    assert "RESULT" in ran.out


def test_the_worst_of_several_variants_is_named_after_its_finding(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: Two sizes\n"
        "data: {generate: clinic, transactions: 40, seed: 7}\n"
        "anonymise: {method: disassociation, m: 2}\n"
        "vary: {anonymise.k: [2, 3], attack: [[random], [aba]]}\n"
        "relate: {measure: ngd, source: clinic-counts}\n"
    )
    said = " ".join(printed_by("run", tmp_path / "s.yaml", store=tmp_path / "s.db").out.split())
    assert re.search(r"RESULT The release .*?\. Variant \S+, \S+ is the worst of 4\. Singling out", said)
