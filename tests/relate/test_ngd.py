"""NGD from counts, what to do with pairs never seen together, and the two files that counts and scores come from."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decloak.errors import DecloakError
from decloak.relate.counts_file import CountsFile, ScoresFile
from decloak.relate.ngd import bound_scores, distances, ngd
from decloak.relate.ngd_sources import ReleaseSource
from decloak.yaml.source import Source, check

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "set-generalisation.json").read_text())["unit"]["ngd"]


@dataclass(frozen=True)
class Counts:
    """A source that knows what it is told."""

    n: float
    single: dict[str, int | None]
    both: dict[tuple[str, str], int | None]

    def counts(self, terms: Sequence[str]) -> dict[str, int | None]:
        return {term: self.single.get(term) for term in terms}

    def joint(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int | None]:
        return {pair: self.both.get(pair) for pair in pairs}


def naive(fx: float | None, fy: float | None, fxy: float | None, n: float) -> float | None:
    """NGD as it is defined, None for no score."""
    if fx is None or fy is None or fxy is None or fx <= 0 or fy <= 0 or fxy < 0 or n <= min(fx, fy):
        return None
    if fxy == 0:
        return math.inf
    x, y = math.log(fx), math.log(fy)
    value = (max(x, y) - math.log(fxy)) / (math.log(n) - min(x, y))
    return None if value < 0 else value


@pytest.mark.parametrize("case", GOLDEN)
def test_ngd_gives_the_golden_figures(case):
    counts = [math.nan if case[name] is None else case[name] for name in ("fx", "fy", "fxy", "n")]
    expected = math.nan if case["ngd"] is None else float(case["ngd"])
    np.testing.assert_allclose(ngd(*counts), expected, rtol=1e-10)


@pytest.mark.parametrize("case", GOLDEN)
def test_a_pseudo_count_gives_the_golden_figures(case):
    source = Counts(case["n"], {"x": case["fx"], "y": case["fy"]}, {("x", "y"): case["fxy"]})
    scored = distances(source, [("x", "y")], unseen={"pseudo_count": 0.5}, cap="none")
    assert scored.distances == {("x", "y"): case["ngd_zero_joint_0.5"] and pytest.approx(case["ngd_zero_joint_0.5"])}


counts = st.none() | st.integers(-2, 30)


@given(st.lists(st.tuples(counts, counts, counts), min_size=1), st.integers(0, 40))
def test_ngd_of_many_pairs_is_that_of_each(rows, n):
    arrays = np.array(rows, dtype=float).T
    for value, row in zip(ngd(*arrays, n).tolist(), rows, strict=True):
        expected = naive(*row, n)
        assert math.isnan(value) if expected is None else value == pytest.approx(expected, abs=1e-12)


unseen_values = st.just("none") | st.floats(0, 1) | st.just({"pseudo_count": 0.5})


@given(
    st.dictionaries(st.sampled_from("abcd"), counts),
    st.dictionaries(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), counts),
    st.integers(1, 40),
    unseen_values,
    st.just("none") | st.floats(1, 2),
)
def test_distances_settle_pairs_never_seen_together_and_then_cut(single, both, n, unseen, cap):
    scored = distances(Counts(n, single, both), both, unseen=unseen, cap=cap)
    assert list(scored.distances) == list(both)
    for (x, y), fxy in both.items():
        value = naive(single.get(x), single.get(y), fxy, n)
        if value == math.inf and isinstance(unseen, dict):
            value = naive(single[x], single[y], unseen["pseudo_count"], n)
        elif value == math.inf:
            value = None if unseen == "none" else unseen
        if value is not None and cap != "none":
            value = min(value, cap)
        assert scored.distances[x, y] == (value if value is None else pytest.approx(value, abs=1e-12))


@given(
    st.dictionaries(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), st.none() | st.floats()),
    st.just("none") | st.floats(0, 1),
    st.just("none") | st.floats(1, 2),
)
def test_scores_of_others_are_settled_alike(scores, unseen, cap):
    found = bound_scores(scores, unseen=unseen, cap=cap).distances
    for pair, value in scores.items():
        if value == math.inf:
            expected = None if unseen == "none" else unseen
        elif value is None or math.isnan(value) or value < 0:
            expected = None
        else:
            expected = value if cap == "none" else min(value, cap)
        assert found[pair] == expected
    assert list(found) == list(scores)


def test_scores_that_are_none_are_told():
    scores = {("x", "y"): None, ("x", "z"): -1.0, ("y", "z"): 0.0}
    assert bound_scores(scores).warnings == [
        "no score for 'x' with 'y'",
        "a score below 0, which is none, for 'x' with 'z'",
    ]


def test_a_pair_asked_for_twice_is_scored_once_and_no_pair_is_no_work():
    source = Counts(100, {"x": 5, "y": 5}, {("x", "y"): 5})
    assert distances(source, [("x", "y")] * 2) == ({("x", "y"): 0.0}, [])
    assert distances(source, []) == ({}, [])


def test_counts_that_cannot_be_are_told_once_a_kind():
    single = {"many": 100, "five": 5, "six": 6, "zero": 0}
    both = {("five", "six"): 6, ("many", "five"): 0, ("zero", "five"): 0}
    pairs = [*both, ("six", "many"), *((f"new{n}", "five") for n in range(5))]
    assert distances(Counts(100, single, both), pairs).warnings == [
        "no score, because the count is missing or negative, for 'new0', 'new1', 'new2' and 2 more",
        "no score, because the count is 0, for 'zero'",
        "a count of all N = 100 documents or more, which shows of nothing that it is near, for 'many'",
        "no score, because the joint count is missing or negative, for 'six' with 'many'",
        "a joint count above one of the two single counts for 'five' with 'six'",
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("unseen: nonne", "found 'nonne'"),
        ("unseen: -0.5", "found -0.5"),
        ("unseen: .nan", "'.nan' is not a finite number"),
        ("unseen: true", "found true"),
        ("unseen: null", "found nothing"),
        ("{unseen: 2.0, cap: 1.0}", "2 would be cut to the cap of 1; raise the cap, or set it to none"),
        ("unseen: {pseudo: 0.5}", "did you mean 'pseudo_count'?"),
        ("unseen: {}", "pseudo_count"),
        ("unseen: {pseudo_count: 0}", "found 0"),
        ("unseen: {pseudo_count: 2}", "2 is not a pseudo-count; write a number above 0, at most 1"),
        ("unseen: {pseudo_count: x}", "found 'x'"),
        ("cap: x", "found 'x'"),
        ("cap: .inf", "'.inf' is not a finite number"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, expected):
    settings = settings.strip("{}") if settings.startswith("{") else settings
    with pytest.raises(DecloakError) as caught:
        check(Source.parse(f"{{measure: ngd, source: release, {settings}}}", "s.yaml"), ReleaseSource)
    assert expected in str(caught.value)


def test_a_counts_file_is_read_in_either_order_of_a_pair(tmp_path):
    (tmp_path / "data").write_text('a,b,count\n,,1000\nknee,,50\n"icd, 9",,7\nknee,"icd, 9",5\n"icd, 9",knee,5\nx,,\n')
    source = CountsFile.read(tmp_path / "data")
    assert source.n == 1000
    assert source.counts(["icd, 9", "knee", "x", "new"]) == {"icd, 9": 7, "knee": 50, "x": None, "new": None}
    both = source.joint([("icd, 9", "knee"), ("knee", "icd, 9"), ("knee", "x")])
    assert both == {("icd, 9", "knee"): 5, ("knee", "icd, 9"): 5, ("knee", "x"): None}
    assert distances(source, [("knee", "icd, 9")]).distances[("knee", "icd, 9")] == pytest.approx(naive(50, 7, 5, 1000))


def test_a_negative_count_in_a_file_is_no_score_and_is_told(tmp_path):
    (tmp_path / "c.csv").write_text("a,b,count\n,,90\nx,,-1\ny,,5\nz,,6\ny,z,-2\nx,y,3\n")
    (tmp_path / "c.json").write_text(
        '{"n": 90, "terms": {"x": -1, "y": 5, "z": 6}, "pairs": [["y", "z", -2], ["x", "y", 3]]}'
    )
    for name in ("c.csv", "c.json"):
        scored = distances(CountsFile.read(tmp_path / name), [("x", "y"), ("y", "z")])
        assert scored.distances == {("x", "y"): None, ("y", "z"): None}
        assert scored.warnings == [
            "no score, because the count is missing or negative, for 'x'",
            "no score, because the joint count is missing or negative, for 'y' with 'z'",
        ]


def test_a_scores_file_names_its_measure(tmp_path):
    (tmp_path / "data").write_text("a,b,wup\nknee,icd,.5\nicd,limbs,-1\nknee,limbs,\nicd,knee,.5\n")
    scores = ScoresFile.read(tmp_path / "data")
    assert scores.measure == "wup"
    assert scores.distances([("icd", "knee"), ("limbs", "icd"), ("limbs", "knee"), ("x", "y")]) == {
        ("icd", "knee"): 0.5, ("limbs", "icd"): -1.0, ("limbs", "knee"): None, ("x", "y"): None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (CountsFile, "a,b\n", ":1: expected the header a,b,count; write x,,7 for a term and ,,900 for all pages"),
        (CountsFile, "a,b,count\nx,,3", ": N, the number of pages, is missing or below 1; add a line ,,50000"),
        (CountsFile, "a,b,count\n,,0", ": N, the number of pages, is missing or below 1"),
        (CountsFile, "a,b,count\n,,-7", ": N, the number of pages, is missing or below 1"),
        (CountsFile, "a,b,count\n,,9\nx,,-", ":3:4: '-' is not a count"),
        (CountsFile, "a,b,count\n,,9\nx,,--1", ":3:4: '--1' is not a count"),
        (CountsFile, "a,b,count\n,,9\n,,8", ":3:3: line 2 has another value for the same; keep one of them"),
        (CountsFile, "a,b,count\nx,y,3\n,,9\ny,x,4", ":4:5: line 2 has another value for the same"),
        (CountsFile, "a,b,count\n,y,3", ":2: a second name without a first; write the only name first: x,,7"),
        (CountsFile, "a,b,count\nx,,1.5", ":2:4: '1.5' is not a count; write a whole number"),
        (CountsFile, "a,b,count\nx,," + "9" * 5000, ":2:4: '999"),
        (CountsFile, "a,b,count\nx,y,z,1", ":2: 4 values where the header has 3; put names with commas in quotes"),
        (
            ScoresFile,
            "a,c,ngd\n",
            ":1: expected a header such as a,b,ngd; name the measure in the third",
        ),
        (ScoresFile, "a,b,count\n,,9\nx,y,3", ":1: the header belongs to a file of counts; write `source: counts`"),
        (ScoresFile, '{"n": 9}', ":1: the file contains counts in JSON, not scores; write `source: counts` (--counts)"),
        (
            CountsFile,
            "a,b,ngd\nx,y,1",
            ":1: expected the header a,b,count; write x,,7 for a term and ,,900 for all",
        ),
        (ScoresFile, "a,b,ngd\nx,y,far", ":2:5: 'far' is not a number; write 0.5, or leave the cell empty"),
        (ScoresFile, "a,b,ngd\nx,,1", ":2: a score needs two names; write x,y,0.5"),
        (ScoresFile, "a,b,ngd\nx,y,1\n\ny,x,", ":3: 1 values where the header has 3"),
        (ScoresFile, "a,b,ngd\nx,y,1\ny,x,", ":3:5: line 2 has another value for the same"),
        (ScoresFile, "a,b,ngd\nx,y,nan\ny,x,nan\ny,x,1", ":4:5: line 2 has another value for the same"),
    ],
)
def test_a_counts_or_scores_file_out_of_form_is_refused_with_its_place(tmp_path, source, text, expected):
    (tmp_path / "data").write_text(text)
    with pytest.raises(DecloakError) as caught:
        source.read(tmp_path / "data")
    assert str(caught.value).removeprefix(str(tmp_path / "data")).startswith(expected)
