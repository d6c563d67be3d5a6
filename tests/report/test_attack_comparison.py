"""Attacks of a run beside each other: what is compared, how it is said, and what is left out."""

import json
import math
import shutil
from contextlib import closing
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from click.testing import CliRunner

import decloak
from decloak.cli import cli
from decloak.measure.family import POOLED
from decloak.measure.kernels.advantage import ClaimCounts
from decloak.measure.kernels.statistics import Interval, paired_difference
from decloak.report.compare import attacks
from decloak.report.compare.attacks import AttackPair, attack_pairs, comparison_basis, describe_pairs, tabulate_pairs
from decloak.report.study import Study
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs

SETS = (
    "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\n"
    "anonymise: {method: sets, size: 3, share: 0.5}\nrelate: {measure: ngd, source: clinic-counts}\n"
    "attack: [ra, tba, wba, rba]\nmeasure: [recovery]\n"
)
CHUNKS = (
    "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\n"
    "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 12}\nrelate: {measure: ngd, source: clinic-counts}\n"
    "attack: [random, aba, mra, cover]\nattacker: {model: moderate, share: 0.3}\nmeasure: [accuracy]\n"
)


def ran(tmp_path, scenario, extra=""):
    path = tmp_path / "s.yaml"
    path.write_text(scenario + extra)
    return decloak.run(path, store=tmp_path / "s.db")


def pairs_in(done):
    with closing(connect_readonly(done.store)) as connection:
        study = Study.of(connection, read_runs(connection, [run.run for run in done.variants]))
        return attack_pairs(connection, study)


def beyond_chance(run, attack):
    """Recall, and the part that random eliminations would have had right."""
    recall, precision, chance = (run.figures[name, attack].value for name in ("recall", "precision", "baseline"))
    return recall * (precision - chance) / precision


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("repeated"), SETS, "repeat: {times: 4, seed: 1}\n")


@pytest.fixture(scope="module")
def of_two_sizes(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("sizes"), SETS, "vary: {anonymise.size: [3, 4]}\n")


def test_a_difference_is_paired_over_repetitions_at_a_level_for_all_pairs(repeated):
    done = repeated
    pairs = pairs_in(done)
    assert {frozenset((pair.first, pair.second)) for pair in pairs} == {
        frozenset(pair) for pair in (("tba", "wba"), ("tba", "rba"), ("wba", "rba"))
    }
    for pair in pairs:
        first, second = ([beyond_chance(run, name) for run in done.variants] for name in (pair.first, pair.second))
        assert pair.level == pytest.approx(1 - 0.05 / 3)
        assert pair.difference.mean == pytest.approx(sum(first) / 4 - sum(second) / 4)
        assert pair.difference.mean >= 0
        wide = paired_difference(first, second, pair.level)
        assert pair.difference.high - pair.difference.low == pytest.approx(wide.high - wide.low, rel=0.2)
        assert pair.about == "4 repetitions of one data set"


@pytest.mark.parametrize("scenario", [SETS, CHUNKS])
def test_of_one_release_parts_are_resampled_and_coins_left_out(tmp_path, scenario):
    done = ran(tmp_path, scenario)
    (run,) = done.variants
    pairs = pairs_in(done)
    assert not {"ra", "random", "cover"} & {name for pair in pairs for name in (pair.first, pair.second)}
    for pair in pairs:
        shares = [run.figures["recall", name] for name in (pair.first, pair.second)]
        chances = [run.figures["baseline", name] for name in (pair.first, pair.second)]
        first, second = ((r.part - c.part) / r.whole for r, c in zip(shares, chances, strict=True))
        assert pair.difference.mean == pytest.approx(first - second, abs=1e-9)
        assert -1 <= pair.difference.low < pair.difference.mean < pair.difference.high <= 1
        assert pair.about == f"{pair.difference.n} parts of this release resampled"


def test_variants_are_all_considered(of_two_sizes):
    pairs = pairs_in(of_two_sizes)
    assert len(pairs) == 6
    assert {pair.level for pair in pairs} == {1 - 0.05 / 6}


def test_repetitions_that_do_not_differ_are_one_release(tmp_path):
    pairs = pairs_in(ran(tmp_path, CHUNKS, "repeat: {times: 3, seed: 1}\n"))
    assert [pair.difference.n for pair in pairs] == [9]
    assert "parts of this release" in pairs[0].about


def test_of_one_table_nothing_is_said(example):
    done = decloak.run(example / "scenario.yaml", store=example / "s.db")
    assert pairs_in(done) == []


def test_an_attack_with_nothing_to_go_by_is_not_compared(tmp_path):
    nothing = SETS.replace(
        "relate: {measure: ngd, source: clinic-counts}\n", "relate: {measure: ngd, source: scores, file: s.csv}\n"
    )
    (tmp_path / "s.csv").write_text("a,b,ngd\nx,y,0.5\n")
    assert pairs_in(ran(tmp_path, nothing)) == []


