"""Variants that differ in their data set alone, together: names, cards, tables, pairs and the page."""

import json
from contextlib import closing

import pytest

import decloak
from decloak.figures import Bounds
from decloak.measure.kernels.statistics import interval
from decloak.report.compare.attacks import attack_pairs
from decloak.report.risk_card import people_interval, pooled_cards
from decloak.report.study import Study
from decloak.scenario.variant import pool_variants
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs

SCENARIO = (
    "scenario: s\ndata: {generate: clinic, transactions: 60, seed: 7}\n"
    "anonymise: {method: sets, size: 3, share: 0.5}\nrelate: {measure: ngd, source: clinic-counts}\n"
    "attack: [ra, tba, rba]\nmeasure: [recovery]\nrepeat: {times: 2, seed: 1}\n"
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data-sets")
    (folder / "s.yaml").write_text(f"{SCENARIO}vary: {{data.seed: [1, 2, 3], anonymise.size: [2, 3]}}\n")
    return decloak.run(folder / "s.yaml", store=folder / "s.db")


@pytest.fixture(scope="module")
def opened(done):
    with closing(connect_readonly(done.store)) as connection:
        yield connection, Study.of(connection, read_runs(connection, [run.run for run in done.variants]))


def test_only_variants_that_differ_in_which_data_set_of_a_kind_are_one_pool():
    sizes = {f"data.seed={seed}, data.transactions={n}": {"data.seed": seed, "data.transactions": n}
             for seed in (1, 2) for n in (50, 60)}  # fmt: skip
    assert {*pool_variants(sizes)} == {
        "data.transactions=50, over 2 data sets",
        "data.transactions=60, over 2 data sets",
    }
    files = {f"data={name}": {"data": {"file": name, "format": "long"}} for name in "ab"}
    assert pool_variants(files) == {"over 2 data sets": ["data=a", "data=b"]}
    kinds = {f"data={name}": {"data": {"generate": name, "seed": 1}} for name in ("clinic", "baskets")}
    assert pool_variants(kinds) == pool_variants({"base": {}}) == pool_variants({}) == {}
    assert pool_variants({"data.seed=1": {"data.seed": 1}}) == {}


def test_a_value_that_looks_like_another_key_does_not_join_pools():
    named = {f"data.seed={seed}, attack={text}": {"data.seed": seed, "attack": text}
             for seed in (1, 2) for text in ("x, data.seed=1", "y")}  # fmt: skip
    assert {name: len(variants) for name, variants in pool_variants(named).items()} == {
        "attack=x, data.seed=1, over 2 data sets": 2, "attack=y, over 2 data sets": 2,
    }  # fmt: skip


def test_the_pools_of_a_store_are_those_of_the_run(done, opened):
    _, study = opened
    names = {measure.variant for measure in done.measures} - {run.name for run in done.variants}
    assert (
        {name for name, _ in study.pooled_variants}
        == names
        == {f"anonymise.size={n}, over 3 data sets" for n in (2, 3)}
    )
    assert all([len(runs) for runs in of_pool] == [2, 2, 2] for _, of_pool in study.pooled_variants)
    means = {(m.variant, m.measure, m.attack): m.value for m in done.measures}
    for name, of_pool in study.pooled_variants:
        values = study.values(of_pool, "precision", "rba")
        assert sum(values) / 3 == pytest.approx(means[name, "precision", "rba"])


def test_a_card_over_data_sets_has_intervals_about_the_means_of_each(opened):
    connection, study = opened
    cards = pooled_cards(connection, study)
    assert [(card.name, card.data_sets, card.people) for card in cards] == [
        ("anonymise.size=2", 3, 60), ("anonymise.size=3", 3, 60),
    ]  # fmt: skip
    for card, (_, of_pool) in zip(cards, study.pooled_variants, strict=True):
        by_data_set = [study.values(runs, "singled_out_1_release") for runs in of_pool]
        wanted = interval([sum(values) / 2 for values in by_data_set], bounds=Bounds(0.0, 60.0))
        assert card.cells["singled_out_1"].release == pytest.approx(wanted)
        assert card.as_json()["data_sets"] == 3


def test_pairs_over_data_sets_are_paired_by_data_set(opened):
    connection, study = opened
    over = [pair for pair in attack_pairs(connection, study) if "over" in pair.variant]
    assert {(pair.difference.n, pair.about) for pair in over} == {(3, "3 data sets of one kind")}
    assert len(over) == 2


def test_data_sets_of_different_sizes_have_no_card_together_and_it_is_said(tmp_path, call):
    original = "".join(f"asthma,diabetes,gout{n}\n" for n in range(20))
    (tmp_path / "a.dat").write_text(original)
    (tmp_path / "b.dat").write_text(original * 2)
    (tmp_path / "s.yaml").write_text(
        SCENARIO.replace("{generate: clinic, transactions: 60, seed: 7}", "{file: a.dat, format: basket}")
        + "vary: {data.file: [a.dat, b.dat]}\n"
    )
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db").out
    assert "The data sets have different numbers of people, so there is no mean over data sets." in said


def test_run_and_the_page_show_them_with_what_they_are_about(done, call, tmp_path):
    scenario = done.store.parent / "s.yaml"
    said = call("run", scenario, "--store", done.store).out
    assert "(baseline), over 3 data sets" in said
    assert "3 data sets of one kind" in " ".join(said.split())
    assert said.index("over 3 data sets") < said.index("The releases do not differ measurably")
    assert said.count("do not differ measurably") == 1
    found = json.loads(call("run", scenario, "--store", done.store, "--format", "json").out)
    assert [card["data_sets"] for card in found["cards"]] == [1] * 6 + [3] * 2
    call("report", "last", "--store", done.store, "-o", tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text()
    assert "Of 60 people: over 3 data sets, release" in page
    assert "means over 3 data sets, for further data sets of the kind" in page


def test_of_whom_hardly_ever_anybody_is_told_the_interval_reaches_nobody():
    rare = people_interval([0.0, 0.0, 0.0, 6.0, 0.0], 60)
    assert (
        (rare.low, rare.mean) == (0.0, 1.2) != (interval([0.0, 0.0, 0.0, 6.0, 0.0], bounds=Bounds(0.0, 60.0)).low, 1.2)
    )
    assert rare.mean < rare.high < 60
    assert people_interval([60.0, 60.0, 55.0], 60).high == 60
    usual = [3.0, 4.0, 0.0]
    assert people_interval(usual, 60) == interval(usual, bounds=Bounds(0.0, 60.0))
    assert people_interval([0.0, 0.0], 60).low is None
