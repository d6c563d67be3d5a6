"""The exact posterior of small clusters: brute force over every placement, and the attack that goes by it."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import decloak
import naive_exact as naive
from attacked_clusters import attack
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.data.generators.clinic import generate
from decloak.errors import DecloakError
from decloak.rules.load import Catalogue
from decloak.rules.reassociate import exact as kernel
from decloak.rules.reassociate.exact import exact_posterior
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.units import rows_of_cluster, units_of
from decloak.store.opening import connect_readonly
from decloak.store.results import notes_of
from disassociated_releases import releases, scores
from test_link_probability import tiny_clusters

EXACT, EXPECTATION = (Catalogue().rule(name).compiled for name in ("exact", "expectation"))


def case_of(cluster, k, m):
    """The only cluster of a release as it is attacked, None where it has nothing to give away."""
    release = Disassociated((cluster,), k=k, m=m)
    units = [units for _, units in units_of(release)]
    return ClusterCase(0, rows_of_cluster(cluster), units[0]) if units and units[0] else None


@settings(max_examples=150)
@given(tiny_clusters(), st.data())
def test_probabilities_are_those_of_all_placements(tiny, data):
    cluster, k, m, empty_rows = tiny
    assume(len(cluster.term_chunk) <= 2)
    case = case_of(cluster, k, m)
    assume(case is not None)
    cells = len(case.units) * len(case.rows.anchors)
    drawn = data.draw(st.lists(st.floats(-2, 2), min_size=cells, max_size=cells))
    values = np.array(drawn).reshape(len(case.units), -1)
    chances = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=k - 1, max_size=k - 1)))
    p = exact_posterior(case, cluster, values, chances, k=k, m=m, empty_rows=empty_rows)
    of_row = np.array(case.rows.of_row)
    theirs = naive.posterior(
        cluster, case.units, case.rows.anchors, values[:, of_row].tolist(), chances.tolist(), k, m, empty_rows
    )
    assert (p is None) == (theirs is None)
    if p is not None:
        assert p[:, of_row] == pytest.approx(np.array(theirs), abs=1e-9)


def test_what_shows_nothing_is_likelier_to_have_what_is_left():
    cluster = Cluster(4, (Chunk(("a",), (("a",),) * 3),), ("x", "y"))
    case = case_of(cluster, 2, 2)
    p = exact_posterior(case, cluster, np.zeros((2, 2)), np.ones(1), k=2, m=2, empty_rows=False)
    assert p[0, 1] == pytest.approx(4 / 7)  # of the 7 ways with something on the last row, 4 have x there


def test_many_terms_and_empty_rows_leave_no_noise():
    """Twelve rows to fill, which inclusion and exclusion would lose among sums of opposite signs."""
    cluster = Cluster(20, (Chunk(("a",), (("a",),) * 8),), tuple(f"t{number:02}" for number in range(13)))
    case = case_of(cluster, 2, 2)
    p = exact_posterior(case, cluster, np.zeros((13, 2)), np.ones(1), k=2, m=2, empty_rows=False)
    assert p @ [8, 12] == pytest.approx(np.ones(13))
    assert 12 * p[:, 1].sum() >= 12


def test_what_no_placement_obeys_has_no_posterior():
    cluster = Cluster(5, (Chunk(("a",), (("a",),) * 2),), ("t",))  # one term in one row cannot fill three
    case = case_of(cluster, 2, 2)
    assert exact_posterior(case, cluster, np.zeros((1, 2)), np.ones(1), k=2, m=2, empty_rows=False) is None
    filled = exact_posterior(case, cluster, np.zeros((1, 2)), np.ones(1), k=2, m=2, empty_rows=True)
    assert filled == pytest.approx(np.full((1, 2), 0.2))


@settings(max_examples=40)
@given(releases(most_records=6), scores())
def test_probabilities_of_the_attack_are_shares(made, known):
    release = made[0]
    for part in attack(release, known, EXACT, m=2):
        assert ((part.values >= 0) & (part.values <= 1 + 1e-6)).all()


@pytest.mark.slow
def test_clusters_too_large_to_go_through_go_by_the_expectation(monkeypatch):
    records = [tuple(row) for row in generate(400, 3).transactions]
    release = disassociate(records, k=3, m=2, max_cluster=25).release
    whole = {part.case.number: part for part in attack(release, {}, EXACT)}
    assert any(part.exactly for part in whole.values())
    monkeypatch.setattr(kernel, "TABLES", 0)
    without = {part.case.number: part for part in attack(release, {}, EXACT)}
    by_expectation = {part.case.number: part.values for part in attack(release, {}, EXPECTATION)}
    several = [number for number, part in without.items() if not part.exactly]
    assert several
    assert all(np.array_equal(without[number].values, by_expectation[number]) for number in several)
    # What has one record chunk has one table: there is nothing to walk over.
    alone = [number for number, part in without.items() if part.exactly]
    assert all(len(release.clusters[number].record_chunks) == 1 for number in alone)


def test_rows_of_joint_clusters_may_be_filled_by_shared_chunks():
    left = Cluster(4, (Chunk(("a",), (("a",),) * 3),), ("s",))
    right = Cluster(4, (Chunk(("b",), (("b",),) * 4),), ("t",))
    shared = Chunk(("u",), (("u",),) * 3)
    joined = Disassociated((left, right), (JointCluster((0, 1), (shared,)),), k=2, m=2)
    apart = Disassociated((left, right), k=2, m=2)
    (open_row,) = [part.values for part in attack(joined, {}, EXACT) if part.case.number == 0 and part.exactly]
    (forced,) = [part.values for part in attack(apart, {}, EXACT) if part.case.number == 0]
    assert open_row == pytest.approx(np.full((1, 2), 0.25))
    assert forced == pytest.approx(np.array([[0.0, 1.0]]))


@pytest.mark.parametrize("lacking", [{"consistent": False}, {"give": "k - 1"}, {"combine": "mean"}])
def test_choices_that_make_nothing_exact_are_refused(lacking):
    choices = {"combine": "fitted", "give": "expected", "match": "exact", "consistent": True} | lacking
    with pytest.raises(DecloakError):
        Reassociation.build(**choices)


def test_without_m_nobody_knows_what_could_have_been_published():
    release = Disassociated((Cluster(3, (Chunk(("a",), (("a",),) * 3),), ("t",)),), k=3)
    with pytest.raises(DecloakError, match="does not say its m"):
        list(attack(release, {}, EXACT))


@pytest.mark.slow
def test_a_run_says_how_many_clusters_were_gone_through(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: exact\ndata: {generate: clinic, transactions: 300, seed: 7}\n"
        "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 40}\n"
        "attack: [expectation, exact]\nmeasure: [accuracy, calibration]\n"
    )
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert run.ok
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        with_exact = [note for note in notes_of(connection, 1) if note.startswith("exact went through ")]
    assert len(with_exact) == 1
    assert "they go by expectation" in with_exact[0]
