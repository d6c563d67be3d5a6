"""Faults that were put into the engine on purpose: each makes the tests that guard against it fail.

`tests/support/mutation.py` changes every token of one module. Here are the faults that no single token shows.
"""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

FAULTS = {
    "a rule does not depend on the rules that it reads": (
        "pipeline/plan.py", "[digests[name] for name in needs],", "[],",
        "tests/test_fingerprints.py::test_a_rule_is_redone_when_a_rule_that_it_reads_changes",
    ),
    "a rule does not depend on the distances": (
        "pipeline/plan.py", "rule.digest, scoring, knowing", "rule.digest, None, knowing",
        "tests/pipeline/test_run.py::test_a_change_redoes_only_what_depends_on_it",
    ),
    "an undefined figure is 0": (
        "scenario/expect_terms.py", "return number if number is not None and math.isfinite(number) else None",
        "return number or 0.0",
        "tests/scenario/test_expect.py",
    ),
    "a comparison with an undefined figure is false": (
        "scenario/expect_terms.py", "return None if None in sides else", "return False if None in sides else",
        "tests/scenario/test_expect.py",
    ),
    "a figure that some repetitions lack is known": (
        "scenario/expect.py", "if counts.get(key) == times}", "if counts.get(key)}",
        "tests/scenario/test_expect.py",
    ),
    "an expectation that no variant can judge passes": (
        "pipeline/run.py", 'Verdict("", None, f"{text} cannot', 'Verdict("", True, f"{text} cannot',
        "tests/scenario/test_expect.py",
    ),
    "an expectation that no variant can judge is left out": (
        "pipeline/run.py", "text not in of_some", "text in ()",
        "tests/scenario/test_expect.py",
    ),
    "an expectation that cannot be judged is good enough": (
        "pipeline/run.py", "verdict.holds is True", "verdict.holds is not False",
        "tests/scenario/test_expect.py",
    ),
}  # fmt: skip
"""By name: the module, what stands there, the fault, and the tests."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_changes_one_place_of_the_engine(name):
    module, old, _, tests = FAULTS[name]
    assert (ROOT / "engine" / "decloak" / module).read_text(encoding="utf-8").count(old) == 1
    assert (ROOT / tests.partition("::")[0]).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_makes_a_test_fail(name, tmp_path):
    module, old, new, tests = FAULTS[name]
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "engine" / "decloak" / module
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace(old, new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider", *tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "engine")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout[-2000:]