def pair(first, second, *ahead, variant="base", about="ten repetitions of one data set"):
    return AttackPair(variant, first, second, Interval(*ahead, 10), 0.98, about)


RBA = [pair("rba", "gba", 0.03, 0.02, 0.041), pair("rba", "mda", 0.2, 0.18, 0.22)]


def test_the_sentence_names_the_attacks_that_recover_significantly_less():
    pairs = [*RBA, pair("rba", "tba", 0.004, -0.01, 0.02), pair("gba", "mda", 0.17, 0.1, 0.2)]
    assert describe_pairs(pairs) == "rba recovers significantly more than gba and mda (4 pairs, 95% intervals)"
    assert describe_pairs([pair("rba", "gba", 0.01, -0.01, 0.02)]) == (
        "rba does not recover significantly more than another attack (1 pair, 95% intervals)"
    )
    assert describe_pairs([*pairs, pair("gba", "rba", 0.0, -0.1, 0.1, variant="k=3")]) == (
        "one attack recovers significantly more than another in 1 of 2 variants (5 pairs, 95% intervals)"
    )
    assert comparison_basis(pairs) == (
        "recall advantage in points, 95% intervals, all 4 pairs compared, ten repetitions of one data set"
    )


def test_the_table_has_a_line_for_each_pair():
    other = [pair("gba", "rba", 0.0, -0.1, 0.1, variant="k=3")]
    assert tabulate_pairs(RBA)[1][0] == ["rba", "gba", "+3.0 (+2.0 to +4.1)", "rba recovers more"]
    assert tabulate_pairs([*RBA, *other])[1][2] == [
        "k=3",
        "gba",
        "rba",
        "+0.0 (-10.0 to +10.0)",
        "no significant difference",
    ]


def test_run_show_and_the_page_say_it_and_json_has_the_numbers(repeated, tmp_path):
    path, store = tmp_path / "s.yaml", shutil.copy(repeated.store, tmp_path / "s.db")
    path.write_text(f"{SETS}repeat: {{times: 4, seed: 1}}\n")
    said = CliRunner().invoke(cli, ["run", str(path), "--store", store]).stdout
    assert "Comparison of attacks: tba recovers significantly more than wba (3 pairs, 95% intervals)." in said
    found = json.loads(CliRunner().invoke(cli, ["run", str(path), "--store", store, "--format", "json"]).stdout)
    assert {*found["pairs"][0]} == {"variant", "first", "second", "difference", "low", "high", "n", "level"}
    shown = " ".join(CliRunner().invoke(cli, ["show", "last", "--store", store]).stdout.split())
    assert "all 3 pairs compared, 4 repetitions of one data set" in shown
    page = tmp_path / "s.html"
    CliRunner().invoke(cli, ["report", "last", "--store", store, "-o", str(page)])
    assert "Comparison of attacks: " in page.read_text()


SWEEP = """\
scenario: two sizes
data: {generate: clinic, transactions: 40, seed: 7}
anonymise: {method: sets, size: 2, share: 0.2}
relate: {measure: ngd, source: clinic-counts}
attack: [ra, tba]
vary: {anonymise.size: [2, 4]}
"""
TWO = ("compare", "anonymise.size=2", "anonymise.size=4")


def test_two_variants_differ_by_the_mean_over_pairs_with_the_interval_of_these(call, tmp_path):
    (tmp_path / "s.yaml").write_text(SWEEP + "repeat: {times: 4, seed: 1}\n", encoding="utf-8")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    by_repetition = {(run.name, run.repetition): run.measures for run in done.variants}
    values = {
        size: [by_repetition[f"anonymise.size={size}", number]["recall", "tba"] for number in (1, 2, 3, 4)]
        for size in (2, 4)
    }
    ahead = [four - two for two, four in zip(values[2], values[4], strict=True)]
    mean, half = fmean(ahead), 3.182446305 * stdev(ahead) / 2  # Student's t of three degrees of freedom, four pairs
    rows = json.loads(call(*TWO, "--json", "--store", tmp_path / "s.db").out)
    (row,) = [row for row in rows if (row["attack"], row["measure"]) == ("tba", "recall")]
    assert [row["anonymise.size=2"], row["anonymise.size=4"]] == pytest.approx([fmean(values[2]), fmean(values[4])])
    assert (row["change"], row["pairs"]) == (pytest.approx(mean), 4)
    low, high = (math.atanh(mean) + way * half / (1 - mean**2) for way in (-1, 1))  # within -1 and 1
    assert (row["low"], row["high"]) == pytest.approx((math.tanh(low), math.tanh(high)), abs=1e-6)
    said = call(*TWO, "--store", tmp_path / "s.db").out
    assert "over 4 pairs of repetitions with the same seeds" in said
    (line,) = [line for line in said.splitlines() if line.startswith("recovery") and "tba" in line and "recall" in line]
    assert f"{mean:.3f} (" in line


