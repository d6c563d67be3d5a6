"""The registry of measures: what it says of families is all that tables, helps, schemas and scenarios go by."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import decloak
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.attacker.cover import breach_total, covers, hit_records, risky_items
from decloak.cli import _code
from decloak.errors import DecloakError
from decloak.figures import WAYS
from decloak.measure.registry import FAMILIES, always_measured, family_named, metrics_by_key, selectable_families
from decloak.releases import stored
from decloak.report.attack_table import attack_tables, release_rows
from decloak.store.opening import open_store
from decloak.store.writing import read_knowledge
from test_disassociated_store import ORIGINAL, SCENARIO, clinic  # noqa: F401

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
EVERYTHING = SCENARIO.replace("bayes, cover]", "bayes, expectation, cover, cover_adjacent, breached]").replace(
    "[accuracy, breakage, breach]",
    "[accuracy, calibration, breakage, breach, time, utility, {wmd: {vectors: vectors.csv}}]",
)


@pytest.fixture
def everything(clinic):  # noqa: F811
    """A scenario of disassociated data that measures all there is."""
    items = sorted({item for line in ORIGINAL.splitlines() for item in line.split(", ")})
    Path("vectors.csv").write_text("".join(f"{item},{n},{n * n % 5}\n" for n, item in enumerate(items)))
    Path("clinic.yaml").write_text(EVERYTHING)
    return clinic


def measured(store: str) -> set[tuple[str, str]]:
    with open_store(store) as opened:
        return set(
            opened.connection.execute(
                "select m.family, f.name from measurement m join measure f on f.measurement = m.id"
            )
        )


def faults(path: Path) -> list[str]:
    with pytest.raises(DecloakError) as caught:
        decloak.run(path, store="none.db")
    return str(caught.value).splitlines()


def test_a_family_has_a_title_and_a_line_of_help_for_each_of_its_figures_and_yields_no_others(everything):
    decloak.run("clinic.yaml", store="s.db")
    decloak.run(QUICKSTART, store="s.db")
    Path("sets.yaml").write_text(
        "scenario: x\ndata: {file: original.txt, format: basket}\nattack: [km_violation]\n"
        "anonymise: {method: cut, k: 2, m: 2, hierarchy: {by: names, fanout: 3}}\n"
        "measure: [{loss: {optimum: true}}, {cost: {built: true}}, mining]\n"
    )
    decloak.run("sets.yaml", store="s.db")
    decloak.run("sets.yaml", store="s.db", overrides=["anonymise.method=vpa"])
    Path("exposure.yaml").write_text(
        "scenario: x\ndata: {generate: clinic, transactions: 160, seed: 1}\nattack: [ra]\n"
        "measure: [{exposure: {control: held_out}}]\nanonymise: {method: sets, size: 3}\n"
        "relate: {measure: ngd, source: clinic-counts}\n"
    )
    decloak.run("exposure.yaml", store="s.db")
    Path("constraints.txt").write_text("allergy,antacid\n")
    decloak.run(
        "exposure.yaml",
        store="s.db",
        overrides=[
            "measure=[{exposure: {control: held_out}}, {utility: {constraints: constraints.txt, classify: allergy}}]"
        ],
    )
    described = {(family.name, figure.key) for family in FAMILIES for figure in family.metrics}
    by_coat = {("loss", "suppressed"), ("loss", "ul_log10")}
    assert measured("s.db") == described - by_coat
    assert all(figure.title and figure.definition for family in FAMILIES for figure in family.metrics)


def test_figures_of_one_name_are_one_column():
    for family in FAMILIES:
        for figure in family.metrics:
            first = metrics_by_key()[figure.key]
            assert (figure.title, figure.count, figure.column) == (first.title, first.count, first.column)
    titles = [figure.title for figure in metrics_by_key().values() if figure.column]
    assert len(titles) == len(set(titles))


def test_the_tables_of_a_run_show_what_utility_and_word_movers_distance_measure(everything):
    done = decloak.run("clinic.yaml", store="s.db")
    columns, (row,) = release_rows(done)
    assert columns == ["top lost", "count error", "pair error", "items lost"]
    assert None not in row
    of = {row[0]: dict(zip(columns, row, strict=True)) for columns, rows in attack_tables(done).tables for row in rows}
    assert all(of["aba"][title] is not None for title in ("accuracy", "recall", "normalised advantage"))
    assert not {"top lost", "by row", "by class"} & set(of["aba"])


@pytest.mark.parametrize("model", ["strong", "moderate"])
def test_breaches_are_those_of_the_cover_problems_that_the_attack_itself_found(everything, model):
    decloak.run("clinic.yaml", store="s.db")  # by the strong attacker: not to be mistaken for those of another
    data = decloak.read("original.txt", "basket")
    made = disassociate(data, k=2, m=2, max_cluster=4, refine=True)
    run = decloak.run("clinic.yaml", store="s.db", overrides=[f"attacker.model={model}"])
    with open_store("s.db") as store:
        (attacker,) = store.connection.execute("select id from attacker where model = ?", (model,)).fetchone()
        known = read_knowledge(store.connection, attacker)
    for attack, adjacent in (("cover", False), ("cover_adjacent", True)):
        problems = covers(made.release, adjacent)
        of_all = (*(family for family in always_measured() if family.name != "findings"), family_named("utility"))
        card = {figure.key for family in of_all for figure in family.metrics}
        values = {
            name: value
            for (name, label), value in run.variants[0].measures.items()
            if label == attack and name not in card and not metrics_by_key()[name].clock
        }
        assert values.pop("findings") == sum(len(cover.problem.covered) for cover in problems)
        assert values == {
            "cover_problems": len(problems),
            "breach": breach_total(made.release, problems, known, "sound"),
            "vulnerable_items": len(risky_items(problems, known)),
            "vulnerable_records": len(hit_records(problems, data.transactions, made.truth, known)),
        }
    assert ("breach", "breached") not in run.variants[0].measures  # it derives neither size nor support


OWN = """\
rule: own
form: query
about: Some cover problems.
derives: own(cluster, chunk, item, earlier, covered, size, support)
facts: select {} from cover
because: "{{item:item}}"
reference: ours
wrong_when: never
"""


@pytest.mark.parametrize(
    ("columns", "there"),
    [
        ("cluster, chunk, item, earlier, covered, size, support", True),
        ("cluster + 100 as cluster, chunk, item, earlier, covered, size, support", False),
        ("cluster, 'T' as chunk, item, earlier, covered, size, support", False),
        ("cluster, chunk, -1 as item, earlier, covered, size, support", False),
        ("cluster, chunk, item, earlier, null as covered, size, support", False),
        ("cluster, chunk, item, earlier, covered, 'many' as size, support", False),
    ],
)
def test_breaches_are_measured_of_a_rule_of_ones_own_where_it_finds_cover_problems(everything, columns, there):
    Path("own.yaml").write_text(OWN.format(columns))
    Path("s.yaml").write_text(
        SCENARIO.replace("random, aba, rga, mra, assignment, bayes, cover", "own.yaml, cover, aba")
    )
    if there:
        values = decloak.run("s.yaml", store="s.db").variants[0].measures
        assert values["breach", "own"] == values["breach", "cover"] > 0
    else:
        said = "has '-1', the number of no item" if "-1" in columns else "in own is no cover problem of the release"
        with pytest.raises(DecloakError, match=said):
            decloak.run("s.yaml", store="s.db")


REASSOCIATE = "aba or assignment or bayes or consistent or exact or expectation or mra or random or rga"
OTHERS = "measure breach or utility"
UNFIT = "does not apply to any attack of this scenario"


@pytest.mark.parametrize(
    ("attack", "measure", "fault"),
    [
        ("cover", "accuracy",
         (f"6:11: the measure 'accuracy' {UNFIT}; attack with {REASSOCIATE}, or {OTHERS}")),
        ("breached", "breach",
         f"6:11: the measure 'breach' {UNFIT}; attack with cover or cover_adjacent, or measure utility"),
        ("cover_adjacent", "breach, accuracy",
         (f"6:19: the measure 'accuracy' {UNFIT}; attack with {REASSOCIATE}, or {OTHERS}")),
    ],
)  # fmt: skip
def test_a_measure_that_says_nothing_of_any_attack_is_an_error_at_its_place(clinic, attack, measure, fault):  # noqa: F811
    lines = SCENARIO.splitlines()[:-2]
    Path("s.yaml").write_text("\n".join([*lines, f"attack: [{attack}]", f"measure: [{measure}]", ""]))
    assert faults(Path("s.yaml")) == [f"s.yaml:{fault}"]
    assert not Path("none.db").exists()
    assert _code(["validate", "s.yaml"]) == 2


def test_a_measure_of_the_release_alone_fits_any_attack_and_what_nobody_asked_for_is_no_error(clinic):  # noqa: F811
    lines = SCENARIO.splitlines()[:-2]
    Path("s.yaml").write_text("\n".join([*lines, "attack: [cover]", ""]))
    card = {
        (title.key, "cover") for family in always_measured() if family.name != "findings" for title in family.metrics
    }
    problems = {(figure.key, "cover") for figure in family_named("breach").metrics}
    measured = set(decloak.run("s.yaml", store="s.db").variants[0].measures)
    assert measured - card == {("findings", "cover"), *problems}
    sets = ["attack=[{rule: km_violation, k: 2, m: 2}]", "measure=[loss, cost]", "expect=[]"]
    run = decloak.run(QUICKSTART, store="q.db", overrides=sets)
    assert ("labels", "km_violation") in run.variants[0].measures


def test_the_help_and_the_schema_name_every_family_and_every_figure(capsys):
    assert _code(["show", "--help"]) == 0
    said = capsys.readouterr().out
    for family in FAMILIES:
        assert f"  {family.name}: {family.about}\n" in said
        for ways in family.lines.values():
            assert next(iter(ways.values())).definition in said
        for ending, way in WAYS.items() if family.ways_in_columns else ():
            assert not ending or f"with {ending}: {way}\n" in said
    assert max(map(len, said.splitlines())) <= 80
    assert _code(["schema", "measurement", "--json"]) == 0
    (line,) = (row for row in json.loads(capsys.readouterr().out) if row["column"] == "family")
    assert line["meaning"].endswith(": " + ", ".join(family.name for family in FAMILIES))
    assert _code(["schema", "--scenario"]) == 0
    said = capsys.readouterr().out
    for family in selectable_families():
        assert f'"{family.name}"' in said


ANOTHER = """\
import json
import sys
from decloak.data.forms import FormName
from decloak.measure import registry
from decloak.measure.family import Family
from decloak.figures import Direction, Metric
figure = Metric("width", "widest attack", "rows", "how wide it is", Direction.NONE, ("width",), column=True)
registry.FAMILIES += (
    Family("width", "How wide an attack is", (figure,), lambda attacked: ([(-1, "width", 7.0, None, None)], None),
           frozenset(FormName)),
)
from decloak.cli import _code
for arguments in json.loads(sys.argv[1]):
    print("\\f", end="")
    assert _code(arguments) == 0
