"""The script that compares two checkouts by their figures: equal ones are, and what differs is said."""

import shutil
import sys
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.fixture
def same_figures(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import same_figures

    monkeypatch.setattr(same_figures, "SHOWN", 100)  # means come first, and there are more of them than are shown

    def run(new: Path, *scenarios: Path) -> int:
        pythons = ["--old-python", sys.executable, "--new-python", sys.executable]
        return same_figures.main([str(one) for one in (ROOT, new, *scenarios, "--jobs", 1, *pythons)])

    return run


def test_how_far_a_run_is_and_seconds_are_no_difference(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import same_figures

    out, err = tmp_path / "out", tmp_path / "err"
    out.write_text("")
    err.write_text(
        "2 of 16 done: k=3: rba right 90%\n[3/16] k=4: rba\nafter about 40 s: attack\n"
        "note: 1 of 2\npassed: cpu_seconds(a) < 2 * cpu_seconds(b)\n"
    )
    assert same_figures.said(out, err) == {("stderr",): "note: 1 of 2"}


@pytest.mark.slow
def test_a_checkout_that_measures_something_else_is_told_from_an_equal_one(same_figures, example, tmp_path, capsys):
    scenario, other = example / "scenario.yaml", tmp_path / "other"
    for folder in ("engine", "rules"):
        shutil.copytree(ROOT / folder, other / folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert same_figures(other, scenario) == 0
    said = capsys.readouterr().out
    assert "\n1 scenario, " in said
    assert said.endswith(" figures, 0 differ\n")
    rule = other / "rules" / "set_generalised" / "mda.yaml"
    rule.write_text(rule.read_text().replace("weigh: d", "weigh: -d"))
    assert same_figures(other, scenario) == 1
    said = capsys.readouterr().out
    assert "figure, base, 1, mda, -1, correct: (1.0, 1.0, 1.0) before, (0.0, 0.0, 1.0) now\n" in said
    assert "rba" not in said