def test_a_change_without_pairs_says_why_it_has_no_interval(call, tmp_path):
    (tmp_path / "s.yaml").write_text(SWEEP, encoding="utf-8")
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    said = call(*TWO, "--store", tmp_path / "s.db").out
    assert "– no change has an interval, because there is one run of each" in said
    path = tmp_path / "s.yaml"
    path.write_text(SWEEP.replace("anonymise.size: [2, 4]", "data.seed: [7, 8]") + "repeat: {times: 2}\n")
    decloak.run(path, store=tmp_path / "other.db")
    other = ("compare", "data.seed=7", "data.seed=8", "--store", tmp_path / "other.db")
    assert "have no repetitions with the same seeds, which would pair them" in call(*other).out
    rows = json.loads(call(*other, "--json").out)
    assert {(row["low"], row["high"], row["pairs"]) for row in rows} == {(None, None, 0)}
    assert any(row["change"] for row in rows)
    three = call(*TWO, "1", "--json", "--store", tmp_path / "s.db")
    assert "change" not in json.loads(three.out)[0]


def test_a_change_that_all_pairs_share_says_why_it_has_no_interval(call, tmp_path):
    path = tmp_path / "s.yaml"
    method = "{method: cut, k: 2, m: 1, hierarchy: {by: names, fanout: 3}}"  # of which every draw is the same
    text = f"scenario: s\ndata: {{generate: clinic, transactions: 40, seed: 7}}\nanonymise: {method}\n"
    path.write_text(f"{text}repeat: {{times: 2}}\nattack: [km_violation]\nvary: {{anonymise.k: [2, 9]}}\n")
    decloak.run(path, store=tmp_path / "s.db")
    said = call("compare", "anonymise.k=2", "anonymise.k=9", "--store", tmp_path / "s.db").out
    assert "– a change without an interval is the same in all pairs" in said
    assert "no change has an interval" not in said


def test_the_level_of_an_advantage_counts_all_attacks_and_variants(of_two_sizes):
    done = of_two_sizes
    with closing(connect_readonly(done.store)) as connection:
        study = Study.of(connection, read_runs(connection, [run.run for run in done.variants]))
        advantages = attacks.advantages_of(connection, study.runs, attacks.attacks_with_baseline(connection, study))
    assert [(one.variant, one.attack) for one in advantages] == [
        (run.name, name) for run in done.variants for name in ("tba", "wba", "rba")
    ]
    assert {one.level for one in advantages} == {1 - 0.05 / 6}
    assert {(one.repeated, one.survived) for one in advantages} == {(False, ())}


def release(attack, control, scopes=12):
    """Give the claims of an attack and its control in one release: of ten in each scope so many are right."""
    made = {}
    for label, right in (("rba", attack), ("rba-control", control)):
        counts = {scope: ClaimCounts(10, right + scope % 2, 5) for scope in range(1, scopes + 1)}
        made[label] = {POOLED: ClaimCounts(10 * scopes, sum(one.right for one in counts.values()), 5 * scopes)} | counts
    return made


@pytest.mark.parametrize(
    ("kind", "attack", "control", "survives"),
    [
        ("labels", 8, 3, False),  # much better than with permuted labels: the names told it
        ("labels", 6, 6, True),
        ("labels", 5, 8, True),
        ("contexts", 8, 3, False),
        ("contexts", 6, 6, True),
        ("order", 8, 3, True),  # better than with another order: the order told it
        ("order", 6, 6, False),
        ("order", 5, 8, False),
        ("nothing", 8, 3, False),
    ],
)
def test_what_an_attack_owes_to_a_control(kind, attack, control, survives):
    assert attacks._survives([release(attack, control)], "rba", "rba-control", kind) is survives


def test_a_control_that_claims_nothing_shows_nothing():
    made = release(6, 6) | {"rba-control": {POOLED: ClaimCounts(0, 0, 0)}}
    assert not attacks._survives([made], "rba", "rba-control", "labels")
    assert not attacks._survives([{"rba": made["rba"]}], "rba", "rba-control", "labels")


def test_equal_repetitions_are_one_release_and_different_ones_are_repeated():
    same, other = release(6, 6)["rba"], release(8, 8)["rba"]
    once = attacks._interval([same], 0.95)
    assert (once.n, attacks._interval([same, same], 0.95)) == (12, once)
    assert attacks._interval([same, other], 0.95).n == 2
    pooled = [made[POOLED] for made in (same, same, other)]
    advantage = attacks.AttackAdvantage("base", "rba", tuple(pooled[:2]), once, True, 0.95)
    assert not advantage.repeated
    assert replace(advantage, repetitions=tuple(pooled)).repeated


def test_intervals_of_several_kinds_are_named_together():
    one = AttackPair("base", "rba", "wba", Interval(0.1, 0.05, 0.15, 4), 0.95, "4 repetitions of one data set")
    parts = [replace(one, about=f"{number} parts of this release resampled") for number in (8, 9)]
    assert "4 repetitions of one data set" in comparison_basis([one])
    assert comparison_basis(parts[:1]).endswith("one pair compared, 8 parts of this release resampled")
    assert comparison_basis(parts).endswith("both pairs compared, the parts of a release resampled")
