"""The decision table: a case at every bound, and a case that fails for every changed token."""

import inspect

import pytest

from decision_cases import DEFAULTS, DETAILS, OUTCOMES, failures
from decloak.report import decision
from mutants import loaded, mutants


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcome(name):
    figures, expected = OUTCOMES[name]
    assert decision.decide(figures(decision)).outcome == expected


@pytest.mark.parametrize("name", DETAILS)
def test_what_an_outcome_rests_on(name):
    figures, part, expected = DETAILS[name]
    assert part(decision.decide(figures(decision))) == expected


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_the_case_by_default(name):
    part, expected = DEFAULTS[name]
    assert part(decision) == expected


def test_every_outcome_has_a_case():
    assert {expected for _, expected in OUTCOMES.values()} == set(decision.Outcome)
    assert len(OUTCOMES) >= 30


def test_a_case_fails_for_every_changed_token():
    alive = []
    for line, change, tree in mutants(inspect.getsource(decision)):
        try:
            module = loaded(tree)
        except Exception:  # a copy that cannot be loaded is found at once
            continue
        if not any(True for _ in failures(module)):
            alive.append(f"line {line}: {change}")
    assert not alive, "\n".join(alive)
