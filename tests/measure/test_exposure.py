"""The exposure card of runs, whatever their form: against the definitions, on what the store holds."""

import gzip
import json
import random
import re
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decloak
import naive_exposure as naive
from decloak.errors import DecloakError
from decloak.measure.exposure_figures import Change
from decloak.measure.kernels import singling_out
from decloak.measure.kernels.statistics import Interval
from decloak.measure.registry import family_named, metrics_by_key
from decloak.releases.registry import form_of
from decloak.report.advice import advice
from decloak.report.risk_card import GUESSES, NOBODY, ROWS, UNKNOWN, UNSURE, exposure_cards
from decloak.report.risk_tables import called_shortly, card_rows, comparison_rows, reasons, remark
from decloak.report.study import Study
from decloak.report.verdict_figures import judged_variants
from decloak.report.verdict_lines import concluded
from decloak.rules.load import parse_rule
from decloak.store.opening import connect_readonly
from decloak.store.results import attacks_of, notes_of, read_runs, release_of
from eliminated import eliminated_items

CLINIC = (
    "scenario: s\ndata: {generate: clinic, transactions: 90, seed: 3}\nrelate: {measure: ngd, source: clinic-counts}\n"
)
SETS = {
    "sets": "{method: sets, size: 3, share: 0.5}",
    "coat": "{method: coat, k: 4, privacy: {count: 6, sizes: [3]}}",
    "cut": "{method: cut, k: 3, m: 1, hierarchy: {by: random, fanout: 3}}",
}
ORIGINAL = ("singled_out_2", "singled_out_3", "implied")
APART = "{method: disassociation, k: 3, m: 2, max_cluster: 12}"


@pytest.fixture
def ran(tmp_path):
    """Run a scenario of a method; the figures of its run, and the release as the store has it."""

    def run(method: str, attacks: str, further: str = ""):
        path = tmp_path / "s.yaml"
        path.write_text(f"{CLINIC}anonymise: {method}\nattack: {attacks}\n{further}")
        done = decloak.run(path, store=tmp_path / "s.db")
        connection = connect_readonly(done.store)
        number = release_of(connection, done.variants[-1].run)
        return done.variants[-1].measures, form_of(connection, number).load(connection, number), connection

    return run


def test_releases_of_the_same_data_are_measured_on_the_same_people(tmp_path, monkeypatch):
    monkeypatch.setattr(singling_out, "FEWEST", 30)
    monkeypatch.setattr(singling_out, "WORK", 1)
    apart = {"method": "disassociation", "k": 3, "m": 2, "max_cluster": 12}
    few = {"rule": "km_violation", "k": 2, "m": 1}
    made = [
        ({"method": "cut", "k": 3, "m": 1, "hierarchy": {"by": "popularity"}}, few),
        (apart, "cover"), (apart | {"cover": "cure"}, "cover"),
        ({"method": "itemsets", "k": 3, "m": 2}, "differenced"), ({"method": "synthetic"}, "copies"),
    ]  # fmt: skip
    chance, found = random.Random(2), []
    rows = [sorted({int(chance.paretovariate(0.7)) % 40 for _ in range(chance.randrange(1, 6))}) for _ in range(300)]
    (tmp_path / "d.txt").write_text("\n".join(",".join(map(str, row)) for row in rows))
    for method, attack in made:
        data = {"file": str(tmp_path / "d.txt"), "format": "basket"}
        scenario = {"scenario": "s", "data": data, "anonymise": method, "attack": [attack]}
        done = decloak.run(scenario, store=tmp_path / "s.db")
        figures = done.variants[0].figures
        original = [figures[f"{key}_original", next(iter(done.variants[0].knows))] for key in ORIGINAL]
        found.append([(one.value, one.whole) for one in original])
    assert found[0][0][1] == 30
    assert 0 < found[0][0][0] < 30
    assert found == [found[0]] * len(made)


