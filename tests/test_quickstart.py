"""The quickstart's data are what they are said to be: counted in a corpus, generalised by decloak itself."""

import csv
import sys
from pathlib import Path

import pytest

import decloak
from decloak.anonymisers.sets import by_sets

ROOT = Path(__file__).parents[1]
CLINIC = ROOT / "scenarios" / "quickstart"
CORPUS = ROOT.parent / "shared" / "data" / "corpus_medical.tsv.xz"


def test_the_published_file_is_the_original_by_its_three_sets():
    original = decloak.read(CLINIC / "original.txt", "basket", ids=True)
    published = decloak.read_published(CLINIC / "published.txt", ids=True)
    assert len(published.generalised) == 3
    assert by_sets(original, published.generalised).transactions == published.transactions


def test_every_item_and_pair_of_the_clinic_is_counted():
    items = decloak.read(CLINIC / "original.txt", "basket", ids=True).items
    with (CLINIC / "counts.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["a"] for row in rows if row["a"] and not row["b"]} == set(items)
    assert sum(bool(row["b"]) for row in rows) == len(items) * (len(items) - 1) // 2


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus in ../shared/data is not on this machine")
def test_the_counts_are_those_of_the_corpus():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from count_terms import counts, documents

    items = decloak.read(CLINIC / "original.txt", "basket", ids=True).items
    counted = [(a, b, str(count)) for a, b, count in counts(items, documents(CORPUS, ["mtsamples", "mtsdialog"]))]
    with (CLINIC / "counts.csv").open(encoding="utf-8") as file:
        assert [tuple(row) for row in csv.reader(file)] == [("a", "b", "count"), *counted]
