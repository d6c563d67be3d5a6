"""Single figures of the decision table: of which attack, which number of known items, and how many people.

A figure that is not known stays unknown: it is never taken for 0.
"""

import math
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import ClassVar

import pytest

from decloak.data.forms import FormName
from decloak.measure.family import POOLED
from decloak.measure.kernels.statistics import Interval
from decloak.report import verdict_figures
from decloak.report.compare import attacks
from decloak.report.risk_card import RELEASE, Cell
from decloak.report.study import Study
from decloak.report.verdict import Advantage, People
from decloak.report.verdict_figures import VariantSettings, _Reader, at_place, levels_not_tried
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
        self.runs = [SimpleNamespace(run=run, config={}) for run in self.sizes]
        self.controls = frozenset()
        # Of how many people figures are: 1,000 that are looked up.
        figures = {("exposed_2_release", "rba"): PooledFigure(1, 1, 1000), ("other", "rba"): PooledFigure(1, 1, 7)}
        self.pooled = {run: figures if run < 3 else {} for run in self.sizes}

    def values(self, runs, key, attack=None):
        values = self.given.get((key,) if attack is None else (key, attack), ())
        return [value for run, value in enumerate(values) if run in runs]

    knows: ClassVar = {}
    mean, whole = Study.mean, Study.whole
    real_attacks, negative_controls = Study.real_attacks, Study.negative_controls


def reader(study, attacks=(), leads=(), cards=None, connection=None):
    return _Reader(connection, study, attacks, leads, cards or {})


@pytest.mark.parametrize(
    ("count", "records", "expected"),
    [(None, 9, None), (0, 9, 0), (3, 9, 0), (4, 9, 4), (3, 3, 3), (2, 3, 0), (5, 9, 5)],
)
def test_few_rows_at_their_places_are_chance(count, records, expected):
    assert at_place(count, records) == expected


def test_the_attack_that_most_people_are_of_is_taken_and_no_control():
    study = Figures(certain__aba=[5.0], certain__mra=[7.0], certain__random=[9.0], certain__none=[None])
    study.controls = frozenset(["random"])
    found = reader(study)._by_attack([0], "certain")
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
    assert reader(study)._people_in_draw([0], "exposed_2") == expected


def test_of_a_sample_the_upper_bound_is_that_of_wilson():
    study = Figures((1001,), exposed_2_release=[10.0], exposed_2_original=[30.0], exposed_2__rba=[10.0])
    z2 = 1.959963985**2
    share = 0.01
    high = (share + z2 / 2000 + math.sqrt(z2 * (share * (1 - share) / 1000 + z2 / 4e6))) / (1 + z2 / 1000)
    assert reader(study)._people_in_draw([0], "exposed_2").high == pytest.approx(1000 * high, rel=1e-6)
    unknown = Figures((1,) * 4, exposed_2_release=[1.0] * 4, exposed_2__rba=[1.0] * 4)
    assert reader(unknown)._people_in_draw([3], "exposed_2") == People()  # nobody says of how many


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


def test_an_attack_that_one_of_two_runs_measured_is_kept():
    study = Figures((9, 9), p_random__rba=[None, None])
    del study.figures[0]["p_random", "rba"]
    assert [found.attack for found in reader(study, attacks=["rba"])._recoveries("base", [0, 1])] == ["rba"]


def test_people_of_several_runs_are_counted_of_the_most_who_were_looked_up():
    given = {"exposed_2_release": [10.0, 10.0], "exposed_2_original": [30.0, 30.0], "exposed_2__rba": [10.0, 10.0]}
    for sizes, sampled in (((500, 1000), False), ((900, 1000), False), ((500, 1001), True), ((1001, 500), True)):
        study = Figures(sizes, **given)
        study.pooled = {run: {("exposed_2_release", ""): PooledFigure(1, 1, of)} for run, of in enumerate((500, 1000))}
        found = reader(study)._people_in_draw([0, 1], "exposed_2")
        assert (found.of, found.high is not None) == (1000, sampled)


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


COUNTS = attacks.ClaimCounts


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
    assert attacks._survives(runs, "rba", "blind", control) is expected