@pytest.mark.parametrize("method", SETS)
def test_whom_a_generalised_release_tells_of_are_those_of_the_definitions(ran, method):
    figures, held, connection = ran(SETS[method], "[ra, rba]")
    true, elements = held.true, held.published.transactions
    may = list(map(naive.possible, elements))
    shows = [naive.shown(row) for row in elements]
    known = [items & set().union(*may) for items in true]
    certain = [own & items for own, items in zip(shows, known, strict=True)]
    alike = _classes(map(frozenset, elements))
    expected = {
        "singled_out_original": naive.expected_singled_out(true, true, _classes(true)),
        "singled_out_release": naive.expected_singled_out(may, known, alike),
        "implied_original": naive.implied(true, true, true, true),
        "implied_release": naive.implied(may, shows, known, certain),
        "inferred_own_release": naive.expected_known(list(map(naive.of_row, map(set, elements), true))),
        "hidden": 1 - sum(len(own & items) for own, items in zip(shows, true, strict=True)) / sum(map(len, true)),
        "people": 90,
    }  # fmt: skip
    for attack in attacks_of(connection, 1):
        eliminated = [set() for _ in may]
        for row, item in eliminated_items(connection, attack.attack, parse_rule(attack.text).derives):
            eliminated[row].add(item)
        left = [items - gone for items, gone in zip(may, eliminated, strict=True)]
        expected["singled_out"] = naive.expected_singled_out(left, known, alike)
        expected["inferred_own"] = naive.expected_known(
            [naive.of_row(set(row), items, gone) for row, items, gone in zip(elements, true, eliminated, strict=True)]
        )
        for name, value in expected.items():
            names = [name]
            if name.startswith("singled_out"):
                names = [name.replace("singled_out", f"singled_out_{n}") for n in (1, 2, 3)]
            for one, number in zip(names, value if len(names) > 1 else [value], strict=True):
                beside = [number]
                if name in ("singled_out", "inferred_own"):  # an attacker also has the release, and can also guess
                    beside += [figures[f"{one}_release", attack.label], figures[f"{one}_baseline", attack.label]]
                assert figures[one, attack.label] == pytest.approx(max(beside)), one


def _classes(rows):
    numbers = {}
    return [numbers.setdefault(row, len(numbers)) for row in rows]


def test_whom_a_disassociated_release_tells_of_are_those_of_the_definitions(ran):
    figures, held, _ = ran(APART, "[random, aba]", "measure: [accuracy]\n")
    release, records = held.published, held.rows.records
    true = [set(records[place]) for rows in held.rows.of_row for place in rows]
    clusters = enumerate(release.clusters)
    alike = _classes((number, frozenset(anchor)) for number, cluster in clusters for anchor in cluster.anchors)
    may = naive.possible_items(release)
    anchors = [set(anchor) for cluster in release.clusters for anchor in cluster.anchors]
    chances = naive.guesses_in_chunks(release, records, held.rows.of_row)
    numbered = [(n, items) for n, rows in enumerate(held.rows.of_row) for items in (records[place] for place in rows)]
    singled = {
        "_original": naive.expected_singled_out(true, true, _classes(map(frozenset, true))),
        "_release": naive.expected_singled_out(may, true, alike),
    }
    for ending, value in singled.items():
        assert [figures[f"singled_out_{n}{ending}", "aba"] for n in (1, 2, 3)] == pytest.approx(value)
    assert figures["implied_original", "aba"] == naive.implied(true, true, true, true)
    assert figures["implied_release", "aba"] == naive.implied_in_chunks(release, numbered)
    assert figures["inferred_own_release", "aba"] == pytest.approx(naive.expected_known(chances))
    shown = sum(len(own & items) for own, items in zip(anchors, true, strict=True))
    assert figures["hidden", "aba"] == pytest.approx(1 - shown / sum(map(len, true)))


OWN = "".join(f"i{number:03}\n" for number in range(100))
"""100 people with one item each, which nobody else has."""
RELATED = "relate: {measure: ngd, source: release}\n"


def released(tmp_path, text, anonymise, attack="random"):
    """The figures of one attack on a release of the lines of a file."""
    (tmp_path / "d.txt").write_text(text)
    data = "data: {file: d.txt, format: basket, as_said: true}\n"
    rest = f"anonymise: {anonymise}\nattack: [{attack}]\n"
    (tmp_path / "s.yaml").write_text(f"scenario: s\n{data}{RELATED}{rest}")
    measures = (
        decloak.run(tmp_path / "s.yaml", store=tmp_path / f"{len([*tmp_path.iterdir()])}.db").variants[0].measures
    )
    return {name: value for (name, label), value in measures.items() if label == attack.split(",")[0]}


