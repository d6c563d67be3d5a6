"""What every release has, whatever its form; and release files, which say themselves what they are."""

import json
import os
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import decloak
from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.data.formats.release_header import COVERS, LARGEST_NUMBER, LONGEST_RELEASE, RELEASE_VERSION
from decloak.data.forms import FormName, Release
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import LARGEST, ItemsetTable
from decloak.data.published import Published
from decloak.errors import DecloakError
from decloak.releases.file_formats import RELEASE_TYPES, read_header

SCHEMAS = ("release", "generalised-release", "itemset-table")

DATA = decloak.Dataset((("a", "d"), ("a", "b", "g"), ("c", "f"), ("e", "h")), ("p1", "p2", "p3", "p4"))
PRIVACY, UTILITY = [["a", "b"], ["e", "f"]], [["b", "d", "g"], ["c", "e", "f"]]


def released(method):
    options = {
        "cut": {"k": 2, "m": 1, "hierarchy": decloak.Hierarchy.balanced(DATA.items, fanout=2), "refine": True},
        "coat": {"k": 2, "privacy": PRIVACY, "utility": UTILITY},
        "sets": {"sets": [["b", "d"], ["e", "f"]]},
        "disassociation": {"k": 2, "m": 1, "max_cluster": 3},
    }
    return decloak.anonymise(DATA, method, **options[method])


SAID = {
    "cut": (FormName.GENERALISED, {"k": 2, "m": 1, "refine": True, "order": "sorted"}),
    "coat": (FormName.SET_GENERALISED, {"k": 2, "privacy": 2, "utility": 2, "order": "sorted"}),
    "sets": (FormName.SET_GENERALISED, {"sets": 2, "order": "sorted"}),
    "disassociation": (FormName.DISASSOCIATED, {"k": 2, "m": 1, "max_cluster": 3, "order": "sorted"}),
}


@pytest.mark.parametrize("method", SAID)
def test_every_result_of_anonymise_can_be_asked_the_same(method):
    release = released(method)
    form, parameters = SAID[method]
    assert isinstance(release, Release)
    assert (release.form, release.method, release.parameters) == (form, method, parameters)
    assert len(release.transactions) == len(release.ids) == len(DATA.transactions)
    assert release.ids == ("1", "2", "3", "4") or form is FormName.DISASSOCIATED


@pytest.mark.parametrize("method", SAID)
@pytest.mark.parametrize("name", ["release.txt", "release.jsonl"])
def test_every_release_is_written_and_read_back(tmp_path, method, name):
    release, path = released(method), tmp_path / name
    ids = release.form is not FormName.DISASSOCIATED
    release.write(path, ids=ids)
    plain = release.form is FormName.SET_GENERALISED and name.endswith(".txt")
    again = decloak.read_published(path, ids=True) if plain else decloak.read_release(path)
    assert again.ids == release.ids
    assert isinstance(again, Release)
    if release.form is FormName.SET_GENERALISED:
        again = again if plain else again.published
        assert [set(row) for row in again.transactions] == [set(row) for row in release.transactions]
    else:
        assert again.transactions == release.transactions


def test_the_rows_of_a_disassociated_release_show_their_anchors_and_then_nothing():
    chunks = Chunk(("a", "b"), (("b",), ("a", "b"))), Chunk(("c",), (("c",),) * 3)
    release = Disassociated((Cluster(3, chunks, ()), Cluster(1, (), ("d",))))
    assert release.transactions == (("b",), ("a", "b"), (), ())
    assert release.ids == ("0.0", "0.1", "0.2", "1.0")


def test_what_a_release_promises_is_in_its_parameters_alike():
    release = replace(released("disassociation"), k=7, m=None)
    assert release.parameters == {"k": 7, "max_cluster": 3, "order": "sorted"}
    assert Disassociated((), k=3).parameters == {"k": 3}
    assert Generalised((), {}, (), k=5, m=2).parameters == {"k": 5, "m": 2}


