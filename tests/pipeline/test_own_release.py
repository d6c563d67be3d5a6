"""A release from elsewhere with its ground truth is measured like one that decloak made."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import decloak
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.data.formats.plain_files import write
from decloak.data.generators.baskets import baskets
from decloak.errors import DecloakError
from decloak.releases.own_truth import suppressed_occurrences
from decloak.releases.registry import form_of
from decloak.store.opening import connect_readonly
from decloak.store.records import read_origins

MEASURES = "measure: [{exposure: {seed: 3}}, {utility: {queries: 50, itemsets: 20}}]\n"
LEFT_OUT = ("took", "reidentified_by_order")
"""Figures of the making: decloak does not know how a release from elsewhere was ordered."""
METHODS = {
    "disassociation": "{method: disassociation, k: 3, m: 2, max_cluster: 20, cover: cure}",
    "joint clusters": "{method: disassociation, k: 2, m: 2, max_cluster: 12, refine: true}",
    "generalisation": "{method: cut, k: 5, m: 2, hierarchy: {by: popularity}}",
}
ATTACKS = {"disassociation": "[expectation]", "joint clusters": "[expectation]", "generalisation": "[km_violation]"}


@pytest.fixture(scope="module")
def original() -> Dataset:
    return baskets(120, 14, 4, 5)


def figures(done: decloak.Run) -> dict:
    return {key: figure for key, figure in done.variants[0].figures.items()
            if not key[0].endswith("seconds") and key[0] not in LEFT_OUT}  # fmt: skip


def made_here(folder: Path, original: Dataset, method: str):
    """Return the run of decloak's own release, the release, and the places of the records behind its rows."""
    write(original, folder / "data.jsonl", "jsonl")
    (folder / "own.yaml").write_text(
        f"scenario: s\ndata: {{file: data.jsonl, format: jsonl}}\nanonymise: {METHODS[method]}\n"
        f"attack: {ATTACKS[method]}\n{MEASURES}"
    )
    done = decloak.run(folder / "own.yaml", store=folder / "own.db")
    with closing(connect_readonly(folder / "own.db")) as connection:
        number = connection.execute("select id from release").fetchone()[0]
        published = form_of(connection, number).load(connection, number).published
        places = read_origins(connection, number).tolist()
    return done, published, places


@pytest.mark.parametrize("method", METHODS)
def test_a_release_with_its_truth_has_the_figures_of_the_one_that_was_made_here(tmp_path, original, method):
    done, published, places = made_here(tmp_path, original, method)
    attacks = ATTACKS[method].strip("[]").split(", ")
    measures = [{"exposure": {"seed": 3}}, {"utility": {"queries": 50, "itemsets": 20}}]
    again = decloak.evaluate(published, original, places, attack=attacks, measure=measures, store=tmp_path / "other.db")
    expected, found = figures(done), figures(again)
    assert found.keys() == expected.keys()
    drawn = {key for key in found if key[1].startswith("expectation_")}  # its controls draw by the identity of the data
    assert {key: value for key, value in found.items() if value != expected[key] and key not in drawn} == {}


CHUNKS = Disassociated(
    (Cluster(3, (Chunk(("a",), (("a",), ("a",))), Chunk(("b",), (("b",), ("b",)))), ("c",)),), k=2, m=1
)
RECORDS = Dataset.of([["a", "b", "d"], ["a", "b", "c"], ["b"]])


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        ("row,record\n0.0,1\n0.1,2\n0.2,3\n", None),
        ("0.0,1\n0.1,2\n", "rows.csv: the first line is not row,record; write it above the rows"),
        ("", "rows.csv: the file is empty; expected at least one line"),
        ("row,record\n0.0\n", "rows.csv:2: 1 values instead of a row and a record; write such as 0.0,17"),
        ("row,record\n0.7,1\n", "rows.csv:2: the release has no row '0.7'; its rows are '0.0', '0.1', '0.2'"),
        ("row,record\n0.0,9\n", "rows.csv:2: there is no original record '9'; data.txt has '1', '2', '3'"),
        ("row,record\n0.0,1\n0.0,2\n",
         "rows.csv:3: the row '0.0' is named twice; name one record for every row, and every record once"),
        ("row,record\n0.0,1\n0.1,1\n",
         "rows.csv:3: the record '1' is named twice; name one record for every row, and every record once"),
        ("row,record\n0.0,1\n",
         "rows.csv: 2 of 3 rows have no record: '0.1', '0.2'; name one record for every row, and every record once"),
        ("row,record\n0.0,3\n0.1,2\n0.2,1\n",
         ("rows.csv: cluster 0, chunk 0: the records of these rows cannot show 'a'; name the record of each row, of "
         "the file that the release was made of")),
    ],
)  # fmt: skip
def test_a_file_of_rows_that_does_not_fit_is_refused_in_one_line(tmp_path, rows, answer):
    CHUNKS.write(tmp_path / "release.jsonl")
    (tmp_path / "data.txt").write_text("a,b,d\na,b,c\nb\n")
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {release: release.jsonl, original: data.txt, rows: rows.csv}\nattack: [km_violation]\n"
    )
    if answer is None:
        assert decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db").ok
        return
    with pytest.raises(DecloakError) as caught:
        decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert str(caught.value).replace(f"{tmp_path}/", "") == answer
    assert not (tmp_path / "s.db").exists()