def test_one_guess_at_an_item_hidden_among_five_is_right_for_20_of_100_people_whatever_the_method(tmp_path):
    of_sets = released(tmp_path, OWN, "{method: sets, size: 5, share: 1}", "tba")
    assert of_sets["inferred_own_release"] == pytest.approx(20)
    by_k = [
        released(tmp_path, OWN, f"{{method: disassociation, k: {k}, m: 2, max_cluster: 5}}")["inferred_own_release"]
        for k in (2, 3, 5)
    ]
    assert by_k[2] == pytest.approx(20, abs=1)
    assert by_k == pytest.approx(
        [48, 32, 20]
    )  # one guess in clusters of 2, 3 and 5; counted as k - 1, it was 48, 64, 80


@pytest.mark.slow
def test_the_higher_k_the_fewer_people_have_an_item_known_or_inferred(tmp_path, shared_data):
    with gzip.open(shared_data / "bms_webview1.dat.gz", "rt") as lines:
        text = "".join(",".join(sorted(set(line.split()))) + "\n" for line in islice(lines, 2000))
    people = [
        released(tmp_path, text, f"{{method: disassociation, k: {k}, m: 2, max_cluster: 25}}")["inferred_own_release"]
        for k in (2, 3, 5, 10)
    ]
    assert all(more > fewer + 50 for more, fewer in pairwise(people)), people


def test_a_label_with_one_member_hides_nothing(tmp_path):
    (tmp_path / "d.txt").write_text("a,b\na,c\nb,c\nd\n")
    figures = {}
    for name, rows in {"labels": "(a),(b)\n(a),(c)\nb,(c)\n(d)\n", "plain": "a,b\na,c\nb,c\nd\n"}.items():
        (tmp_path / "r.txt").write_text(rows)
        data = "scenario: s\ndata: {file: d.txt, format: basket, published: r.txt}\n"
        (tmp_path / "s.yaml").write_text(f"{data}{RELATED}attack: [{{rule: km_violation, k: 3, m: 2}}]\n")
        run = decloak.run(tmp_path / "s.yaml", store=tmp_path / f"{name}.db").variants[0]
        titles = {metric.key for metric in family_named("exposure").metrics}
        figures[name] = {key: value for (key, _), value in run.measures.items() if key in titles}
    assert figures["labels"] == figures["plain"]
    assert figures["labels"]["hidden"] == 0
    assert figures["labels"]["singled_out_2_release"] == 4


def cards_of(connection):
    runs = read_runs(connection)
    return {card.variant: card for card in exposure_cards(connection, Study.of(connection, runs))}


def test_several_methods_are_compared_in_one_table_and_every_empty_cell_has_its_reason(ran):
    vary = f"vary:\n  anonymise:\n    - {SETS['coat']}\n    - {SETS['cut']}\n"
    *_, connection = ran(SETS["sets"], "[{rule: km_violation, k: 2, m: 1}]", vary)
    cards = cards_of(connection)
    coat, cut = cards["anonymise=coat"], cards["anonymise=cut"]
    assert {card.cells["implied"].reason for card in (coat, cut)} == {GUESSES}
    assert coat.cells["singled_out_2"].original == cut.cells["singled_out_2"].original
    columns, rows = comparison_rows(list(cards.values()), {})
    assert [row[0] for row in rows] == ["original", *cards]
    assert set(map(len, rows)) == {len(columns)}
    assert reasons(list(cards.values())) == [
        f"with a certain link (p≥0.8): {UNSURE}",
        "release only: no attack had anything to compare",
    ]


def test_of_people_who_stand_for_more_every_count_has_its_interval(ran, monkeypatch):
    monkeypatch.setattr(singling_out, "FEWEST", 40)
    monkeypatch.setattr(singling_out, "WORK", 1)
    figures, _, connection = ran(SETS["sets"], "[ra, rba]")
    assert figures["people", "rba"] == 40
    (card,) = cards_of(connection).values()
    # Wilson's for 20 of 40; drawn from 90 they tell as much as 71.2 of any number.
    assert card.bounds_of(20) == pytest.approx((20 - 4.525, 20 + 4.525), abs=0.001)
    assert remark([card]).endswith("of 40 people drawn from 90, in brackets 95% intervals for all")
    assert remark([card, card]).endswith("of 40 people drawn from 90, 95% interval at most ±5")
    release = card.cells["singled_out_2"].release.mean
    assert f"{release:,.0f} (" in {row[0]: row[2] for row in card_rows(card)[1]}["singled out with up to 2 items"]
    told = card.as_json()["singled_out_2"]
    assert told["release_low"] < told["release"] < told["release_high"]
    assert replace(card, people=90).around(Interval(20.0, None, None, 1)).low is None