def test_how_a_release_was_made_does_not_make_it_another():
    for release in (Published((("a",),), ("1",)), Disassociated(())):
        assert release == replace(release, method="sets", parameters={"sets": 3})
        assert hash(release) == hash(replace(release, method="sets", parameters={"sets": 3}))


def test_a_release_promises_k_in_its_file_only_with_its_m(tmp_path):
    release = Published((("a",),), ("1",), parameters={"k": 3})
    for parameters, promised in [({"k": 3}, {}), ({"k": 3, "m": 2}, {"k": 3, "m": 2})]:
        replace(release, parameters=parameters).write(tmp_path / "r.jsonl")
        header = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])
        assert {key: header[key] for key in header.keys() & {"k", "m"}} == promised


def test_a_disassociated_release_refuses_to_be_written_with_ids(tmp_path):
    with pytest.raises(DecloakError, match="has no ids; write it without them"):
        released("disassociation").write(tmp_path / "r.jsonl", ids=True)
    assert not (tmp_path / "r.jsonl").exists()


def test_a_release_tells_nothing_that_only_its_maker_knows():
    constraints = {item for one in (*PRIVACY, *UTILITY) for item in one}
    for method in SAID:
        values = released(method).parameters.values()
        assert all(isinstance(value, int | float | str) and value not in constraints for value in values)


def test_the_loss_is_printed_as_a_float_and_compared_exactly():
    ncp, ul = released("cut").ncp, released("coat").ul
    assert f"{ul:.4f}" == "0.0118"
    assert ul == Fraction(1, 85) == ul.exact
    assert f"{ncp:.4f}" == f"{float(ncp.exact):.4f}"


@pytest.mark.parametrize("method", ["cut", "disassociation"])
def test_a_release_file_is_read_in_one_opening(tmp_path, method):
    path = tmp_path / "release.jsonl"
    released(method).write(path)
    reading, writing = os.pipe()  # what went through a pipe is not there a second time
    os.write(writing, path.read_bytes())
    os.close(writing)
    release = decloak.read_release(f"/dev/fd/{reading}")
    os.close(reading)
    header = read_header(path)
    assert release == decloak.read_release(path)
    assert (header.k, header.m) == (release.k, release.m) == (2, 1)


def test_the_schema_of_every_release_file_names_its_method():
    reference = Path(__file__).parents[2] / "docs" / "reference"
    schemas = [json.loads((reference / f"{name}.schema.json").read_text()) for name in SCHEMAS]
    assert [one["oneOf"][0]["properties"]["method"]["const"] for one in schemas] == list(RELEASE_TYPES)


def test_the_schemas_have_the_bounds_and_keys_that_are_read(tmp_path):
    reference = Path(__file__).parents[2] / "docs" / "reference"
    texts = [(reference / f"{name}.schema.json").read_text() for name in SCHEMAS]
    assert {int(bound) for text in texts for bound in re.findall(r'"maximum": (\d+)', text)} == {LARGEST_NUMBER}
    release, _, table = map(json.loads, texts)
    for header in (schema["oneOf"][0] for schema in (release, table)):
        assert header["properties"]["version"]["const"] == RELEASE_VERSION
    assert release["oneOf"][0]["properties"]["cover"]["enum"] == list(COVERS)
    ItemsetTable(4, (("a",), ("b",)), (3, 2), k=2, m=1).write(tmp_path / "t.jsonl")
    lines = list(map(json.loads, (tmp_path / "t.jsonl").read_text().splitlines()))
    for schema, line in zip(table["oneOf"], lines, strict=False):
        assert set(schema["properties"]) == set(line)
    assert table["oneOf"][1]["properties"]["items"]["maxItems"] == LARGEST


def test_a_line_too_long_for_a_release_is_refused(tmp_path):
    path = tmp_path / "release.jsonl"
    header = '{"decloak": "release", "version": 1, "method": "generalisation"}\n'
    path.write_text(f'{header}["{"x" * LONGEST_RELEASE}"]\n')
    with pytest.raises(DecloakError, match=rf":2: line of {LONGEST_RELEASE + 4} characters; at most 50,000,000"):
        decloak.read_release(path)
