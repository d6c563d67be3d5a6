"""Links an attack is nearly certain of: the counting, and what a run tells of it."""

import re
import shutil
from contextlib import closing
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
import naive_exposure as naive
from decloak.measure.calibration import brier, links_of, miscalibration, reliability_bins
from decloak.measure.family import AttackResult
from decloak.releases.registry import form_of
from decloak.report.pictures import reliability_panels
from decloak.report.study import Study
from decloak.rules.reassociate.units import rows_of_cluster
from decloak.store.assigned import probabilities, probable_gifts, read_assigned
from decloak.store.eliminations import read_eliminations
from decloak.store.opening import connect_readonly
from decloak.store.results import chosen_runs, sureness_of


def held_release(connection, number):
    return form_of(connection, number).load(connection, number)


SETS = """\
scenario: How many members is it sure of?
data: {generate: clinic, transactions: 500, seed: 7}
anonymise: {method: coat, k: 10, privacy: {count: 20, sizes: [3]}}
relate: {measure: ngd, source: clinic-counts}
attacker: {context: all}
attack: [rba, selftrained]
measure: [recovery, calibration]
expect: ["certain_links(selftrained) > 50%", "brier(selftrained) < brier_baseline(selftrained)"]
"""
CHUNKS = """\
scenario: How many links is it sure of?
data: {generate: clinic, transactions: 500, seed: 7}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15, refine: true}
attack: [random, expectation]
measure: [accuracy, calibration]
"""


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_the_brier_score_of_chance_is_that_of_saying_the_share_of_all(drawn):
    p, right = zip(*drawn, strict=True)
    score, of_chance = brier(p, right)
    share = sum(right) / len(right)
    assert score == pytest.approx(sum((a - b) ** 2 for a, b in drawn) / len(drawn))
    assert of_chance == pytest.approx(sum((share - b) ** 2 for b in right) / len(drawn))


def test_without_findings_there_is_no_score():
    assert brier([], []) == (None, None)


@pytest.mark.slow
def test_eliminations_are_right_where_the_member_was_added(tmp_path):
    (tmp_path / "s.yaml").write_text(SETS)
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert run.ok
    connection = connect_readonly(tmp_path / "s.db")
    attacks = dict(connection.execute("select r.name, a.id from attack a join rule r on r.id = a.rule").fetchall())
    assert probabilities(connection, attacks["rba"]) is not None
    assert probabilities(connection, attacks["selftrained"]) is not None
    p = probabilities(connection, attacks["selftrained"])
    done = read_eliminations(connection, attacks["selftrained"])
    tables = {table.id: table for table in held_release(connection, 1).true_tables(1)}
    cells = zip(done.tables.tolist(), done.rows.tolist(), done.cols.tolist(), p.tolist(), strict=True)
    certain_and_right = [
        (tables[table].places[row], tables[table].members[column])
        for table, row, column, chance in cells
        if chance >= 0.8 and not tables[table].original[row, column]
    ]
    figures = dict(
        connection.execute(
            "select f.name, f.part from measurement m join measure f on f.measurement = m.id "
            "where m.attack = ? and m.family in ( 'recovery', 'exposure') and f.scope < 0",
            (attacks["selftrained"],),
        ).fetchall()
    )
    assert len(p) == figures["eliminated"]
    assert 0 < figures["certain_links"] == len(certain_and_right)
    assert figures["certain_links_people"] == len({row for row, _ in certain_and_right})
    connection.close()


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """A run of two repetitions."""
    folder = tmp_path_factory.mktemp("repeated")
    (folder / "s.yaml").write_text(CHUNKS + "repeat: {times: 2, seed: 1}\n")
    return decloak.run(folder / "s.yaml", store=folder / "s.db")


