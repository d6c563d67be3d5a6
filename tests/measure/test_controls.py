"""Controls run beside what learns, and what they do not clear is no win."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
from attacked_clusters import attack
from decloak.attacker.cell_features import Occurrences, cell_features
from decloak.attacker.selftrained import _drop_shared_words, _reorder, _restore_order
from decloak.measure.kernels.advantage import ClaimCounts
from decloak.pipeline.validate import plans
from decloak.report.compare.attacks import _survives
from decloak.report.verdict_lines import account_of
from decloak.rules.load import Catalogue
from decloak.rules.reassociate import fitted
from decloak.rules.reassociate.fitted import NegativeControl
from decloak.rules.reassociate.scores import ClusterBatch, coded_scores
from decloak.scenario.document import load
from decloak.store.opening import connect_readonly
from decloak.store.results import attacks_of
from disassociated_releases import releases, scores
from test_expectation import short_records

EXPECTATION = Catalogue().rule("expectation").compiled
CLINIC = """\
scenario: controls
data: {generate: clinic, transactions: 300, seed: 7}
anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}
relate: {measure: ngd, source: clinic-counts}
attacker: {context: all}
"""


def planned(tmp_path, attacks):
    (tmp_path / "s.yaml").write_text(f"{CLINIC}attack: {attacks}\n")
    (plan,) = plans(load(tmp_path / "s.yaml"))
    return {each.label: each.settings.control for each in plan.attacks}


def test_every_attack_that_learns_has_its_controls_behind_it(tmp_path):
    labels = planned(tmp_path, "[rba, selftrained, {rule: selftrained_sure, as: sure}]")
    beside = {f"{name}_{control}": control for name in ("selftrained", "sure")
              for control in ("labels", "contexts", "words", "order")}  # fmt: skip
    assert labels == {"rba": None, "selftrained": None, "sure": None, **beside}


def test_controls_that_somebody_names_do_not_run_twice(tmp_path):
    labels = planned(tmp_path, "[selftrained, {rule: selftrained, control: labels, as: selftrained_labels}]")
    assert sorted(map(str, labels.values())) == ["None", "contexts", "labels", "order", "words"]
    assert planned(tmp_path, "[{rule: selftrained, control: words, as: w}]") == {"w": "words"}


def test_a_control_is_of_a_rule_that_learns(tmp_path, call):
    (tmp_path / "s.yaml").write_text(f"{CLINIC}attack: [{{rule: rba, control: labels}}]\n")
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert said.code == 2
    assert "the rule rba has no control 'labels'; delete it" in said.err


def test_controls_are_expected_of_by_name_and_named_in_tables(tmp_path, call):
    expect = 'expect: ["f1(selftrained_labels) < f1(selftrained)", "f1(selftrained_order) > f1(selftrained_contexts)"]'
    few = CLINIC.replace("count: 20", "count: 10")
    (tmp_path / "s.yaml").write_text(f"{few}attack: [selftrained]\n{expect}\n")
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert said.code == 0
    shown = call("show", "last", "--controls", "--store", tmp_path / "s.db").out
    usual = call("show", "last", "--store", tmp_path / "s.db").out
    for control in ("labels", "contexts", "words", "order"):
        assert re.search(rf"^selftrained_{control} +control ", shown, re.MULTILINE)
        assert f"selftrained_{control}" not in said.out + usual
    assert "1 comparison)" in " ".join(said.out.split())
    connection = connect_readonly(tmp_path / "s.db")
    learned, *controls = attacks_of(connection, 1)
    assert [control.is_control_of(learned) for control in controls] == [True] * 4
    assert not learned.is_control_of(learned)
    connection.close()


MANY = {scope: ClaimCounts(50, 45, 30) for scope in range(30)}


def pooled(claims):
    return claims | {-1: ClaimCounts(*map(sum, zip(*claims.values(), strict=True)))}


@pytest.mark.parametrize(
    ("attacked", "control", "kind", "survives"),
    [
        (MANY, {scope: ClaimCounts(50, 30, 30) for scope in MANY}, "contexts", False),
        (MANY, {scope: ClaimCounts(50, 38 + 12 * (scope % 2), 30) for scope in MANY}, "labels", True),
        (MANY, {scope: ClaimCounts(50, 45, 30) for scope in MANY}, "labels", True),
        (MANY, {scope: ClaimCounts(0, 0, 0) for scope in MANY}, "labels", False),
        (MANY, MANY, "order", False),
        (MANY, {scope: ClaimCounts(50, 30, 30) for scope in MANY}, "order", True),
        (MANY, {scope: ClaimCounts(50, 30, 30) for scope in MANY}, "words", False),
        ({0: ClaimCounts(5, 5, 3)}, {0: ClaimCounts(5, 2, 3)}, "contexts", True),  # one table cannot tell
    ],
)
def test_an_attack_has_to_be_ahead_of_what_has_nothing_to_go_by_and_not_of_another_order(
    attacked, control, kind, survives
):
    claims = [{"a": pooled(attacked), "a_c": pooled(control)}]
    assert _survives(claims, "a", "a_c", kind) is survives


def test_repetitions_are_compared_in_pairs():
    ahead = [{"a": {-1: ClaimCounts(100, 90 + n, 60)}, "c": {-1: ClaimCounts(100, 60 + n % 2, 60)}} for n in range(5)]
    behind = [{"a": {-1: ClaimCounts(100, 60 + n, 60)}, "c": {-1: ClaimCounts(100, 60 + n % 2, 60)}} for n in range(5)]
    assert not _survives(ahead, "a", "c", "contexts")
    assert _survives(behind, "a", "c", "contexts")
    equal = [{"a": pooled(MANY), "c": pooled({scope: ClaimCounts(50, 30, 30) for scope in MANY})}] * 3
    assert not _survives(equal, "a", "c", "contexts")


@pytest.mark.slow
def test_what_its_controls_do_not_clear_is_not_printed_as_a_win(tmp_path, monkeypatch):
    (tmp_path / "s.yaml").write_text(f"{CLINIC}attack: [tba, selftrained]\n")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    said = " ".join(account_of(done.store, [1]).verdict.text.split())
    assert "negative control" not in said
    monkeypatch.setattr("decloak.report.compare.attacks._survives", lambda *given: given[3] == "contexts")
    said = " ".join(account_of(done.store, [1]).verdict.text.split())
    assert "Other data of this kind: the attack works" not in said or "This release: tba" in said


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 99))
def test_what_is_dealt_out_anew_is_put_back(columns, rows, seed):
    table = Occurrences(tuple(f"m{n}" for n in range(columns)), tuple((f"c{n}",) for n in range(rows)))
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows), rng.permutation(columns)
    dealt = _reorder(table, order)
    shown = [[int(context[0][1:]) * 10 + int(member[1:]) for member in dealt.members] for context in dealt.contexts]
    back = _restore_order(np.array(shown), *order)
    assert back.tolist() == [[10 * row + column for column in range(columns)] for row in range(rows)]


def test_without_spelling_nothing_shares_a_word():
    table = Occurrences(("knee pain", "flu"), (("knee cap",), ("fever",)))
    scored = {("knee cap", "knee pain"): 0.1, ("knee cap", "flu"): 0.9, ("fever", "flu"): 0.2}
    assert _drop_shared_words(scored) == {
        ("knee cap", "knee pain"): None,
        ("knee cap", "flu"): 0.9,
        ("fever", "flu"): 0.2,
    }
    assert cell_features([table], [scored])[:, 10].tolist() == [1, 0, 0, 0]
    assert not cell_features([table], [scored], spelling=False)[:, 10].any()


@settings(max_examples=40)
@given(releases(most_records=6), scores(), st.integers(0, 9))
def test_another_order_of_rows_changes_who_gets_what_among_equals_only(made, known, seed):
    release = made[0]
    mine = {part.case.number: part for part in attack(release, known, EXPECTATION, k=2)}
    other = {part.case.number: part for part in attack(release, known, EXPECTATION, k=2, seed=seed, control="order")}
    assert mine.keys() == other.keys()
    for number, part in mine.items():
        assert other[number].case == part.case
        assert other[number].values == pytest.approx(part.values, nan_ok=True)
        for p, rows, dealt in zip(part.values, part.rows, other[number].rows, strict=True):
            of_row = np.array(part.case.rows.of_row)
            assert sorted(p[of_row[list(dealt)]]) == pytest.approx(sorted(p[of_row[list(rows)]]), abs=1e-6)


@settings(max_examples=40)
@given(releases(most_records=6), scores(), st.integers(0, 9))
def test_spoilt_contexts_are_those_of_other_rows_of_the_cluster(made, known, seed):
    release = made[0]
    cases = [part.case for part in attack(release, known, EXPECTATION, k=2)]
    cases = [case for case in cases if case.units]
    width = max((len(case.rows.anchors) for case in cases), default=1)
    values = np.arange(float(sum(len(case.units) for case in cases) * width)).reshape(-1, width)
    spoilt = NegativeControl("contexts", seed).values(ClusterBatch(cases), values)
    first = 0
    for case in cases:
        units, anchors = slice(first, first + len(case.units)), len(case.rows.anchors)
        places = [values[units][0].tolist().index(value) for value in spoilt[units][0, :anchors]]
        assert sorted(places) == list(range(anchors))
        assert (spoilt[units, :anchors] == values[units][:, places]).all()  # alike for all units
        assert (spoilt[units, anchors:] == values[units, anchors:]).all()
        first = units.stop


def test_spoilt_labels_teach_nothing():
    from decloak.anonymisers.kernels.disassociation import disassociate
    from decloak.relate.clusters import item_vectors

    made = disassociate(short_records(1500, 2), k=3, m=2, max_cluster=25)
    vectors = item_vectors(
        [one.items for one in made.release.clusters], [one.size for one in made.release.clusters], 20
    )
    near = {(a, b): 1 - float(vectors[a] @ vectors[b]) for a in vectors for b in vectors if a < b}
    coded = coded_scores(near, "smaller", sorted(vectors), 1.0)
    chunks = list(fitted._by_width(made.release, coded.code))
    pairs = fitted._pairs(chunks, len(vectors))
    learned, spoilt = (
        fitted._weights(chunks, pairs, [coded], NegativeControl(control)) for control in (None, "labels")
    )
    assert np.abs(spoilt).max() < np.abs(learned).max() / 4


@pytest.mark.slow
def test_a_lead_that_its_controls_have_too_is_told_as_such(tmp_path, monkeypatch):
    (tmp_path / "s.yaml").write_text(f"{CLINIC}attack: [selftrained]\n")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    monkeypatch.setattr("decloak.report.compare.attacks._survives", lambda *given: given[3] == "labels")
    said = " ".join(account_of(done.store, [1]).verdict.text.split())
    assert "selftrained is not shown to do better than its negative control (selftrained_labels)." in said
    assert "Other data of this kind: inconclusive" in said
