"""Single figures of the decision table: of which attack, which number of known items, and how many people.

A figure that is not known stays unknown: it is never taken for 0.
"""

import math
from types import SimpleNamespace

import pytest

from decloak.measure.family import POOLED
from decloak.measure.kernels.statistics import Interval
from decloak.report import advantage, verdict_figures
from decloak.report.risk_card import RELEASE, Cell
from decloak.report.verdict import Advantage, People
from decloak.report.verdict_figures import Settings, _Reader, at_place
from decloak.store.results import PooledFigure


class Figures:
    """A study whose figures are given: key, or key and attack, → the value of each run."""

    def __init__(self, sizes=(1000,), **figures):
        self.given = {tuple(key.split("__")): values for key, values in figures.items()}
        self.sizes = dict(enumerate(sizes))
        self.attacks = list(dict.fromkeys(key[1] for key in self.given if len(key) > 1))
        self.figures = {
            run: {key: values[run] for key, values in self.given.items() if len(key) > 1} for run in self.sizes
        }
        self.variants = [("base", list(self.sizes))]

    def values(self, runs, key, attack=None):
        values = self.given.get((key,) if attack is None else (key, attack), ())
        return [value for run, value in enumerate(values) if run in runs]


def reader(study, attacks=(), leads=(), controls=()):
    return _Reader(None, study, attacks, leads, {}, set(controls))


@pytest.fixture(autouse=True)
def _wholes(monkeypatch):
    """Of how many people figures are: 1,000 that are looked up."""
    figures = {("exposed_2_release", "rba"): PooledFigure(1, 1, 1000), ("other", "rba"): PooledFigure(1, 1, 7)}
    monkeypatch.setattr(verdict_figures, "pooled_figures", lambda connection, run: figures if run < 3 else {})


@pytest.mark.parametrize(
    ("count", "records", "expected"),
    [(None, 9, None), (0, 9, 0), (3, 9, 0), (4, 9, 4), (3, 3, 3), (2, 3, 0), (5, 9, 5)],
)
def test_few_rows_at_their_places_are_chance(count, records, expected):
    assert at_place(count, records) == expected


def test_the_attack_that_most_people_are_of_is_taken_and_no_control():
    study = Figures(certain__aba=[5.0], certain__mra=[7.0], certain__random=[9.0], certain__none=[None])
    found = reader(study, controls=["random"])._by_attack([0], "certain")
    assert (found.count, found.attack) == (7, "mra")
    assert reader(study)._by_attack([0], "nothing") == People(None)


@pytest.mark.parametrize(
    ("release", "after", "sizes", "expected"),
    [
        ([10.0], [12.0], (1000,), People(12, 30, None, "rba", of=1000)),
        ([10.0], [10.0], (1000,), People(10, 30, None, "", of=1000)),
        ([10.0], [None], (1000,), People(10, 30, None, "", of=1000)),
        ([None], [8.0], (1000,), People(8, 30, None, "rba", of=1000)),
        ([None], [None], (1000,), People()),
        ([10.0], [12.0], (999,), People(12, 30, None, "rba", of=1000)),
    ],
)
def test_people_who_are_looked_up(release, after, sizes, expected):
    study = Figures(sizes, exposed_2_release=release, exposed_2_original=[30.0], exposed_2__rba=after)
    assert reader(study)._looked_up([0], "exposed_2") == expected


def test_of_a_sample_the_upper_bound_is_that_of_wilson():
    study = Figures((1001,), exposed_2_release=[10.0], exposed_2_original=[30.0], exposed_2__rba=[10.0])
    z2 = 1.959963985**2
    share = 0.01
    high = (share + z2 / 2000 + math.sqrt(z2 * (share * (1 - share) / 1000 + z2 / 4e6))) / (1 + z2 / 1000)
    assert reader(study)._looked_up([0], "exposed_2").high == pytest.approx(1000 * high, rel=1e-6)
    unknown = Figures((1,) * 4, exposed_2_release=[1.0] * 4, exposed_2__rba=[1.0] * 4)
    assert reader(unknown)._looked_up([3], "exposed_2") == People()  # nobody says of how many


def test_the_largest_inference_advantage_is_taken_with_its_bounds():
    study = Figures(
        inference_advantage_1=[0.1], inference_advantage_1_low=[0.0], inference_advantage_1_high=[0.2],
        inference_advantage_2=[0.3], inference_advantage_2_low=[0.2], inference_advantage_2_high=[0.4],
        inference_advantage_3=[None], inference_advantage_3_low=[0.9], inference_advantage_3_high=[0.9],
    )  # fmt: skip
    assert reader(study)._inference([0], "") == Advantage(0.3, 0.2, 0.4)
    below = Figures(inference_advantage_1=[-0.1], inference_advantage_2=[-0.3])
    assert reader(below)._inference([0], "").mean == -0.1
    assert reader(study)._inference([0], "_at_5") == Advantage()


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"coverage_pairs__rba": [0.3], "coverage_least__rba": [0.5]}, (0.3, 0.5)),
        ({"coverage_pairs__rba": [0.0], "coverage_occurrences__rba": [0.9]}, (0.0, 0.2)),
        ({"coverage_pairs__rba": [None], "coverage_occurrences__rba": [0.4]}, (0.4, 0.2)),
        ({}, (1.0, 0.2)),
        ({"coverage_pairs__rba": [0.3], "coverage_least__rba": [0.0]}, (0.3, 0.0)),
    ],
)
def test_coverage_is_that_of_pairs_or_else_of_occurrences(figures, expected):
    assert reader(Figures(**figures))._coverage([0], "rba") == expected


