"""What findings on disassociated data were chosen among: rows of the cluster, sub-records of the chunk that covers."""

from contextlib import closing

import decloak
from decloak.report.charts import comparison_in_words, comparison_svg
from decloak.rules.explain import compare_alternatives, list_findings
from decloak.store.evidence import Comparison, Rival
from decloak.store.opening import connect_readonly

SCENARIO = """\
scenario: a small clinic, disassociated
data: {generate: clinic, transactions: 60, seed: 7}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}
relate: {measure: ngd, source: clinic-counts}
attack: [mra, cover, random]
"""


def test_rows_and_chunks_are_compared(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    with closing(connect_readonly(tmp_path / "s.db")) as connection:
        given, covered = (
            compare_alternatives(connection, 1, list_findings(connection, 1, attack, 1)[0].finding)
            for attack in ("mra", "cover")
        )
        rows = connection.execute("select size from cluster where number = ?", (given.about.split()[1],)).fetchone()
    assert len(given.rivals) == rows[0]
    assert [rival.subject for rival in given.rivals].count(True) == 1
    assert {rival.note.split(",")[0] for rival in given.rivals} == {"given", "not given"}
    assert len(given.closeness) == sum(rival.note.startswith("given") for rival in given.rivals)
    (known,) = covered.known
    covering = known.partition(", by ")[2]
    assert all(rival.subject == (covering in rival.name.split(", ")) for rival in covered.rivals)
    assert any(rival.subject for rival in covered.rivals)


def test_names_in_a_picture_are_text():
    name = '</text><script>alert(1)</script> "quoted" ' + "x" * 50
    picture = comparison_svg(Comparison(name, (name,), (Rival(name, name, True, True),), {(0, 0): 0.5}))
    assert "<script" not in picture
    assert comparison_in_words(Comparison("t", ("a",), (Rival("b", "0.5", True, False),), {})) == (
        "Known: a. The members of t: b: 0.5."
    )