"""


def test_a_family_is_added_by_its_entry_in_the_registry_and_nowhere_else(tmp_path):
    calls = [
        ["run", str(QUICKSTART), "--set", "measure=[width]", "--set", "expect=[]"],
        ["show", "--help"],
        ["schema", "measurement"],
        ["schema", "--scenario"],
        ["show", "--format", "csv"],
    ]
    command = [sys.executable, "-c", ANOTHER, json.dumps(calls)]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    _, printed, helps, table, schema, figures = said.split("\f")
    head, _, first, *_ = printed.split("\n\n")[2].splitlines()  # below the verdict and the card
    assert (head.split("  ")[-1].strip(), first.split()[-1]) == ("widest attack", "7")
    assert "width  how wide it is" in helps
    assert "wmd, width" in table
    assert '"width"' in schema
    lines = [line.split(",") for line in figures.splitlines()]
    assert [line[3] for line in lines if line[0] == "mda" and line[2] == "width"] == ["7"]


def test_what_several_measures_need_of_a_release_is_read_and_worked_out_once(everything, monkeypatch):
    calls: dict[str, int] = {}

    def counted(module, name):
        kernel = getattr(module, name)

        def call(*arguments, **settings):
            calls[name] = calls.get(name, 0) + 1
            return kernel(*arguments, **settings)

        monkeypatch.setattr(module, name, call)

    from decloak.measure import utility

    for module, name in (
        (stored, "read_set_generalised"),
        (stored, "read_clusters"),
        (stored, "read_dataset"),
        (utility, "re_chunks"),
    ):
        counted(module, name)
    decloak.run("clinic.yaml", store="s.db")
    assert calls == {"re_chunks": 1}  # what was read and made is handed on
    calls.clear()
    decloak.run(QUICKSTART, store="s.db")
    assert calls == {"read_set_generalised": 1}