def test_an_attack_that_claims_nothing_is_kept_where_it_was_measured():
    study = Figures(p_random__rba=[None], precision__tba=[0.5])
    (found,) = reader(study, attacks=["rba", "tba"])._recoveries("base", [0])
    assert (found.attack, found.tried, found.right, found.expected, found.p) == ("rba", 0, 0, 0, ())


def card(cell, *, sampled):
    around = {"low": 1.0, "high": 9.0} if sampled else {}
    return SimpleNamespace(
        cells={"singled_out_2": cell}, sampled=sampled,
        around=lambda value: None if value is None else value._replace(**around),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sampled", "source", "expected"),
    [
        (False, RELEASE, People(5, 30, None, "")),
        (False, "rba", People(5, 30, None, "rba")),
        (False, None, People(5, 30, None, "")),
        (True, "rba", People(5, 30, 9.0, "rba")),
    ],
)
def test_the_worst_of_release_and_attacks_has_a_bound_where_people_are_a_sample(sampled, source, expected):
    mean = Interval(5.0, None, None, 1)
    cell = Cell(1000, 30.0, mean, mean, source=source)
    study = Figures(singled_out_2_original=[30.0], singled_out_2_release=[5.0])
    assert reader(study)._worst([0], "singled_out_2", card(cell, sampled=sampled)) == expected
    released = reader(study)._released([0], "singled_out_2", card(cell, sampled=sampled))
    assert released == People(5, 30, 9.0 if sampled else None)
    nothing = Cell(1000, 30.0, None, None, source=source)
    assert reader(study)._worst([0], "singled_out_2", card(nothing, sampled=sampled)) == People(None, 30)
    assert reader(study)._worst([0], "implied", card(cell, sampled=sampled)) == People()
    assert reader(study)._worst([0], "singled_out_2", None) == People(None, 30)
    assert reader(study)._released([0], "singled_out_2", None) == People(5, 30)


COUNTS = advantage.StrikeCounts


def claims(*counts):
    """Return pooled counts and those of single tables, from so many right of ten in each table."""
    tables = {number: COUNTS(10.0, float(right), 5.0) for number, right in enumerate(counts)}
    return tables | {POOLED: COUNTS(10.0 * len(counts), float(sum(counts)), 5.0 * len(counts))}


@pytest.mark.parametrize(
    ("attack", "spoilt", "control", "expected"),
    [
        ([9, 9, 9, 8], [4, 5, 4, 5], "labels", False),  # clearly ahead of a control that must fail
        ([9, 9, 9, 8], [9, 9, 9, 8], "labels", True),  # as good
        ([4, 5, 4, 5], [9, 9, 9, 8], "labels", True),
        ([9, 9, 9, 8], [4, 5, 4, 5], "order", True),  # worse, though nothing may change
        ([9, 9, 9, 8], [9, 9, 9, 8], "order", False),
        ([9, 9, 9, 8], [4, 5, 4, 5], "another", False),
    ],
)
def test_a_control_speaks_against_an_attack(attack, spoilt, control, expected):
    runs = [{"rba": claims(*attack), "blind": claims(*spoilt)}]
    assert advantage._survives(runs, "rba", "blind", control) is expected


def test_a_control_that_claims_nothing_says_nothing():
    nothing = {POOLED: COUNTS(0.0, 0.0, 0.0)}
    for runs in ([{"rba": claims(9, 9), "blind": nothing}], [{"rba": claims(9, 9)}]):
        assert advantage._survives(runs, "rba", "blind", "labels") is False
    assert advantage._share(None) is None
    assert advantage._share(COUNTS(4.0, 1.0, 2.0)) == 0.25


def test_a_table_without_claims_of_the_control_has_its_usual_share():
    control = {0: COUNTS(10.0, 8.0, 5.0), 1: COUNTS(0.0, 0.0, 0.0), POOLED: COUNTS(40.0, 10.0, 20.0)}
    beyond = advantage._beyond(claims(9, 9, 9), control)
    assert [beyond[table].expected for table in (0, 1, 2)] == [8, 2.5, 2.5]
    assert beyond[POOLED] == COUNTS(30.0, 27.0, 7.5)


def settings(*, differing, repetitions):
    lead = SimpleNamespace(repetitions=repetitions, level=0.95)
    names = list(Settings.__dataclass_fields__)
    return Settings(**dict.fromkeys(names) | {"leads": {"rba": lead}, "differing": differing})


def test_repetitions_are_asked_for_where_they_differ_and_two_are_there(monkeypatch):
    monkeypatch.setattr(verdict_figures, "repetitions_needed", lambda repetitions, level, above, below: (above, below))
    assert settings(differing=True, repetitions=(1, 2)).repetitions_needed("rba") == (0.0, 0.02)
    assert settings(differing=True, repetitions=(1,)).repetitions_needed("rba") is None
    assert settings(differing=False, repetitions=(1, 2)).repetitions_needed("rba") is None
    assert settings(differing=True, repetitions=(1, 2)).repetitions_needed("tba") is None


def test_repetitions_that_do_not_differ_are_one_release():
    def lead(*repetitions):
        return advantage.AttackAdvantage("base", "rba", repetitions, Interval(None, None, None, 0), True, 0.95)

    assert lead(1, 2).repeated
    assert not lead(1, 1).repeated
    assert not lead(1).repeated
    assert (lead(1, 2).about, lead(1).about) == ("repetitions", "parts")