def test_links_of_shared_chunks_count_as_well(repeated):
    assert repeated.ok
    connection = connect_readonly(repeated.store)
    (attack,) = connection.execute(
        "select a.id from attack a join rule r on r.id = a.rule where r.name = 'expectation'"
    ).fetchone()
    gifts = probable_gifts(connection, attack)
    assert any(str(gift.assignment.chunk).startswith("S") for gift in gifts)
    held = held_release(connection, 1)
    p, right, row = links_of(AttackResult(connection, attack, None, held, None), 0.31)
    expected, first = [], np.cumsum([0, *(cluster.size for cluster in held.published.clusters)])
    ties = read_assigned(connection, attack).ties
    for (cluster, chunk, unit, (number,)), chance in gifts:
        places, _ = naive.parts_of(held.published, cluster)

        def has(row, of_row=held.rows.of_row[cluster], places=places, chunk=chunk, unit=frozenset(unit)):
            hidden = {item for item in held.rows.records[of_row[row]] if places.get(item) == chunk}
            return unit <= hidden if chunk == "T" else unit == hidden

        # Nobody can distinguish the rows of one anchor, nor those that share a place: the link is right for a share.
        anchors = rows_of_cluster(held.published.clusters[cluster]).of_row
        alike = [row for row, anchor in enumerate(anchors) if anchor == anchors[number]]
        tied = ties.get((cluster, chunk, unit), ())
        if chance >= 0.31:
            share = fmean(map(has, tied if number in tied else alike))
            expected.append((pytest.approx(chance), pytest.approx(share), first[cluster] + number))
    assert 0 < sum(right) < len(right)
    assert list(zip(p, right, row, strict=True)) == expected
    measures = {name: value for (name, label), value in repeated.variants[0].measures.items() if label == "expectation"}
    assert measures["certain_links"] == pytest.approx(sum(right[p >= 0.8]))
    surest = {one: max(right[(p >= 0.8) & (row == one)]) for one in row[p >= 0.8].tolist()}
    assert measures["certain_links_people"] == pytest.approx(sum(surest.values()))
    assert np.all([0 <= gift.probability <= 1 + 1e-6 for gift in gifts])
    connection.close()


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30))
def test_the_reliability_curve_is_that_of_a_walk_over_the_findings(drawn):
    p, right = zip(*drawn, strict=True) if drawn else ((), ())
    for number, part in ((one.number, one) for one in reliability_bins(p, right)):
        mine = [link for link in drawn if min(int(link[0] * 10), 9) == number]
        assert part == (number, len(mine), pytest.approx(sum(chance for chance, _ in mine)), sum(t for _, t in mine))
    assert sum(part.findings for part in reliability_bins(p, right)) == len(drawn)


def test_the_store_has_the_reliability_curve_and_the_page_draws_it(repeated, tmp_path, call):
    connection = connect_readonly(repeated.store)
    curves = [one for run in (1, 2) for one in sureness_of(connection, run) if one.attack == "expectation"]
    (attack,) = connection.execute(
        "select a.attack from run_attack a where a.run = 1 and a.label = 'expectation'"
    ).fetchone()
    p = np.array([gift.probability for gift in probable_gifts(connection, attack)])
    first = sureness_of(connection, 1)
    connection.close()
    counts = {one.tenth: (one.findings, one.p) for one in first if one.attack == "expectation"}
    number = np.minimum((p * 10).astype(int), 9)
    assert counts == {n: (np.sum(number == n), pytest.approx(p[number == n].sum())) for n in set(number.tolist())}
    done = call("report", "--with-evidence", "--store", repeated.store, "-o", tmp_path / "p.html")
    assert done.code == 0
    page = (tmp_path / "p.html").read_text()
    section = re.search(r'<section id="sure".*?</section>', page, re.S)[0]
    assert "expectation_labels" not in section
    for tenth in {one.tenth for one in curves}:
        mine = [one for one in curves if one.tenth == tenth]
        findings, right = (sum(getattr(one, name) for one in mine) for name in ("findings", "right"))
        rows = [re.findall(r'class="v">([^<]*)<', row) for row in section.split("</tr>")]
        row = next(
            row for row in rows if row[:2] == [f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}", f"{findings:,.0f}"]
        )
        assert float(row[-1]) == pytest.approx(right / findings, abs=6e-4)


@pytest.fixture(scope="module")
def unsure(tmp_path_factory):
    """A store of a run that measures no calibration."""
    folder = tmp_path_factory.mktemp("unsure")
    (folder / "s.yaml").write_text(CHUNKS.replace("accuracy, calibration", "accuracy"))
    assert decloak.run(folder / "s.yaml", store=folder / "s.db").ok
    return folder / "s.db"


def test_who_measures_no_certainty_has_no_such_section(unsure, tmp_path, call):
    assert call("report", "--store", unsure, "-o", tmp_path / "p.html").code == 0
    assert 'id="sure"' not in (tmp_path / "p.html").read_text()


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_miscalibration_is_the_mean_over_tenths_of_how_far_they_are_off(drawn):
    parts = {}
    for chance, truly in drawn:
        parts.setdefault(min(int(chance * 10), 9), []).append((chance, truly))
    off = sum(abs(sum(chance - truly for chance, truly in part)) for part in parts.values())
    p, right = zip(*drawn, strict=True)
    assert miscalibration(p, right) == pytest.approx(off / len(drawn), abs=1e-9)
    assert miscalibration([], []) is None


@pytest.fixture(scope="module")
def swept(repeated, tmp_path_factory):
    """A store in which k varies, every variant twice, in runs 3 to 6."""
    folder = tmp_path_factory.mktemp("swept")
    shutil.copy(repeated.store, folder / "s.db")
    (folder / "s.yaml").write_text(CHUNKS + "repeat: {times: 2, seed: 1}\nvary: {anonymise.k: [3, 4]}\n")
    assert decloak.run(folder / "s.yaml", store=folder / "s.db").ok
    return folder / "s.db"