def test_records_without_a_row_are_refused(tmp_path):
    Disassociated((Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ("b", "c")),), k=2).write(tmp_path / "release.jsonl")
    with pytest.raises(DecloakError, match="1 original records have no row: '3'"):
        decloak.evaluate(decloak.read_release(tmp_path / "release.jsonl"), RECORDS, [0, 1], store=tmp_path / "s.db")


def test_suppressed_occurrences_are_worked_out(tmp_path):
    # b stands for two of three records: one of them lost it, and d was published nowhere.
    cut = suppressed_occurrences(CHUNKS, RECORDS, np.arange(3), tmp_path / "rows.csv")
    assert sorted(cut) == [(0, "d"), (2, "b")]


def test_a_sub_record_of_a_later_chunk_needs_a_record_of_its_own(tmp_path):
    chunk = Chunk(("b", "c"), (("b", "c"), ("b", "c")))
    release = Disassociated((Cluster(3, (Chunk(("a",), (("a",), ("a",))), chunk), ()),), k=2)
    with pytest.raises(DecloakError, match="cluster 0, chunk 1: the records of these rows cannot show 'b, c'"):
        suppressed_occurrences(release, RECORDS, np.arange(3), tmp_path / "rows.csv")


def test_a_shared_chunk_loses_occurrences_too(tmp_path):
    clusters = (Cluster(2, (Chunk(("a",), (("a",), ("a",))),), ()), Cluster(2, (Chunk(("b",), (("b",), ("b",))),), ()))
    release = Disassociated(clusters, (JointCluster((0, 1), (Chunk(("x",), (("x",), ("x",))),)),), k=2)
    original = Dataset.of([["a", "x"], ["a", "x"], ["b", "x"], ["b"]])
    assert len(suppressed_occurrences(release, original, np.arange(4), tmp_path / "r")) == 1
    with pytest.raises(DecloakError, match="joint cluster 0, shared chunk 0"):
        suppressed_occurrences(release, Dataset.of([["a"], ["a"], ["b"], ["b", "x"]]), np.arange(4), tmp_path / "r")


@pytest.mark.parametrize("method", ["disassociation", "joint clusters"])
def test_what_attacks_find_does_not_depend_on_the_truth(tmp_path, original, method):
    _, published, places = made_here(tmp_path, original, method)
    published.write(tmp_path / "release.jsonl")
    (tmp_path / "alone.yaml").write_text("scenario: s\ndata: {release: release.jsonl}\nattack: [expectation]\n")
    alone = decloak.run(tmp_path / "alone.yaml", store=tmp_path / "alone.db")
    known = decloak.evaluate(published, original, places, attack=["expectation"], store=tmp_path / "known.db")
    found = []
    for done in (alone, known):
        with closing(connect_readonly(done.store)) as connection:
            found.append(connection.execute("select round(p, 12) from probability order by 1").fetchall())
    assert found[0] == found[1] != []


def test_a_family_that_does_not_fit_one_variant_is_skipped_there_with_a_note(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {generate: clinic, transactions: 40, seed: 7}\n"
        "relate: {measure: ngd, source: clinic-counts}\n"
        "vary: {anonymise: [{method: sets, size: 3, share: 0.5}, {method: disassociation, k: 3, m: 2}]}\n"
        "attack: [ra, random]\nmeasure: [recovery, accuracy, loss]\n"
    )
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    notes = [[note for note in variant.notes if "skipped measures" in note] for variant in done.variants]
    assert notes == [
        ["skipped measures, which are for other releases or attacks: accuracy"],
        ["skipped measures, which are for other releases or attacks: recovery, loss"],
    ]