def test_without_the_originals_a_card_says_so(tmp_path):
    (tmp_path / "r.txt").write_text("a,(b,c)\na,(b,c),d\nd,(b,c)\n")
    scenario = "scenario: s\ndata: {published: r.txt}\nrelate: {measure: ngd, source: release}\nattack: [tba]\n"
    (tmp_path / "s.yaml").write_text(scenario)
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    (card,) = cards_of(connect_readonly(done.store)).values()
    assert card.cells["inferred_own"].reason == UNKNOWN
    assert {cell.original for cell in card.cells.values()} == {None}
    assert card.cells["singled_out_2"].release is not None
    assert card.cells["singled_out_2"].reason == f"at least: {UNKNOWN}"


def test_where_no_record_shows_anything_for_certain_nobody_is_said_to_be_safe(tmp_path):
    (tmp_path / "d.csv").write_text("row,a,b\nx,0.5*,1.5\ny,1.2,0.3*\n")
    (tmp_path / "r.txt").write_text("(b,c)\n(b,c),(d,e)\n")
    relate = "relate: {measure: ngd, source: release}\n"
    for data, rest in (("distances: d.csv", ""), ("published: r.txt", relate)):
        (tmp_path / "s.yaml").write_text(f"scenario: s\ndata: {{{data}}}\n{rest}attack: [tba]\n")
        done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
        connection = connect_readonly(done.store)
        (card,) = exposure_cards(connection, Study.of(connection, read_runs(connection, [done.variants[0].run])))
        assert {cell.release for cell in card.cells.values()} == {None}
        assert {cell.reason for cell in card.cells.values()} == {UNKNOWN, UNSURE}


def test_every_row_of_a_card_says_why_where_it_has_nothing_to_say(ran):
    *_, connection = ran(APART, "[random]", "")
    (card,) = cards_of(connection).values()
    for row in ROWS:
        cell = card.cells[row.key]
        assert cell.after is not None or cell.reason, row
    assert {card.cells[row.key].reason for row in ROWS} == {NOBODY, GUESSES, UNSURE}  # coins are the control
    assert set(json.loads(json.dumps(card.as_json()))) >= {row.key for row in ROWS}


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "The release hides 0% of the item occurrences. Every item is published with its record."),
        (0.002, "The release hides <1% of the item occurrences."),
        (0.997, "The release hides >99% of the item occurrences."),
        (1.0, "The release hides 100% of the item occurrences."),
    ],
)
def test_nearly_all_is_not_called_all_and_a_release_that_hides_nothing_says_so(ran, share, words):
    *_, connection = ran(SETS["sets"], "[tba]", "")
    (judged,) = judged_variants(connection, Study.of(connection, read_runs(connection)))
    card = replace(judged.settings.card, hidden=share)
    verdict = concluded(replace(judged, settings=replace(judged.settings, card=card)))
    assert words in [line.text for line in verdict.lines if line.label == "Cost"]


def test_every_number_of_the_closing_sentence_is_in_the_store(ran):
    vary = f"vary:\n  anonymise:\n    - {SETS['coat']}\n    - {SETS['cut']}\n"
    *_, connection = ran(SETS["sets"], "[tba]", vary)
    study = Study.of(connection, read_runs(connection))
    sentence = advice(exposure_cards(connection, study))
    stored = {f"{value:,.0f}" for of_run in study.figures.values() for value in of_run.values() if value is not None}
    stored |= {f"{value:.1f}" for of_run in study.figures.values() for value in of_run.values() if value is not None}
    stored |= {f"{100 * value:.0f}" for of_run in study.figures.values() for (name, _), value in of_run.items()
               if name == "hidden"}  # fmt: skip
    numbers = re.findall(r"\d[\d,.]*\d|\d", sentence)
    assert len(numbers) >= 5
    assert set(numbers) - {"2"} <= stored  # 2 known items
    assert "These numbers are no proof of protection." in sentence
    assert "in the original data" in sentence


