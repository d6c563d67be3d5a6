"""Figures of attacks do not depend on what items are called: the same release with other names gives the same."""

import gzip
import random
from dataclasses import replace

import numpy as np
import pytest

import decloak
from attacked_clusters import attack
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.data.assignment import Assignment, AssignmentList, PairScores
from decloak.data.disassociated import Chunk, Cluster
from decloak.data.generators.clinic import generate
from decloak.measure.accuracy import accuracy_of
from decloak.measure.breakage import km_breakage_of, transaction_breakage_of
from decloak.measure.kernels.true_rows import TrueRows
from decloak.rules.load import Catalogue
from decloak.rules.reassociate.posterior import posterior
from decloak.rules.reassociate.scores import SplitRelease
from decloak.store.assigned import read_assigned
from decloak.store.opening import open_store
from slowly import slow_but

CATALOGUE = Catalogue()
SPEC = {
    "aba": "the specification gives a unit to the lowest of equal rows",
    "rga": "as aba",
    "mra": "as aba",
    "assignment": "as aba, for all sub-records of a chunk at once",
    "consistent": "as assignment",
    "bayes": "as aba",
    "random": "chance draws places of rows",
    "exact": "the specification's algorithm takes items of equal support by name, and exact rules out what it would "
    "not have published",
}
"""Rules for which the specification settles ties by names, or by places of rows that are in an order of names."""
BY_RELEASE = [
    name for name in CATALOGUE.names if (rule := CATALOGUE.rule(name)).model.form == "reassociate" and name not in SPEC
]


def sparse(count, seed):
    """Short records of many items, as clicks are: nearly all that is known of two rows is equal."""
    rng = np.random.default_rng(seed)
    items = rng.permutation(300)
    return [
        tuple(sorted({f"i{items[int(300 * rng.random() ** 3)]:03}" for _ in range(1 + rng.geometric(0.4))}))
        for _ in range(count)
    ]


def names_of(records, seed):
    items = sorted({item for record in records for item in record})
    names = [f"n{number:05}" for number in range(len(items))]
    random.Random(seed).shuffle(names)
    return dict(zip(items, names, strict=True))


def renamed(release, truth, name):
    """The same release with other names, published in the order of these."""
    clusters, behind = [], []
    for cluster, records in zip(release.clusters, truth, strict=True):
        chunks, rows = [], list(records)
        for number, chunk in enumerate(cluster.record_chunks):
            shown = [tuple(sorted(map(name.get, subrecord))) for subrecord in chunk.subrecords]
            order = sorted(range(len(shown)), key=shown.__getitem__)
            if number == 0:
                rows[: len(shown)] = [records[row] for row in order]
            chunks.append(Chunk(tuple(sorted(map(name.get, chunk.items))), tuple(shown[row] for row in order)))
        clusters.append(Cluster(cluster.size, tuple(chunks), tuple(sorted(map(name.get, cluster.term_chunk)))))
        behind.append(tuple(rows))
    return replace(release, clusters=tuple(clusters)), tuple(behind)


def attacked(release, records, truth, rule, **settings):
    """The assignments of a rule with their ties, and what is behind the rows."""
    parts = sorted(attack(release, {}, CATALOGUE.rule(rule).compiled, **settings), key=lambda part: part.case.number)
    ties = {
        (part.case.number, unit.chunk, unit.items): rows
        for part in parts
        for unit, rows in zip(part.case.units, part.ties, strict=bool(part.ties))
        if rows
    }
    return TrueRows(release, records, truth), AssignmentList.of(
        [one for part in parts for one in part.assignments], ties
    )


def figures(rows, assigned, release):
    counts, given = accuracy_of(rows, assigned), rows.assigned_units(assigned)
    broken, exposed = transaction_breakage_of(rows, given), km_breakage_of(rows, given, k=release.k, m=2)
    return {
        "accuracy": counts.accuracy,
        "class": counts.accuracy_class,
        "row": counts.accuracy_row,
        "chance": counts.chance,
        "recall": counts.recall,
        "records broken": broken.row / broken.records,
        "by class": broken.by_class / broken.records,
        "itemsets exposed": exposed.row / max(1, exposed.protected),
    }