@pytest.mark.parametrize(
    ("by", "runs_of"), [([], {"": [3, 4, 5, 6]}), (["anonymise.k"], {"k = 3": [3, 4], "k = 4": [5, 6]})]
)
def test_panels_of_reliability_have_the_curves_of_the_runs_they_name(swept, by, runs_of):
    with closing(connect_readonly(swept)) as connection:
        study = Study.of(connection, chosen_runs(connection, ["last"]))
        panels = {one["title"]["text"]: one for one in reliability_panels(connection, study, by)}
        kept = {run: sureness_of(connection, run) for run in (3, 4, 5, 6)}
    attacks = ("random", "expectation")
    assert list(panels) == [", ".join(filter(None, (attack, name))) for attack in attacks for name in runs_of]
    for attack in attacks:
        for name, runs in runs_of.items():
            mine = [one for run in runs for one in kept[run] if one.attack == attack]
            by_tenth = [[one[2:] for one in mine if one.tenth == tenth] for tenth in range(10)]
            sums = [[sum(part) for part in zip(*parts, strict=True)] for parts in by_tenth if parts]
            drawn = panels[", ".join(filter(None, (attack, name)))]["data"]["values"]
            assert drawn == [
                {"x": pytest.approx(p / n), "y": pytest.approx(right / n), "few": n < 30} for n, p, right in sums
            ]


@pytest.mark.parametrize("by", [[], ["--by", "attack"], ["--by", "anonymise.k"]])
def test_reliability_is_drawn_as_a_picture(swept, call, tmp_path, by):
    done = call("plot", "--of", "reliability", *by, "-o", tmp_path / "p.svg", "--store", swept)
    assert done.code == 0, done.err
    text = (tmp_path / "p.svg").read_text()
    assert text.count("share of correct findings") >= (4 if "anonymise.k" in by else 2)
    assert "expectation_labels" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--of", "reliability", "--x", "attack"], "--of reliability takes no --x; leave it out"),
        (["--of", "reliabilty"], "--of: there is no plot of 'reliabilty'; figure: a figure (--y)"),
        (["--of", "reliability", "--by", "anonymise.kk"], "did you mean 'anonymise.k'?"),
        (["--y", "accuracy"], "--of figure needs --x; `decloak plot --help` says"),
    ],
)
def test_what_no_plot_is_made_of_is_said_in_a_line(swept, call, tmp_path, arguments, said):
    done = call("plot", *arguments, "-o", tmp_path / "p.svg", "--store", swept)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "p.svg").exists()


def test_there_is_no_curve_where_nobody_measured_how_sure_attacks_are(unsure, tmp_path, call):
    done = call("plot", "--of", "reliability", "-o", tmp_path / "p.svg", "--store", unsure)
    assert done.code == 2
    assert "the calibration of these attacks was not measured; add calibration to the list under measure" in done.err


def test_a_note_names_each_attack_that_gives_some_eliminations_no_probability(tmp_path, monkeypatch):
    def some_unknown(attacked):
        connection, attack = attacked.connection, attacked.number
        stated = probabilities(connection, attack)
        (name,) = connection.execute(
            "select rule.name from attack join rule on rule.id = rule where attack.id = ?", (attack,)
        ).fetchone()
        return stated if name == "tba" else np.where(np.arange(len(stated)) < 2, np.nan, stated)

    monkeypatch.setattr(AttackResult, "probabilities", property(some_unknown))
    (tmp_path / "s.yaml").write_text(SETS.partition("expect:")[0].replace("rba, selftrained", "tba, rba"))
    (run,) = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", jobs=1).variants
    assert [note.partition(" have no probability")[0] for note in run.notes if "no probability" in note] == [
        "some eliminations of rba"
    ]


ONE_ASSIGNS = """\
scenario: s
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 12}
relate: {measure: ngd, source: clinic-counts}
attack: [aba]
measure: [calibration]
"""


def test_measures_of_an_attack_in_memory_are_those_of_the_same_attack_in_the_store(tmp_path, monkeypatch):
    (tmp_path / "s.yaml").write_text(ONE_ASSIGNS)
    (in_memory,) = decloak.run(tmp_path / "s.yaml", store=tmp_path / "1.db", jobs=1).variants
    for name, read in (("probabilities", probabilities), ("assignments", read_assigned)):
        stored = property(lambda attacked, read=read: read(attacked.connection, attacked.number))
        monkeypatch.setattr(AttackResult, name, stored)
    (from_store,) = decloak.run(tmp_path / "s.yaml", store=tmp_path / "2.db", jobs=1).variants
    assert from_store.figures == in_memory.figures


def test_no_note_on_eliminations_for_assignments_without_a_probability(tmp_path, monkeypatch):
    def first_unknown(attacked):
        stated = probabilities(attacked.connection, attacked.number)
        return np.where(np.arange(len(stated)) < 1, np.nan, stated)

    monkeypatch.setattr(AttackResult, "probabilities", property(first_unknown))
    (tmp_path / "s.yaml").write_text(ONE_ASSIGNS)
    (run,) = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", jobs=1).variants
    assert ("brier", "aba") in run.figures
    assert not [note for note in run.notes if "probability" in note]