def test_variants_of_several_forms_are_attacked_and_measured_by_what_fits_them(ran):
    further = (
        f"measure: [recovery, accuracy]\nvary:\n  anonymise:\n    - {SETS['coat']}\n    - {APART}\n"
        "expect: ['precision(tba) > 0', 'accuracy(aba) >= 0']\n"
    )
    *_, connection = ran(SETS["sets"], "[ra, tba, aba]", further)
    runs = read_runs(connection)
    assert [[attack.label for attack in attacks_of(connection, run.run)] for run in runs] == [["ra", "tba"], ["aba"]]
    assert [run.config["attack"] for run in runs] == [["ra", "tba", "aba"]] * 2  # both are of one sweep
    names = [{name for name, _ in Study.of(connection, [run]).figures[run.run]} for run in runs]
    assert [("precision" in name, "accuracy" in name) for name in names] == [(True, False), (False, True)]
    coat, apart = called_shortly(exposure_cards(connection, Study.of(connection, runs)))
    assert (coat.name, apart.name) == ("coat", "disassociation")
    assert apart.cells["inferred_own"].after is not None
    assert coat.cells["singled_out_2"].original == apart.cells["singled_out_2"].original


@pytest.mark.parametrize(
    ("attacks", "said"),
    [
        ("[tba]", "the rule tba attacks set-generalised data, these are disassociated in the variant"),
        ("[tba, aba, nothing_such]", "no rule named 'nothing_such'"),
    ],
)
def test_what_fits_no_variant_is_told(ran, attacks, said):
    with pytest.raises(DecloakError, match=said):
        ran(SETS["sets"], attacks, f"vary:\n  anonymise:\n    - {SETS['coat']}\n    - {APART}\n")


def test_what_is_expected_of_attacks_that_no_variant_has_together_is_told(ran):
    vary = f"vary:\n  anonymise:\n    - {SETS['coat']}\n    - {APART}\n"
    expected = "expect: ['precision(tba) > accuracy(aba)']\n"
    with pytest.raises(DecloakError, match="needs the attack 'aba'"):
        ran(SETS["sets"], "[tba, aba]", f"measure: [recovery, accuracy]\n{expected}{vary}")