@pytest.mark.parametrize("rule", BY_RELEASE)
@pytest.mark.parametrize(
    ("records", "size"),
    [(sparse(800, 1), 25), (sparse(600, 2), 6), ([tuple(row) for row in generate(500, 3).transactions], 15)],
    ids=["clicks", "small clusters", "clinic"],
)
def test_the_same_release_with_other_names_gives_the_same_figures(rule, records, size):
    made = disassociate(records, k=3, m=2, max_cluster=size)
    found = []
    for seed in range(3):
        name = names_of(records, seed)
        called = [tuple(sorted(map(name.get, record))) for record in records]
        release, truth = renamed(made.release, made.truth, name)
        found.append(figures(*attacked(release, called, truth, rule), release))
    for figure, value in found[0].items():
        assert [one[figure] for one in found] == pytest.approx([value] * 3, abs=0.003), figure


@pytest.mark.parametrize("rule", [*BY_RELEASE, "exact"])
def test_rows_in_another_order_give_the_same_accuracy(rule):
    records = sparse(800, 4)
    made = disassociate(records, k=3, m=2, max_cluster=25)
    found = [
        accuracy_of(*attacked(made.release, records, made.truth, rule, **settings)).accuracy
        for settings in ({}, {"control": "order", "seed": 1}, {"control": "order", "seed": 2})
    ]
    assert found == pytest.approx([found[0]] * 3, abs=1e-6)


def test_expectation_is_as_good_whatever_the_records_of_click_data_call_their_items(shared_data):
    lines = gzip.decompress((shared_data / "bms_webview1.dat.gz").read_bytes()).decode().splitlines()[:2000]
    records = [tuple(sorted(set(line.split()))) for line in lines]
    found = []
    for seed in range(6):
        name = names_of(records, seed)
        called = [tuple(sorted(map(name.get, record))) for record in records]
        made = disassociate(called, k=3, m=2, max_cluster=25)
        found.append(accuracy_of(*attacked(made.release, called, made.truth, "expectation")).accuracy)
    assert max(abs(one - np.mean(found)) for one in found) <= 0.003


def test_tied_rows_share_and_the_figure_is_the_mean_over_all_ways_to_take_them():
    records = sparse(800, 5)
    made = disassociate(records, k=3, m=2, max_cluster=25)
    rows, assigned = attacked(made.release, records, made.truth, "expectation")
    ties = assigned.ties  # made anew at each look
    assert len(ties) > 20
    rng, drawn = np.random.default_rng(1), []
    for _ in range(60):
        taken = []
        for cluster, chunk, unit, own in assigned:
            tie = set(ties.get((cluster, chunk, unit), ()))
            places = len(tie.intersection(own))
            chosen = rng.choice(sorted(tie), places, replace=False).tolist() if tie else []
            taken.append(Assignment(cluster, chunk, unit, tuple(sorted([*set(own) - tie, *chosen]))))
        drawn.append(accuracy_of(rows, taken).accuracy)
    assert accuracy_of(rows, assigned).accuracy == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 60**0.5)