def test_a_control_that_claims_nothing_says_nothing():
    nothing = {POOLED: COUNTS(0.0, 0.0, 0.0)}
    for runs in ([{"rba": claims(9, 9), "blind": nothing}], [{"rba": claims(9, 9)}]):
        assert attacks._survives(runs, "rba", "blind", "labels") is False
    assert attacks._precision(None) is None
    assert attacks._precision(COUNTS(4.0, 1.0, 2.0)) == 0.25


def test_a_table_without_claims_of_the_control_has_its_usual_share():
    control = {0: COUNTS(10.0, 8.0, 5.0), 1: COUNTS(0.0, 0.0, 0.0), POOLED: COUNTS(40.0, 10.0, 20.0)}
    beyond = attacks._beyond(claims(9, 9, 9), control)
    assert [beyond[table].expected for table in (0, 1, 2)] == [8, 2.5, 2.5]
    assert beyond[POOLED] == COUNTS(30.0, 27.0, 7.5)


def settings(*, differing, repetitions):
    lead = SimpleNamespace(repetitions=repetitions, level=0.95)
    names = list(VariantSettings.__dataclass_fields__)
    return VariantSettings(**dict.fromkeys(names) | {"leads": {"rba": lead}, "differing": differing})


def test_criteria_are_judged_by_random_attacks_too_and_not_by_negative_controls(stored):
    """As a run judges them: otherwise a run and its page would contradict each other."""
    stored(FormName.SET_GENERALISED)
    study = Figures(sizes=(9,) * 6)
    study.controls = frozenset(["random", "rba-control"])
    study.knows = {(5, "random"): "nothing", (5, "rba-control"): "control"}
    study.pooled[5] = {
        ("exposed_3", "random"): PooledFigure(1, 1, 100),
        ("exposed_3", "rba-control"): PooledFigure(9, 9, 100),
    }
    study.runs[5].config = {"accept": ["exposed_3 <= 5%"]}
    (criterion,) = reader(study)._settings("base", [5]).accepted.criteria
    assert criterion.holds is True


def test_repetitions_are_asked_for_where_they_differ_and_two_are_there(monkeypatch):
    monkeypatch.setattr(verdict_figures, "repetitions_needed", lambda repetitions, level, above, below: (above, below))
    assert settings(differing=True, repetitions=(1, 2)).repetitions_needed("rba") == (0.0, 0.02)
    assert settings(differing=True, repetitions=(1,)).repetitions_needed("rba") is None
    assert settings(differing=False, repetitions=(1, 2)).repetitions_needed("rba") is None
    assert settings(differing=True, repetitions=(1, 2)).repetitions_needed("tba") is None


def test_repetitions_that_do_not_differ_are_one_release():
    def lead(*repetitions):
        return attacks.AttackAdvantage("base", "rba", repetitions, Interval(None, None, None, 0), True, 0.95)

    assert lead(1, 2).repeated
    assert not lead(1, 1).repeated
    assert not lead(1).repeated


