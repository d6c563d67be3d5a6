"""The names that other people's code imports: few, documented, with the signatures they were promised."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
import pytest

import decloak
from conftest import DISTANCES
from decloak.advice.screen import Advice
from decloak.cli import COMMANDS, cli
from decloak.errors import DecloakError

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(decloak.__path__, "decloak.") if module.name != "decloak.__main__"
)
if find_spec("numba") is None:
    kernels = (
        "anonymisers.kernels.counting_numba",
        "anonymisers.kernels.horpart_numba",
        "measure.kernels.accuracy_loops",
    )
    for compiled in (*kernels, "rules.reassociate.cluster_loops"):  # they are imported only where numba is
        MODULES.remove(f"decloak.{compiled}")
EXAMPLES = [name for name in MODULES if ">>> " in Path(find_spec(name).origin).read_text(encoding="utf-8")]


def test_there_are_twenty_five_names_and_all_are_there():
    assert len(decloak.__all__) == 25
    assert decloak.__all__ == sorted(decloak.__all__)
    assert dir(decloak) == decloak.__all__
    for name in decloak.__all__:
        assert getattr(decloak, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        decloak.nothing  # noqa: B018


@pytest.mark.parametrize("name", [name for name in decloak.__all__ if name != "__version__"])
def test_every_name_has_a_docstring(name):
    found = getattr(decloak, name)
    assert inspect.getdoc(found)
    assert found.__module__.startswith("decloak")


@pytest.mark.parametrize("name", ["Dataset", "DecloakError", "anonymise", "eliminate", "violations"])
def test_every_name_that_needs_no_file_has_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(decloak, name)) or "")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_in_the_docstrings_hold(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = [one for name in MODULES for one in finder.find(importlib.import_module(name)) if one.examples]
    assert len(examples) >= 20


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_and_what_it_gives(name):
    module = importlib.import_module(name)
    if not Path(str(module.__file__)).read_text().strip():
        return  # the mark of a package
    assert module.__doc__
    for one in getattr(module, "__all__", ()):
        assert hasattr(module, one), one
    # Names without an underscore are what a module gives, so nobody takes another one.
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    taken = [one.name for node in imported if str(node.module).startswith("decloak") for one in node.names]
    assert not [one for one in taken if one.startswith("_") and one != "__version__"]


def parameters(function) -> dict[str, object]:
    return {name: one.default for name, one in inspect.signature(function).parameters.items()}


def test_the_signatures_are_those_of_the_design():
    empty = inspect.Parameter.empty
    assert list(parameters(decloak.read))[:2] == ["path", "format"]
    assert parameters(decloak.run)["scenario"] is empty
    assert parameters(decloak.run)["store"] == "store.db"
    assert list(parameters(decloak.violations)) == ["transactions", "k", "m"]
    found = parameters(decloak.eliminate)
    assert list(found)[:4] == ["distances", "rule", "threshold", "ratio"]
    assert (found["distances"], found["rule"], found["threshold"], found["ratio"]) == (empty, "rba", None, 1.0)


def test_read_gives_items_transactions_and_origin(tmp_path):
    (tmp_path / "visits.csv").write_text("tid,item\n1,milk\n1,bread\n2,milk\n")
    data = decloak.read(tmp_path / "visits.csv", format="long")
    assert data.items == ("bread", "milk")
    assert data.transactions == (("milk", "bread"), ("milk",))
    assert data.origin == str(tmp_path / "visits.csv")
    assert decloak.violations(data, k=2, m=1) == [(frozenset({"bread"}), 1)]
    assert decloak.violations(iter([["milk", "bread"], {"milk"}]), k=2, m=1) == [(frozenset({"bread"}), 1)]


def test_run_gives_measures_variants_and_a_verdict(example, tmp_path):
    run = decloak.run(str(example / "scenario.yaml"), store=str(tmp_path / "s.db"))
    assert run.ok is True
    assert [variant.name for variant in run.variants] == ["base"]
    assert {one.attack for one in run.measures} == {"mda", "tba", "wba", "gba", "rba"}
    with pytest.raises(AttributeError):
        run.scenario = "another"


def test_eliminate_gives_what_is_kept_the_steps_and_the_threshold():
    done = decloak.eliminate(np.array(list(DISTANCES.values())), rule="gba")
    assert done.kept.dtype == bool
    assert done.kept.shape == (4, 4)
    assert (~done.kept).sum() == len(done.steps) == 5
    assert done.steps[0] == (1, 2, 1, "col", 1, pytest.approx(0.80, abs=0.005))
    assert done.threshold == pytest.approx(0.4451, abs=5e-5)
    assert decloak.eliminate([[1, None], [None, 1]], rule="mda").threshold is None


def test_eliminate_takes_a_table_in_any_shape_of_numbers():
    table = list(DISTANCES.values())
    expected = decloak.eliminate(table).kept
    for same in (
        np.array(table),
        np.array(table, dtype=np.float32).astype(float).round(2),
        [list(row) for row in table],
    ):
        np.testing.assert_array_equal(decloak.eliminate(same).kept, expected)
    with_gap = [list(row) for row in table]
    with_gap[2][1] = None
    as_nan = np.array(with_gap, dtype=float)
    np.testing.assert_array_equal(decloak.eliminate(with_gap).kept, decloak.eliminate(as_nan).kept)
    assert decloak.eliminate(as_nan).kept[2, 1]
    assert decloak.eliminate([]).kept.shape == (0, 0)
    assert decloak.eliminate([]).steps == []


def test_a_threshold_replaces_and_a_ratio_scales():
    table = list(DISTANCES.values())
    own = decloak.eliminate(table, rule="tba")
    assert decloak.eliminate(table, rule="tba", ratio=2.0).threshold == pytest.approx(2 * own.threshold)
    assert decloak.eliminate(table, rule="tba", threshold=1.6).threshold == 1.6
    assert len(decloak.eliminate(table, rule="tba", threshold=1.6).steps) == 7


def test_the_seed_decides_what_coins_do():
    table = np.random.default_rng(1).random((8, 8))
    kept = [decloak.eliminate(table, rule="ra", seed=seed).kept.tobytes() for seed in range(8)]
    assert len(set(kept)) > 1
    assert kept == [decloak.eliminate(table, rule="ra", seed=seed).kept.tobytes() for seed in range(8)]


@pytest.mark.parametrize(
    ("distances", "settings", "expected"),
    [
        ([[1, 2], [3]], {}, "the distances are no table of numbers; "),
        ([["far"]], {}, "the distances are no table of numbers; "),
        ([1, 2], {}, "the distances have 1 dimensions; "),
        ([[[1]]], {}, "the distances have 3 dimensions; "),
        ("text", {}, "the distances are no table of numbers; "),
        ([[1]], {"rule": "gbaa"}, "no rule named 'gbaa'; did you mean 'gba'?"),
        ([[1]], {"rule": "cover"}, "the rule 'cover' is no eliminate rule; run it in a scenario instead"),
        ([[1]], {"threshold": float("nan")}, "the threshold is nan; give a number"),
        ([[1]], {"ratio": -1.0}, "the ratio is -1.0; give a number of at least 0"),
        ([[1]], {"rule": "none.yaml"}, str(Path("none.yaml").absolute()) + ": no such file; "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(distances, settings, expected):
    with pytest.raises(DecloakError) as caught:
        decloak.eliminate(distances, **settings)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_the_package_is_typed():
    assert (Path(decloak.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "the data are '3', not a list of records"),
        ("milk", "the data are 'milk', not a list of records"),
        ([["a"], 3], "record 2 is '3', not a list of items"),
        ([["a"], None], "record 2 is 'None', not a list of items"),
        ([["a"], "milk"], "record 2 is 'milk', not a list of items"),
        ([["a"], [["b"]]], "an item of record 2 is '['b']', not a string"),
        ([["a"], [b"b"]], "an item of record 2 is 'b'b'', not a string"),
    ],
)
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("cut", {"k": 1, "m": 1, "hierarchy": decloak.Hierarchy.balanced(["a", "b"], fanout=2)}),
        ("coat", {"k": 1, "privacy": [["a"]], "utility": [["a"]]}),
        ("disassociation", {"k": 2, "m": 1, "max_cluster": 2}),
        ("sets", {"sets": [["a", "b"]]}),
    ],
)
def test_data_that_are_no_lists_of_strings_are_refused_by_every_method(method, options, data, message):
    with pytest.raises(decloak.DecloakError) as error:
        decloak.anonymise(data, method, **options)
    assert str(error.value) == f"{message}; give each record as a list of strings"


def test_transactions_given_as_sets_are_published_in_the_order_of_names():
    many = "bacdefghijklm"
    release = decloak.anonymise([set(many), frozenset(many)], "sets", sets=[["a", "c"]])
    assert release.transactions == ((("a", "c"), "b", *"defghijklm"),) * 2


@pytest.mark.parametrize("call", ["cover_problems", "breach", "reassociate"])
@pytest.mark.parametrize("release", [object(), None, [["a", "b"]], "<script>\n", "sets"])
def test_what_is_no_disassociated_release_is_refused_in_a_line(call, release):
    if release == "sets":
        release = decloak.anonymise([["a", "b"], ["a"]], "sets", sets=[["a", "b"]])
    further = [{}] if call == "reassociate" else []
    with pytest.raises(decloak.DecloakError, match="and this is about disassociated ones; read one with") as error:
        getattr(decloak, call)(release, *further)
    assert len(str(error.value).splitlines()) == 1


def test_knowledge_that_is_no_list_is_refused_in_a_line():
    release = decloak.anonymise([["a", "b"], ["a", "b"]], "disassociation", k=2, m=1, max_cluster=2)
    with pytest.raises(decloak.DecloakError, match="the knowledge is '5'; give a list of itemsets"):
        decloak.breach(release, knowledge=5)


def test_what_a_notebook_prints_of_many_records_and_figures_is_a_line(tmp_path):
    few = decloak.Dataset.of([["a", "b"], ["a"]])
    assert eval(repr(few), {"Dataset": decloak.Dataset}) == few
    assert repr(decloak.Dataset.of([["secret", "b"]] * 1200)) == ("<Dataset of 1,200 records, 2 items, from 'memory'>")
    text = "scenario: s\ndata: {generate: clinic, transactions: 12, seed: 3}\nattack: [km_violation]\n"
    (tmp_path / "s.yaml").write_text(f"{text}anonymise: {{method: cut, k: 2, m: 1, hierarchy: {{by: names}}}}\n")
    done = decloak.run(tmp_path / "s.yaml", store=tmp_path / "s.db")
    assert repr(done).startswith("<Run of 's' in ")
    assert repr(done).endswith(f"s.db': 1 run, {len(done.measures)} figures, ok=True>")


HOSTILE = "<script>alert(1)</script>\x1b[31m"


def test_every_value_has_a_short_repr_and_a_table_for_notebooks():
    rows = [["a", "b", HOSTILE], ["a", "c", HOSTILE]] * 300
    tree = decloak.Hierarchy.balanced(["a", "b", "c", HOSTILE, *map(str, range(500))], fanout=5)
    values = [
        decloak.Dataset.of(rows),
        tree,
        decloak.anonymise(rows, "cut", k=2, m=1, hierarchy=tree),
        decloak.anonymise(rows, "sets", sets=[["a", "b"], [HOSTILE, "c"]]),
        decloak.anonymise(rows, "disassociation", k=2, m=2, max_cluster=10),
        decloak.anonymise(rows, "coat", k=2, privacy=[["a"]], utility=[["a", "b"], ["c", HOSTILE]]),
    ]
    for value in values:
        assert len(repr(value)) <= 500
        assert "\x1b" not in repr(value)
        html = value._repr_html_()
        assert "<script" not in html
        assert "\x1b" not in html
        assert html.count("<tr>") == 6
        assert re.search(r"and [\d,]+ more", html)
        assert len(html) < 10_000


def test_a_small_value_is_printed_in_full():
    release = decloak.anonymise([["a", "b"], ["a", "b"]], "disassociation", k=2, m=1, max_cluster=2)
    assert repr(release).startswith("Disassociated(clusters=(Cluster(size=2")
    assert "more" not in release._repr_html_()


def test_first_mistakes_in_a_notebook_are_told_in_a_line(tmp_path):
    with pytest.raises(DecloakError, match="unknown format 'csv'; long has one item per row, onehot"):
        decloak.read(tmp_path / "visits.csv", "csv")
    with pytest.raises(DecloakError, match="scenario: missing key 'data'; add it"):
        decloak.run({"scenario": "s"})


def test_every_method_has_an_overload_with_its_options_and_their_defaults():
    from typing import get_args, get_overloads, get_type_hints

    from decloak.anonymisers.registry import METHODS, PARTS, anonymise

    typed = {}
    for overload in get_overloads(anonymise):
        names = get_args(get_type_hints(overload)["method"]) or ()
        options = {
            name: one for name, one in inspect.signature(overload).parameters.items() if one.kind is one.KEYWORD_ONLY
        }
        typed |= dict.fromkeys(names, options)
    assert typed.keys() == METHODS.keys()
    for name, options in typed.items():
        method = METHODS[name]
        assert options.keys() - {"order"} == method.required | method.optional, name
        assert {key for key, one in options.items() if one.default is one.empty} == method.required, name
        fields = PARTS[name].model_fields
        for key in method.optional & fields.keys():
            assert options[key].default == fields[key].default, (name, key)


PRINTED = "Python returns values, which print and convert themselves"
ANSWERED = "for build servers, which start commands"
READ = {
    "--input": "read.format", "--ids": "read.ids", "--separator": "read.separator", "--within": "read.within",
    "--column": "read.columns", "--fill-down": "read.fill_down", "--header-row": "read.header_row",
    "--header-line": "read.header", "--repeats": "read.repeats", "--transaction": "read.transaction",
    "--item": "read.item", "--as-said": "read never doubts the format that it is given",
}  # fmt: skip
SHOWN = {"--json": PRINTED, "--format": PRINTED}
STORED = {"RUN": "Run.read.names", "RUNS": "Run.read.names", "--store": "Run.read.store"}
IN_PYTHON = {
    "look": {"FILE": "look.path", **SHOWN},
    "validate": {"SCENARIOS": "Scenario.check", "--set": "run.overrides", "--key": ANSWERED},
    "advise": {
        "DATA": "advise.data", "--accept": "advise.accept", "--hierarchy": "advise.hierarchies",
        "--constraints": "advise.constraints", "--sensitive": "advise.sensitive", "--control": "advise.control",
        "--readers": "advise.readers", "--workload": "advise.workload", "--budget": "advise.budget",
        "--jobs": "advise.jobs", "--seed": "advise.seed", "--store": "advise.store",
        "--write": "Advice.write.path", "--front": "Advice.write.front",
        "--all": PRINTED, **SHOWN,
    },
    "run": {
        "SCENARIO": "run.scenario", "--store": "run.store", "--set": "run.overrides", "--allow-send": "run.allow_send",
        "--dry-run": "Scenario.check", "--jobs": "run.jobs", "--memory": "run.memory", "--dask": "run.dask",
        "-k": "run.only", "--brief": PRINTED, "--verbose": "run.progress", "--figures": "Run.frame",
        "--against": "compare.run", "--tolerance": ANSWERED, "--junit": ANSWERED, "--sarif": ANSWERED, **SHOWN,
    },
    "check": {
        "FILE": "check.release", **READ, "--k": "check.k", "--m": "check.m", "--whole": "check.kind",
        "--links": "check.kind", "--negative": "check.kind", "--constraints": "check.constraints",
        "--most": "check.most", "--junit": ANSWERED, "--sarif": ANSWERED, **SHOWN,
        "--parts": "check.parts", "--zeros": "check.zeros",
    },
    "publish": {
        "RUN": "publish.run", "FILE": "publish.file", "--original-ids": "publish.original_ids",
        "--text": "publish.text", "--cut": "publish.cut", "--store": "publish.run",
    },
    "show": {**STORED, "--controls": "Run.frame", "--tables": "the table result_by_table, by SQL", **SHOWN},
    "compare": {"RUNS": "compare.variants", "--store": "compare.run", **SHOWN},
    "explain": {
        "RUN": "explain.variant", "TRANSACTION": "explain.record", "ITEM": "explain.item", "--attack": "explain.attack",
        "--finding": "graph.finding", "--most": "explain.most", "--graph": "graph.finding", "--svg": "graph.finding",
        "--store": "explain.run", **SHOWN,
    },
    "report": {
        **STORED, "--output": "Run.report.path", "--with-evidence": "Run.report.evidence",
        "--with-originals": "Run.report.originals",
    },
    "plot": {
        **STORED, "--of": "Run.plot.figure", "--x": "Run.plot.x", "--y": "Run.plot.figure", "--by": "Run.plot.by",
        "--output": "the result writes itself",
    },
    "graph": {
        "--store": "graph.run", "--run": "graph.variant", "--cluster": "graph.cluster", "--finding": "graph.finding",
        "--knows": "graph.knows", "--format": "networkx writes the result", "--around": "networkx selects nodes",
        "--hops": "networkx selects nodes", "--originals": "graph.originals", "--output": "networkx writes the result",
    },
}  # fmt: skip
"""For each option of a command with a function in Python: the parameter or method that takes its place, or the reason
why there is none."""


def names_of(command: str) -> set[str]:
    found = cli.get_command(click.Context(cli), command).params
    return {max(one.opts, key=len) if isinstance(one, click.Option) else one.name.upper() for one in found}


def test_every_command_has_a_function_in_python_or_a_documented_reason():
    text = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `decloak ([a-z]+)` ", text, re.MULTILINE)) == set(COMMANDS)
    alone = text.partition("These commands have no function:")[2].partition("\n\nAn error")[0]
    assert set(re.findall(r"^\| `decloak ([a-z]+)` ", alone, re.MULTILINE)) == COMMANDS.keys() - IN_PYTHON.keys()


@pytest.mark.parametrize("command", IN_PYTHON)
def test_every_option_of_a_command_has_a_place_in_python_or_a_reason(command):
    taken = IN_PYTHON[command]
    assert names_of(command) <= taken.keys(), names_of(command) - taken.keys()
    for place in taken.values():
        parts = place.split(".")
        if " " in place or parts[0] not in (*decloak.__all__, "Advice"):
            continue
        value = Advice if parts[0] == "Advice" else getattr(decloak, parts[0])
        del parts[0]
        while parts:
            name = parts.pop(0)
            if hasattr(value, name):
                value = getattr(value, name)
            else:
                assert name in inspect.signature(value).parameters, place


def test_stored_results_are_read_without_the_scenario_and_its_data(example, tmp_path):
    done = decloak.run(str(example / "scenario.yaml"), store=tmp_path / "s.db")
    shutil.rmtree(example)
    again = decloak.Run.read(tmp_path / "s.db")
    assert str(again.verdict) == str(done.verdict)
    assert again.measures == done.measures
    assert again.exposure.rows == done.exposure.rows
    assert (again.report(tmp_path / "page.html")).read_text().startswith("<!")
    assert decloak.explain(again).rows == decloak.explain(done).rows
    assert decloak.Run.read(tmp_path / "s.db", "base").variants[0].run == 1
    with pytest.raises(DecloakError, match="no run 'bose'; did you mean 'base'"):
        decloak.Run.read(tmp_path / "s.db", "bose")