def test_a_tie_is_stored_and_read(tmp_path):
    (tmp_path / "d.txt").write_text("\n".join(", ".join(record) for record in sparse(900, 6)))
    (tmp_path / "s.yaml").write_text(
        "scenario: x\ndata: {file: d.txt, format: basket}\n"
        "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 25}\n"
        "attack: [expectation]\nmeasure: [accuracy, calibration]\n"
    )
    first = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    more = (tmp_path / "s.yaml").read_text().replace("certain]", "certain, breakage]")
    (tmp_path / "s.yaml").write_text(more)
    figures = [
        {(one.attack, one.measure): one.value for one in run.measures}
        for run in (first, decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db"))
    ]
    assert figures[0].items() <= figures[1].items()
    with open_store(tmp_path / "s.db") as opened:
        number = opened.connection.execute("select attack from run_attack where label = 'expectation'").fetchone()[0]
        read = read_assigned(opened.connection, number)
    assert read.ties
    for unit, rows in read.ties.items():
        own = next(one.rows for one in read if one[:3] == unit)
        assert 0 < len(set(own).intersection(rows)) < len(rows)


SMALL = [(2, 6), (3, 6), (5, 6), (3, 25)]


@pytest.mark.parametrize(("k", "size"), slow_but([(2, 6), (3, 25)], SMALL, several=True))
@pytest.mark.parametrize("rule", slow_but(["consistent"], ["expectation", "consistent", "aba"]))
@pytest.mark.parametrize("kind", slow_but(["clicks"], ["clicks", "clinic"]))
def test_in_small_clusters_links_are_right_as_often_as_it_says(rule, k, size, kind):
    p, right = [], []
    for seed in range(3):
        records = sparse(800, seed) if kind == "clicks" else [tuple(row) for row in generate(800, seed).transactions]
        made = disassociate(records, k=k, m=2, max_cluster=size)
        near = PairScores(dict.fromkeys([("a", "b")], 0.5), unrelated=0.5)
        rows, assigned = attacked(made.release, records, made.truth, rule, measures=[near])
        each = [Assignment(*one[:3], (row,)) for one in assigned for row in one.rows]
        right += rows.right_of_equals(each, assigned).tolist()
        p += posterior(SplitRelease(made.release), [near]).of(each).tolist()
    assert_means(p, right)


def assert_means(p, right):
    """In every tenth with 200 links the share that is right is within .05 of what is said."""
    p, right = np.array(p), np.array(right)
    reached = 0
    for low in np.arange(0, 1, 0.1):
        within = (p >= low) & (p < low + 0.1)
        if within.sum() >= 200:
            reached += 1
            assert abs(right[within].mean() - p[within].mean()) <= 0.05, (low, within.sum())
    assert reached


def set_generalised_run(folder, call, scores):
    """Return the figures of attacks on a release with generalised sets whose items are called by `call`."""
    rng = random.Random(3)
    items = [f"i{number:02}" for number in range(24)]
    hidden = [items[start : start + 3] for start in (0, 3, 6)]
    records = [rng.sample(items, rng.randrange(4, 9)) for _ in range(120)]
    published = []
    for record in records:
        label = {item: f"({', '.join(sorted(map(call.get, group)))})" for group in hidden for item in group}
        published.append(", ".join(sorted({label.get(item, call[item]) for item in record})))
    pairs = [(a, b) for a in items[9:] for group in hidden for b in group]
    values = [rng.choice(scores) for _ in pairs] if len(scores) < len(pairs) else rng.sample(scores, len(pairs))
    folder.mkdir()
    (folder / "o.txt").write_text("\n".join(", ".join(sorted(map(call.get, record))) for record in records))
    (folder / "p.txt").write_text("\n".join(published))
    rows = (f"{call[a]},{call[b]},{value}\n" for (a, b), value in zip(pairs, values, strict=True))
    (folder / "s.csv").write_text("a,b,ngd\n" + "".join(rows))
    (folder / "s.yaml").write_text(
        "scenario: x\ndata: {file: o.txt, format: basket, published: p.txt}\n"
        "relate: {measure: ngd, source: scores, file: s.csv}\nattacker: {context: all}\n"
        "attack: [mda, wba, tba]\nmeasure: [recovery, exposure]\n"
    )
    done = decloak.run(folder / "s.yaml", store=folder / "s.db")
    return {(one.measure, one.attack): one.value for one in done.measures}


@pytest.mark.parametrize("tied", slow_but([True], [False, True]))
def test_a_set_generalised_release_with_other_names_exposes_the_same_people(tmp_path, tied):
    """Where distances are equal, the specification lets an attack eliminate the first: there its own figures differ."""
    scores = [0.2, 0.5, 0.5, 0.8] if tied else [number / 1000 for number in range(1, 1000)]
    items = [f"i{number:02}" for number in range(24)]
    calls = [dict(zip(items, items, strict=True)), names_of([tuple(items)], 1), names_of([tuple(items)], 2)]
    found = [set_generalised_run(tmp_path / str(at), call, scores) for at, call in enumerate(calls)]
    of_release = ("_release", "_original")
    stable = [
        (measure, attack)
        for measure, attack in found[0]
        # Random eliminations take cells by their places, and these figures are never below them.
        if measure.endswith(of_release)
        or not (tied or measure.endswith("_baseline") or measure.startswith(("singled_out", "inferred_own")))
    ]
    assert {("exposed_2_release", "mda"), ("singled_out_2_original", "wba")} <= set(stable)
    assert tied or ("exposed_2", "mda") in stable
    for key in stable:
        assert [one[key] for one in found] == pytest.approx([found[0][key]] * 3), key