def test_what_an_attacker_takes_for_generalised_is_not_said_to_be_hidden(call, tmp_path):
    (tmp_path / "raw.txt").write_text("".join(f"milk, bread, i{n % 7}, j{n % 3}\n" for n in range(30)))
    text = (
        "scenario: raw data, said to be published\nrelate: {measure: ngd, source: release}\nattack: [ra]\n"
        "data: {file: raw.txt, format: basket, published: {file: raw.txt, marked: false}}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert "The release hides" not in said.out
    assert "(an attacker takes 100% of the item occurrences for generalised. The release does not mark" in said.out
    assert "note: The release marks no generalised items. The attacker takes items in 2 records or more" in said.err
    assert "k = 2 is assumed, because attacker has no k" in said.err
    (card,) = json.loads(call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db", "--json").out)["cards"]
    assert (card["hidden"], card["taken_for_hidden"]) == (None, 1.0)
    (tmp_path / "s.yaml").write_text(f"{text}vary: {{attacker.k: [2, 5]}}\n")
    lines = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").out.splitlines()
    assert sum(line.startswith("– hidden: an attacker takes ") for line in lines) == 2
    assert not any(line.startswith("k=2 ") and "100%" in line for line in lines)


ALWAYS = {"people"}
SHOWN = {"people", "implied_release", *(f"singled_out_{n}_release" for n in (1, 2, 3))}
ELIMINATED = {f"singled_out_{n}{ending}" for n in (1, 2, 3) for ending in ("", "_baseline")}
KNOWN = {"hidden", "implied_original", "inferred_own_release", *(f"singled_out_{n}_original" for n in (1, 2, 3))}
GUESSED = {"inferred_own", "inferred_own_baseline"}
CERTAIN = {"certain_links", "certain_links_people"}


@pytest.mark.parametrize(
    ("data", "attack", "expected"),
    [
        ("file: d.txt, format: basket, published: r.txt", "rba", SHOWN | ELIMINATED | KNOWN | GUESSED),
        ("file: d.txt, format: basket, published: e.txt", "rba", SHOWN | KNOWN),  # it has nothing to eliminate
        ("published: r.txt", "rba", SHOWN | ELIMINATED),
        ("published: hidden.txt", "rba", ALWAYS),  # no record shows an item for certain
        ("release: c.jsonl", "aba", ALWAYS),
    ],
)
def test_a_figure_that_cannot_be_known_is_missing_and_never_0(tmp_path, data, attack, expected):
    (tmp_path / "d.txt").write_text("a,b\na,c\nd,b\n")
    (tmp_path / "r.txt").write_text("a,(b,c)\na,(b,c)\nd,(b,c)\n")
    (tmp_path / "e.txt").write_text("a,(b,e)\na,(c,e)\nd,(b,e)\n")
    (tmp_path / "hidden.txt").write_text("(a,d),(b,c)\n(a,d),(b,c)\n")
    cluster = '{"size": 2, "record_chunks": [{"items": ["a"], "subrecords": [["a"], ["a"]]}], "term_chunk": ["b"]}'
    header = '{"decloak": "release", "version": 1, "method": "disassociation", "k": 2, "m": 2}'
    (tmp_path / "c.jsonl").write_text(f"{header}\n{cluster}\n")
    scores = "a,e,0.5\n" if "e.txt" in data else "a,b,0.1\na,c,0.9\nd,b,0.2\nd,c,0.8\n"
    (tmp_path / "scores.csv").write_text("a,b,ngd\n" + scores.replace("a,e,", "x,y,"))
    relate = "relate: {measure: ngd, source: scores, file: scores.csv, unseen: none}\n"
    (tmp_path / "s.yaml").write_text(f"scenario: s\ndata: {{{data}}}\n{relate}attack: [{attack}]\n")
    run = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").variants[0]
    of_records = ("people", "singled_out", "inferred_own", "implied", "hidden", "certain_links")
    titles = {key for key in metrics_by_key() if key.startswith(of_records)}
    assert {name for (name, _), value in run.measures.items() if name in titles and value is not None} == expected


def test_of_a_disassociated_release_every_figure_is_known(ran):
    figures, *_ = ran(APART, "[random, aba]", "measure: [accuracy]\n")
    names = {name for (name, attack), value in figures.items() if attack == "aba" and value is not None}
    assert names >= SHOWN | ELIMINATED | KNOWN | GUESSED | CERTAIN


def test_where_three_items_are_guaranteed_a_note_says_that_four_are_not_counted(ran):
    for m, noted in ((2, False), (3, True)):
        method = f"{{method: cut, k: 3, m: {m}, hierarchy: {{by: random, fanout: 3}}}}"
        *_, connection = ran(method, "[tba]")
        run = read_runs(connection)[-1].run
        assert any("people are counted with up to 3" in note for note in notes_of(connection, run)) is noted


WAYS = st.none() | st.floats(0, 100)


@given(WAYS, WAYS, WAYS, WAYS)
def test_the_figure_after_an_attack_is_never_below_the_release_or_the_baseline(original, release, after, baseline):
    attacked = Change(original, release, after, baseline).attacked
    if after is None:
        assert attacked is None
    else:
        assert attacked == max(way for way in (release, after, baseline) if way is not None)


def test_a_card_names_the_largest_of_the_release_a_random_guess_and_the_attack(tmp_path, call):
    call("init", tmp_path / "s.yaml")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db", overrides=["repeat={times: 3, seed: 1}"])
    connection = connect_readonly(done.store)
    study = Study.of(connection, read_runs(connection))
    (card,) = exposure_cards(connection, study)
    (_, runs), *_ = study.variants
    sources = set()
    for figure, cell in card.cells.items():
        if cell.after is None or cell.release is None:
            continue
        assert cell.after.mean >= max(cell.release.mean, cell.baseline)
        for attack in set(study.attacks) - {"ra"}:
            assert all(value <= cell.after.mean for value in study.values(runs, figure, attack))
        largest = {"release": cell.release.mean, "random": cell.baseline}.get(cell.source)
        assert largest is None or largest == pytest.approx(cell.after.mean)
        assert largest is not None or cell.after.mean > max(cell.release.mean, cell.baseline)
        sources.add(cell.source)
    assert {"random", "rba"} <= sources
