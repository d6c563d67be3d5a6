"""Whom somebody finds who knows some items of a person, in releases of every form, against the definitions."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decloak
import naive_linkage as naive
from decloak.data.content import Chunk, Joint
from decloak.data.disassociated import Disassociated
from decloak.data.generators.clinic import generate
from decloak.data.rows import CodedRows
from decloak.lazy import sparse
from decloak.measure import linkage, lookup
from decloak.measure.kernels.elements import Elements
from decloak.measure.kernels.known_items import LEVELS, known_of, orders
from decloak.measure.kernels.looked_up_in_clusters import laid_out, looked_up_in_clusters
from decloak.measure.linkage_sets import LookupInSets
from decloak.measure.lookup import KnownPeople, Population
from decloak.measure.struck import StruckCells
from decloak.releases.held import UNKNOWN
from decloak.releases.registry import form_of
from decloak.report.grouped import LINES, lines_of
from decloak.report.linkage_section import linkage_sections
from decloak.report.study import Study
from decloak.report.verdict import conclusion
from decloak.rules.load import parse_rule
from decloak.store.opening import connect_readonly
from decloak.store.origins import read_origins
from decloak.store.probabilities import probable_gifts
from decloak.store.reading import struck_items
from decloak.store.results import attacks_of, notes_of, pooled_figures, release_of
from decloak.store.studies import read_runs
from disassociated_releases import ITEMS, releases

RECORDS = st.lists(st.sets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=7)
ELEMENT = st.sampled_from(ITEMS) | st.sets(st.sampled_from(ITEMS), min_size=2, max_size=3).map(
    lambda s: tuple(sorted(s))
)


def known_people(records, names, known, record=None):
    """People of whom those items are known who have those records."""
    number = {name: place for place, name in enumerate(names)}
    longest = max(map(len, known))
    items = np.array([[number[i] for i in [*own, *own[:1] * (longest - len(own))]] for own in known]).T
    held = sparse.csr_array(np.array([[float(name in row) for name in names] for row in records]))
    return KnownPeople(np.arange(len(records)) if record is None else np.array(record), items, held)


def same(found, literal):
    for values, column in zip(found, zip(*literal, strict=True), strict=True):
        assert values == pytest.approx(np.array(column))


@st.composite
def known_of_records(draw, records):
    """Some items of each record."""
    return [sorted(draw(st.sets(st.sampled_from(sorted(record)), min_size=1))) for record in records]


@settings(max_examples=200)
@given(RECORDS, st.data())
def test_in_sets_candidates_may_hold_what_is_known_and_what_was_struck_is_gone(records, data):
    rows = [data.draw(st.lists(ELEMENT, max_size=4, unique=True)) for _ in records]
    known = data.draw(known_of_records(records))
    own = data.draw(st.permutations(range(len(records))))
    struck = data.draw(st.sets(st.tuples(st.integers(0, len(rows) - 1), st.sampled_from(ITEMS))))
    names = tuple(sorted(set().union(*records)))
    coded = CodedRows.of([tuple(row) for row in rows])
    elements = Elements(coded.names, names)
    released = LookupInSets(coded, elements, np.array(own))
    people = known_people(records, names, known)
    sets = [[(element,) if isinstance(element, str) else element for element in row] for row in rows]
    literal = [naive.in_rows(sets, *one) for one in zip(known, own, records, strict=True)]
    same(released.look(people), literal)
    cells = sorted((row, elements.number[item]) for row, item in struck if item in elements.number)
    gone = StruckCells(*(np.array([cell[side] for cell in cells], np.int64) for side in (1, 0)))
    literal = [naive.in_rows(sets, *one, struck) for one in zip(known, own, records, strict=True)]
    same(released.look(people, gone), literal)


@settings(max_examples=200)
@given(RECORDS, st.data())
def test_in_the_raw_data_candidates_hold_what_is_known(records, data):
    known = data.draw(known_of_records(records))
    population = Population(CodedRows.of(records), "moderate")
    people = known_people(records, population.rows.names, known)
    rows = [[(item,) for item in record] for record in records]
    same(population.look(people), [naive.in_rows(rows, *one) for one in zip(known, range(99), records, strict=False)])
    support = {item: sum(item in record for record in records) for item in ITEMS}
    blind = [naive.guess_right(support, set(own), record) for own, record in zip(known, records, strict=True)]
    assert population.most_frequent(people) == pytest.approx(blind)


@st.composite
def joined(draw):
    """A release, perhaps with a joint cluster whose shared chunk has items of its clusters and others."""
    release, records, truth = draw(releases())
    if len(release.clusters) > 1 and draw(st.booleans()):
        units = draw(st.lists(st.sets(st.sampled_from([*ITEMS, "x", "y"]), min_size=1), min_size=1, max_size=4))
        chunk = Chunk(tuple(sorted(set().union(*units))), tuple(sorted(tuple(sorted(unit)) for unit in units)))
        release = Disassociated(release.clusters, (Joint((0, 1), (chunk,)),), release.k, release.m)
    return release, records, truth


@settings(max_examples=200, deadline=None)
@given(joined(), st.data())
def test_in_clusters_rows_weigh_what_their_chunks_make_likely(made, data):
    release, records, truth = made
    known = data.draw(known_of_records(records))
    names = [*ITEMS, "x", "y"]
    places = [(number, row) for number, rows in enumerate(truth) for row in range(len(rows))]
    order = [record for rows in truth for record in rows]
    own = [places[order.index(record)] for record in range(len(records))]
    given = {}
    for number in range(len(release.clusters)):
        for chunk, units, _ in naive.later_chunks(release, number):
            for unit in units:
                rows = data.draw(st.sets(st.integers(0, release.clusters[number].size - 1)))
                p = data.draw(st.sampled_from([1.0, 0.5, 0.125]))
                if rows and data.draw(st.booleans()):
                    given[number, chunk, unit] = dict.fromkeys(rows, p)
    people = known_people(records, names, known)
    mask = np.zeros((len(known), len(names)))
    for row, items in enumerate(people.items.T):
        mask[row, items] = 1
    there = {item for cluster in release.clusters for item in cluster.items}
    there |= {item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items}
    mask *= np.array([name in there for name in names])
    clusters = laid_out(release, {name: place for place, name in enumerate(names)})
    for gifts in (None, given):
        found = looked_up_in_clusters(clusters, sparse.csr_array(mask), tuple(np.array(own).T), people.held, gifts)
        same(found, [naive.in_clusters(release, *one, gifts) for one in zip(known, own, records, strict=True)])


@given(RECORDS, st.sampled_from(["strong", "moderate", "weak"]))
def test_who_knows_more_knows_the_same_and_something_besides(records, model):
    rows = CodedRows.of(map(sorted, records))
    held = [rows.codes[begin:end] for begin, end in pairwise(rows.start)]
    support = np.bincount(rows.codes)
    ordered = orders(held, support, len(records), model)
    for items, own in zip(ordered, held, strict=True):
        assert set(items.tolist()) <= set(own.tolist())
        if model == "strong":
            assert (np.diff(support[items]) >= 0).all()
        if model != "weak":
            assert len(items) == len(own)
    sizes = {name: known_of(ordered, level) for name, level in LEVELS.items()}
    assert sizes["rest"].person.tolist() == [place for place, items in enumerate(ordered) if len(items) > 1]
    for fewer, more in pairwise([sizes["1"], sizes["2"], sizes["3"]]):
        for column, person in enumerate(more.person.tolist()):
            same_person = fewer.person.tolist().index(person)
            assert set(fewer.items[:, same_person].tolist()) < set(more.items[:, column].tolist())


def test_a_weak_attacker_knows_what_one_record_in_a_hundred_holds():
    support = np.array([1, 2, 150])
    (items,) = orders([np.array([0, 1, 2])], support, 200, "weak")
    assert set(items.tolist()) == {1, 2}
    assert orders([np.array([0, 1, 2])], support, 201, "weak")[0].tolist() == [2]


CLINIC = (
    "scenario: s\ndata: {generate: clinic, transactions: 90, seed: 3}\nrelate: {measure: ngd, source: clinic-counts}\n"
)
METHODS = {
    "coat": ("{method: coat, k: 4, privacy: {count: 6, sizes: [3]}}", "[ra, rba]"),
    "cut": ("{method: cut, k: 3, m: 1, hierarchy: {by: random, fanout: 3}}", "[tba]"),
    "disassociation": ("{method: disassociation, k: 3, m: 2, max_cluster: 12}", "[random, aba]"),
}


@pytest.fixture
def ran(tmp_path):
    """Run a method with attacks and measure linkage; what was done, and the store."""

    def run(method, attacks, measure="[{linkage: {k: 4}}]", further=""):
        path = tmp_path / "s.yaml"
        path.write_text(f"{CLINIC}anonymise: {method}\nattack: {attacks}\nmeasure: {measure}\n{further}")
        done = decloak.run(path, store=tmp_path / "s.db")
        return done, connect_readonly(done.store)

    return run


@pytest.mark.parametrize("method", METHODS)
def test_of_every_form_the_figures_are_those_of_the_definitions(ran, method):
    done, connection = ran(*METHODS[method])
    figures, number = done.variants[0].measures, release_of(connection, done.variants[0].run)
    held = form_of(connection, number).hold(connection, number)
    original = list(map(set, held.original.transactions))
    population = Population(held.original.rows, "moderate")
    apart = method == "disassociation"
    own, release = owners(held, apart)
    for attack in attacks_of(connection, done.variants[0].run):
        if apart:
            did = {}
            for gift, p in probable_gifts(connection, attack.attack):
                did.setdefault((gift.cluster, gift.chunk, tuple(sorted(gift.unit))), {})[gift.rows[0]] = p
        else:
            did = set(struck_items(connection, attack.attack, parse_rule(attack.text).derives))
        look = naive.in_clusters if apart else naive.in_rows
        for level, people in population.people.items():
            known = [{population.rows.names[code] for code in column} for column in people.items.T.tolist()]
            records = people.record.tolist()
            held_by = [original[record] for record in records]
            for ending, done_to in (("_release", ()), ("", (did,))):
                literal = [
                    look(release, items, own[record], items_of, *done_to)
                    for items, record, items_of in zip(known, records, held_by, strict=True)
                ]
                candidates, found, lost, right = map(list, zip(*literal, strict=True))
                there = [count for count, gone in zip(candidates, lost, strict=True) if not gone]
                expected = {
                    "found": sum(found), "lost": sum(lost), "guessed": sum(right), "few": sum(c < 4 for c in there),
                    "one": there.count(1), "candidates": np.mean(candidates), "middle": np.median(candidates),
                }  # fmt: skip
                for name, value in expected.items():
                    stored = figures.get((f"{name}_{level}{ending}", attack.label))
                    if stored is None:  # only an attack that had nothing to do
                        assert ending == ""
                        assert not did
                    else:
                        assert stored == pytest.approx(value), (name, level, ending)


def owners(held, apart):
    """Where the record of everybody is published, and what is published in the shape that the definitions take."""
    if apart:
        places = {record: (n, row) for n, rows in enumerate(held.rows.of_row) for row, record in enumerate(rows)}
        return places, held.published
    rows = [[(e,) if isinstance(e, str) else e for e in row] for row in held.published.transactions]
    return {int(place): row for row, place in enumerate(read_origins(held.connection, held.number))}, rows


def test_gain_is_over_people_who_are_not_in_the_data_where_some_are_held_out(ran):
    method, attacks = METHODS["coat"]
    done, _ = ran(method, "[rba]", further="attacker: {knows: [language, {sample: 0.4}]}\n")
    figures = done.variants[0].measures
    shares = {name: figures[f"{name}_2_release", "rba"] for name in ("guessed", "control", "gain")}
    with_more, others = 54, 36
    assert figures["found_1_original", "rba"] <= with_more
    right, baseline = shares["guessed"] / with_more, shares["control"] / others
    assert 0 < baseline < right < 1
    assert shares["gain"] == pytest.approx((right - baseline) / (1 - baseline), abs=0.05)  # some have but two items
    done, _ = ran(method, attacks)
    assert ("control_2", "rba") not in done.variants[0].measures


def test_an_attack_that_leaves_candidates_alone_has_figures_of_the_release_alone(ran):
    method, _ = METHODS["disassociation"]
    done, connection = ran(method, "[cover]")
    names = {name for name, _ in done.variants[0].measures}
    assert {"found_2_original", "found_2_release", "guessed_2_release", "blind_2"} <= names
    assert not names & {"found_2", "found_2_baseline", "gain_2"}
    assert linkage.NOTHING_DONE in notes_of(connection, done.variants[0].run)


def test_of_very_many_some_people_are_looked_up_and_that_is_told(ran, monkeypatch):
    monkeypatch.setattr(lookup, "MOST", 25)
    done, connection = ran(*METHODS["coat"])
    assert "linkage is of 25 people drawn from 90" in notes_of(connection, done.variants[0].run)
    assert pooled_figures(connection, done.variants[0].run)["found_1", "rba"].whole == 25


def test_where_nobody_has_more_items_there_is_no_guess_and_no_zero(tmp_path):
    (tmp_path / "o.txt").write_text("a\nb\na\nc\n")
    apart = "{method: disassociation, k: 2, m: 2, max_cluster: 4}"
    (tmp_path / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: o.txt, format: basket}}\nanonymise: {apart}\n"
        "relate: {measure: ngd, source: release}\nattack: [aba]\nmeasure: [linkage]\n"
    )
    figures = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").variants[0].measures
    assert figures["found_1_original", "aba"] == pytest.approx(3)
    names = {name for name, _ in figures}
    assert not {name for name in names if name.startswith(("guessed", "blind", "gain", "found_2", "found_rest"))}


def test_without_the_originals_nobody_is_looked_up(tmp_path):
    (tmp_path / "r.txt").write_text("a,(b,c)\na,(b,c),d\nd,(b,c)\n")
    scenario = "scenario: s\ndata: {published: r.txt}\nrelate: {measure: ngd, source: release}\nattack: [tba]\n"
    (tmp_path / "s.yaml").write_text(f"{scenario}measure: [linkage]\n")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert not {name for name, _ in done.variants[0].measures} & {title.name for title in linkage.FAMILY.figures}
    assert UNKNOWN.format("linkage") in notes_of(connect_readonly(done.store), done.variants[0].run)


def test_figures_have_a_line_each_with_a_column_for_each_way(ran):
    done, connection = ran(*METHODS["coat"])
    lines = lines_of(linkage.FAMILY.lines, pooled_figures(connection, done.variants[0].run))
    assert set(map(len, lines)) == {len(LINES)}
    (found, beneath) = [line for line in lines if line[0] == "found by 2 items"]
    assert [found[3], beneath[3]] == ["ra", "rba"]
    assert beneath[:3] == found[:3]
    assert all(cell.endswith(" of 90") for cell in (found[1], found[2], found[4], found[5], beneath[4]))
    (blind,) = [line for line in lines if line[0] == "blind by 2 items"]
    assert (blind[1], blind[4]) == (None, None)
    assert " of " in blind[2]


def test_where_only_linkage_was_measured_the_verdict_does_not_blame_missing_originals(ran):
    _, connection = ran(*METHODS["coat"])
    said = conclusion(connection, Study.of(connection, read_runs(connection)))
    assert said.heading == "What comes back was not measured"
    assert "'measure: [recovery, accuracy]' tells" in said.sentences[0]


def test_a_page_shows_the_headlines_of_all_variants_and_the_rest_when_asked(ran):
    method, attacks = METHODS["coat"]
    _, connection = ran(method, attacks, further=f"vary:\n  anonymise:\n    - {method}\n    - {METHODS['cut'][0]}\n")
    (section,) = linkage_sections(connection, Study.of(connection, read_runs(connection)))
    head, *folded = section.tables
    assert not head.folded
    assert {row[0] for row in head.rows} == {"anonymise=coat", "anonymise=cut"}
    assert {row[1] for row in head.rows} == {"found by 2 items", "guessed by 2 items"}
    assert [table.folded for table in folded] == [True, True]
    assert len(section.items) == len(set(section.items)) == 9  # none is held out, so that there is no control
    assert "found: people rightly named by taking any candidate." in section.items


def test_the_records_of_a_sample_in_a_file_are_the_control_unless_they_may_be_the_answers(ran, tmp_path):
    method, _ = METHODS["coat"]
    others = [*generate(58, 11).transactions, *generate(90, 3).transactions[:2]]
    (tmp_path / "others.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in others))
    known = "attacker: {knows: [language, {sample: others.jsonl, format: jsonl}]}\n"
    done, connection = ran(method, "[rba]", further=known)
    figures = done.variants[0].measures
    original = form_of(connection, 1).hold(connection, 1).original
    population = Population(original.rows, "moderate")
    people = population.others(CodedRows.of([tuple(row) for row in others]))["2"]
    shares = {name: figures[f"{name}_2_release", "rba"] for name in ("guessed", "control", "gain")}
    baseline = shares["control"] / people.guessable
    assert 0 < baseline < 1
    right = shares["guessed"] / population.people["2"].guessable
    assert shares["gain"] == pytest.approx((right - baseline) / (1 - baseline))
    alike = sum(set(row) in list(map(set, original.transactions)) for row in others)
    assert alike >= 2
    assert linkage.ALSO_HERE.format(60, alike) in notes_of(connection, done.variants[0].run)
    (tmp_path / "others.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in others[:30]))
    again, _ = ran(method, "[rba]", further=known)
    assert again.variants[0].measures["control_2_release", "rba"] != shares["control"]
    done, _ = ran(method, "[rba]", further=known.replace("jsonl}", "jsonl, published: true}"))
    assert ("control_2_release", "rba") not in done.variants[0].measures