def two_releases(parameters="{}"):
    """Return a database with what the store says of two releases."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table release (id, method, parameters)")
    rows = [(1, "cut", parameters), (2, "sets", '{"k": 9, "m": 9}')]
    connection.executemany("insert into release values (?, ?, ?)", rows)
    return connection


def figures_of(name, *given, **named):
    with closing(two_releases()) as connection:
        return reader(*given, connection=connection, **named)._figures(name, [5])


@pytest.fixture
def stored(monkeypatch):
    """Make what the store says of the newest run: the form of its release, and whether the originals are known."""

    def make(form, *, originals=True):
        newest = {5: 1}
        monkeypatch.setattr(verdict_figures, "release_of", lambda connection, run: newest[run])
        monkeypatch.setattr(verdict_figures, "attacks_of", lambda connection, run: [])
        monkeypatch.setattr(verdict_figures, "form_of", lambda connection, release: SimpleNamespace(name=form))
        monkeypatch.setattr(verdict_figures, "knows_originals", lambda connection, release: originals)

    return make


def test_people_are_asked_about_up_to_three_known_items_of_the_newest_run(stored):
    stored(FormName.SET_GENERALISED)
    given = {f"{key}_{q}_release": [0.0] * 5 + [float(q)] for key in ("singled_out",) for q in (1, 2, 3, 4)}
    study = Figures(sizes=(9,) * 6, reidentified_by_id=[0.0] * 5 + [7.0], **given)
    found = figures_of("base", study, attacks=["rba", "tba"])
    assert {q: people.count for q, people in found.singled_out.items()} == {1: 1, 2: 2, 3: 3}
    assert set(found.after_attack) == set(found.exposed) == {1, 2, 3}
    assert (found.people, found.identifiers.count, found.comparisons) == (0, 7, 2)


@pytest.mark.parametrize(("variants", "attacks", "comparisons"), [(1, 0, 1), (1, 1, 1), (3, 2, 6), (2, 0, 1)])
def test_every_attack_in_every_variant_is_a_comparison(stored, variants, attacks, comparisons):
    stored(FormName.SET_GENERALISED)
    study = Figures(sizes=(9,) * 6)
    study.variants = [(str(number), [5]) for number in range(variants)]
    assert figures_of("0", study, attacks=["rba", "tba"][:attacks]).comparisons == comparisons


def test_order_and_covers_are_asked_of_the_form_that_has_them(stored):
    study = Figures(
        sizes=(9,) * 6,
        revealed_by_members=[6.0] * 6,
        reidentified_by_order=[4.0] * 6,
        vulnerable_records__cover=[3.0] * 6,
    )
    cards = {"base": SimpleNamespace(people=9, records=4, cells={}, sampled=False)}
    for form, members, covered in (
        (FormName.DISASSOCIATED, People(applies=False), People(3, attack="cover")),
        (FormName.SET_GENERALISED, People(6), People(applies=False)),
    ):
        stored(form)
        found = figures_of("base", study, attacks=["cover"], cards=cards)
        assert (found.people, found.row_order.count) == (9, 4)
        assert (found.member_order, found.covered) == (members, covered)


@pytest.mark.parametrize(
    ("originals", "attacks", "count", "expected"),
    [
        (True, ["aba"], None, People(applies=False)),
        (True, [], None, People()),  # nobody attacked, so nobody knows
        (False, ["aba"], None, People()),
        (False, [], None, People()),
        (True, ["aba"], 0.0, People(0.0, attack="aba")),
        (True, ["aba"], 2.0, People(2.0, attack="aba")),
        (False, ["aba"], 2.0, People(2.0, attack="aba")),
    ],
)
def test_certain_links_are_asked_of_attacks_that_give_probabilities(stored, originals, attacks, count, expected):
    stored(FormName.DISASSOCIATED, originals=originals)
    study = Figures(sizes=(9,) * 6, certain_links_people__aba=[count] * 6)
    assert reader(study, attacks=attacks)._certain_link_people([5]) == expected


def test_the_settings_of_a_variant_are_those_of_its_newest_run(stored):
    stored(FormName.DISASSOCIATED)
    study = Figures(
        sizes=(9,) * 6, count_error=[0.5] * 6, eliminated__rba=[None] * 6, findings__rba=[3.0] * 6,
        assigned__aba=[4.0] * 6, findings__aba=[1.0] * 6, eliminated__tba=[0.0] * 6,
    )  # fmt: skip
    study.knows = {(5, "rba"): "language + person", (5, "aba"): "nothing", (4, "aba"): "sample"}
    leads = [
        SimpleNamespace(variant="base", attack="rba", random=False),
        SimpleNamespace(variant="other", attack="aba", random=True),
    ]
    attacks = ["rba", "aba", "tba"]
    study.runs[5].config = {"accept": ["count_error <= 0.4"]}
    found = reader(study, attacks=attacks, leads=leads)._settings("base", [1, 5])
    assert (found.run, found.repetitions, found.several, found.differing) == (5, 2, False, False)
    assert found.claims == {"rba": 3, "aba": 4, "tba": 0}
    assert (found.attacks, list(found.leads), found.count_error) == (3, ["rba"], 0.5)
    assert found.knowledge_levels == {"language", "person", "nothing"}
    assert found.levels_elsewhere == {"sample"}
    assert (found.accepted.name, found.accepted.missed) == ("as given", ["error"])  # it was not measured
    leads.append(SimpleNamespace(variant="base", attack="tba", random=True))
    assert reader(study, attacks=attacks, leads=leads)._settings("base", [1, 5]).differing, "one of two does"
    study.variants = [("base", [1, 5]), ("other", [1, 5])]
    second = reader(study, attacks=attacks, leads=leads)._settings("other", [1, 5])
    assert (second.several, second.differing, list(second.leads)) == (True, True, ["aba"])


def itemset_attack(name="km_violation", form="itemsets", **settings):
    return SimpleNamespace(label="rare", form=form, text=name, settings=settings)


@pytest.mark.parametrize(
    ("violations", "holds"),
    [([0.0], True), ([1.0], False), ([0.0, 1.0], False), ([0.0, None], True), ([0.0, 0.0], True)],
)
@pytest.mark.parametrize("parameters", ['{"k": 3, "m": 2}', '{"k": 3, "m": "all"}', "[]"])
def test_the_guarantee_of_a_method_holds_where_nothing_violates_it(stored, monkeypatch, violations, holds, parameters):
    stored(FormName.GENERALISED)
    study = Figures(sizes=(9,) * 6, guarantee_violations=[0.0] * (6 - len(violations)) + violations)
    runs = list(range(6 - len(violations), 6))
    (found,) = guarantees_of(monkeypatch, study, runs, [], parameters)
    assert found.met is holds


def guarantees_of(monkeypatch, study, runs, attacks, parameters="{}"):
    """Return the guarantees of runs whose release is the first of two."""
    monkeypatch.setattr(verdict_figures, "attacks_of", lambda connection, run: attacks)
    monkeypatch.setattr(verdict_figures, "parse_rule", lambda text: SimpleNamespace(name=text))
    with closing(two_releases(parameters)) as connection:
        return list(reader(study, connection=connection)._guarantees(runs))


def test_a_rule_that_finds_no_rare_set_checks_a_guarantee_of_its_own(stored, monkeypatch):
    stored(FormName.GENERALISED)
    checked = itemset_attack(k=5, m=1)
    for count, holds in ((0.0, True), (1.0, False)):
        (found,) = guarantees_of(monkeypatch, Figures(sizes=(9,) * 6, findings__rare=[count] * 6), [5], [checked])
        assert found.met is holds
        assert found.words == "every set of up to 1 item in 0 or at least 5 records, rare"
    (found,) = guarantees_of(
        monkeypatch, Figures(sizes=(9,) * 6, findings__rare=[0.0] * 6), [5], [itemset_attack(k=5, m=2)]
    )
    assert "up to 2 items in" in found.words
    for other, count in (
        (itemset_attack("another", k=5, m=1), 0.0),
        (itemset_attack(form="query", k=5, m=1), 0.0),
        (checked, None),
    ):
        study = Figures(sizes=(9,) * 6, findings__rare=[count] * 6)
        assert guarantees_of(monkeypatch, study, [5], [other]) == []


def test_a_guarantee_is_stated_by_the_settings_of_its_method():
    stated = verdict_figures._stated
    assert stated("cut", {"k": 1000, "m": 2, "seed": 3}) == "cut: k = 1,000, m = 2"
    assert stated("unknown", {"k": 3}) == "k = 3"
    assert stated("cut", {}) == "cut"
    assert stated("coat", {"k": 3, "privacy": 1}) == "coat: k = 3, 1 protected set"
    assert stated("coat", {"k": 3, "privacy": 2}) == "coat: k = 3, 2 protected sets"
    assert stated("coat", {"k": "3", "privacy": []}) == "coat"


def test_the_knowledge_levels_that_no_attack_has_are_listed():
    assert levels_not_tried(frozenset({"nothing", "language", "sample"})) == ["release", "person"]


def test_a_recovery_is_read_with_its_interval_and_controls():
    study = Figures(p_random__rba=[0.25], coverage_pairs__rba=[0.75])
    counts = COUNTS(10.0, 8.0, 5.0)
    lead = SimpleNamespace(
        variant="base", attack="rba", pooled=counts, interval=Interval(0.3, 0.1, 0.5, 1), survived=("labels",)
    )
    (found,) = reader(study, attacks=["rba"], leads=[lead])._recoveries("base", [0])
    assert (found.tried, found.right, found.expected, found.p) == (10, 8, 5, (0.25,))
    assert (found.advantage, found.controls) == (Advantage(0.3, 0.1, 0.5), ("labels",))
    assert (found.coverage, found.least) == (0.75, 0.2)
    assert list(reader(Figures(), attacks=["rba"], leads=[lead])._recoveries("other", [0])) == []
