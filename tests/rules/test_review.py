"""Rules are reviewed: lint finds faults, coverage finds clauses that decide no test, a pack keeps its files."""

import json
import shutil

import pytest

from decloak.errors import DecloakError
from decloak.rules.load import Catalogue, bundled_files
from decloak.rules.pack import MANIFEST, check_packed
from decloak.rules.review import lint, rule_coverage, sql_conditions
from slowly import slow_but
from test_rule_tests import FACTS, GRID
from test_rules_load import ELIMINATE, QUERY, written

SOUND = QUERY.replace("form: query", "id: mine-0001\nform: query")


def faults(folder):
    return [f"{fault.message}; {fault.hint}" for fault in lint(folder / "mine.yaml")[1]]


def test_every_included_rule_passes_lint(call):
    assert lint()[1] == []
    done = call("rules", "lint")
    assert done.code == 0
    assert done.err == f"{len(bundled_files())} rules, 0 faults\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("id: mine-0001\n", "", "missing key 'id'; add such as id: clinic-0001, and never change it"),
        ("mine-0001", "decloak-0001", "the rule mine has the id 'decloak-0001' already; write an id"),
        ("form: query\n", "form: query\nrelated: [rbb]\n", "no rule named 'rbb'; did you mean 'rba'?"),
        ("form: query\n", "form: query\nstatus: deprecated\n", "a deprecated rule without a replacement; name one"),
        ("{txn:txn} shows {n} plain items", "it was found", "the reason is the same for all findings; name a column"),
        ("let:\n", "let:\n  idle: select 1 as x\n", "nothing reads the step 'idle'; delete it"),
    ],
)
def test_a_fault_of_a_rule_has_a_remedy(tmp_path, old, new, expected):
    assert SOUND.count(old) == 1
    written(tmp_path, SOUND.replace(old, new))
    written(tmp_path, FACTS, "mine.test.yaml")
    (found,) = faults(tmp_path)
    if "already" in expected:
        assert "has the id 'decloak-0001' already; write an id that no other rule has" in found
    else:
        assert found.startswith(expected)


def test_a_step_that_is_only_evidence_has_a_reader(tmp_path):
    extended = SOUND.replace("let:\n", "let:\n  only: select 1 as x\n").replace("evidence: [", "evidence: [only, ")
    assert "evidence: [only, " in extended
    written(tmp_path, extended)
    written(tmp_path, FACTS, "mine.test.yaml")
    assert faults(tmp_path) == []


def test_a_rule_that_finds_nothing_in_its_tests_may_be_impossible(tmp_path, call):
    never = SOUND.replace("facts: select txn, n from held", "facts: select txn, n from held where n > 1 and n < 1")
    written(tmp_path, never)
    written(tmp_path, FACTS.replace("[{txn: 8}, {txn: 7, n: 2}]", "[]"), "mine.test.yaml")
    done = call("rules", "lint", tmp_path / "mine.yaml")
    assert done.code == 3
    assert "no case of its test expects a finding, so its condition may be impossible; add a case" in done.out
    (tmp_path / "mine.test.yaml").unlink()
    assert faults(tmp_path) == ["the rule has no test; write mine.test.yaml beside it"]


def test_a_run_with_a_deprecated_rule_names_the_replacement(example, call):
    written(example, SOUND.replace("form: query\n", "form: query\nstatus: deprecated\nrelated: [order]\n"))
    scenario = example / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("[mda, tba, wba, gba, rba]", "[mda, mine.yaml]"))
    done = call("run", scenario, "--store", example / "s.db")
    assert "note: the rule mine is deprecated; use order\n" in done.err


def test_conditions_are_found_wherever_they_are():
    sql = (
        "with a as (select x from t where x > 1 and y = ')' group by x having count(*) > 1) -- where z\n"
        "select case when x = 1 and y then 2 end from a left join b on a.x = b.x and (b.y or b.z), c "
        "where exists (select 1 from d where d.x = a.x) and x between 1 and 2 union select 1 where p or q and r"
    )
    assert [text for text, _ in sql_conditions(sql)] == [
        "x > 1", "y = ')'", "count(*) > 1", "a.x = b.x", "(b.y or b.z)", "d.x = a.x",
        "exists (select 1 from d where d.x = a.x)", "x between 1 and 2", "p or q and r",
    ]  # fmt: skip
    assert all(other != sql for _, other in sql_conditions(sql))


def test_coverage_lists_the_clauses_that_decide_no_test(tmp_path, call):
    rule = SOUND.replace("from contains group", "from contains where txn > 0 and item < 2 group")
    written(tmp_path, rule)
    written(tmp_path, FACTS.replace("n: 2", "n: 1"), "mine.test.yaml")
    (covered,) = rule_coverage(tmp_path / "mine.yaml")
    assert (covered.clauses, [clause[1:] for clause in covered.never]) == (2, [("txn > 0", "")])
    done = call("rules", "test", tmp_path / "mine.yaml", "--coverage")
    assert "txn > 0" in done.out
    assert done.err == "1 of 2 clauses decide a test, 1 have neither a test nor a reason\n"
    assert done.code == 3


def test_a_test_gives_the_reason_why_no_case_decides_a_clause(tmp_path, call):
    rule = SOUND.replace("from contains group", "from contains where txn > 0 and item < 2 group")
    written(tmp_path, rule)
    test = FACTS.replace("n: 2", "n: 1") + "undecided: {txn > 0: Every number of a transaction is positive.}\n"
    written(tmp_path, test, "mine.test.yaml")
    (covered,) = rule_coverage(tmp_path / "mine.yaml")
    assert [clause[1:] for clause in covered.never] == [("txn > 0", "Every number of a transaction is positive.")]
    done = call("rules", "test", tmp_path / "mine.yaml", "--coverage")
    assert "Every number of a transaction" in done.out
    assert done.err == "1 of 2 clauses decide a test, 0 have neither a test nor a reason\n"
    assert done.code == 0
    written(tmp_path, test.replace("txn > 0", "item < 2"), "mine.test.yaml")
    with pytest.raises(DecloakError, match="no clause 'item < 2' that decides no test; remove it from undecided"):
        rule_coverage(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    "rule",
    slow_but(
        [file.stem for file in bundled_files() if file.stem not in {"order", "differenced", "same_line"}],
        [file.stem for file in bundled_files()],
    ),
)
def test_each_clause_of_an_included_rule_decides_a_case_or_has_a_reason(rule):
    (file,) = (file for file in bundled_files() if file.stem == rule)
    (covered,) = rule_coverage(file)
    assert [clause for clause in covered.never if not clause[2]] == []


def test_coverage_changes_the_choices_of_an_eliminate_rule(tmp_path):
    written(tmp_path, ELIMINATE)
    written(tmp_path, GRID, "mine.test.yaml")
    (covered,) = rule_coverage(tmp_path / "mine.yaml")
    assert covered.clauses == 3
    assert [text for _, text, _ in covered.never] == ["suspicion: max(w) - mean(w)"]


@pytest.fixture
def pack(tmp_path, call):
    folder = tmp_path / "clinic"
    (folder / "deep").mkdir(parents=True)
    written(folder / "deep", SOUND)
    written(folder / "deep", FACTS, "mine.test.yaml")
    done = call("rules", "pack", folder)
    assert done.code == 0
    assert done.out.endswith(f"wrote {folder / MANIFEST} with 2 files\n")
    return folder


def test_a_pack_that_fits_is_used(pack):
    assert Catalogue().rule(str(pack / "deep" / "mine.yaml")).name == "mine"
    check_packed(pack.parent / "no-pack.yaml")


def edit(folder, **changes):
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | changes))


MISFITS = {
    "a changed rule": (
        lambda pack: written(pack / "deep", SOUND.replace("example", "change")),
        "the file 'deep/mine.yaml' of the pack was changed; take the pack from its source again, or `decloak rules",
    ),
    "a changed test": (
        lambda pack: written(pack / "deep", FACTS + "\n", "mine.test.yaml"),
        "the file 'deep/mine.test.yaml' of the pack was changed",
    ),
    "a further file": (lambda pack: written(pack, QUERY, "b.yaml"), "the file 'b.yaml' of the pack is not in it"),
    "a missing file": (
        lambda pack: (pack / "deep" / "mine.test.yaml").unlink(),
        "the file 'deep/mine.test.yaml' of the ",
    ),
    "another version": (lambda pack: edit(pack, decloak="9.9"), "the pack is for decloak 9.9, and this is "),
    "no version": (lambda pack: edit(pack, decloak="\x1b[31m"), "the pack is for decloak \\x1b[31m, and this is "),
    "no files": (lambda pack: edit(pack, files=[1]), "not the manifest of a pack; write it with"),
    "no JSON": (lambda pack: (pack / MANIFEST).write_text("{"), "not JSON"),
    "no object": (lambda pack: (pack / MANIFEST).write_text("[]"), "not the manifest of a pack"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_pack_that_does_not_fit_is_refused_in_one_line(pack, name):
    change, expected = MISFITS[name]
    change(pack)
    with pytest.raises(DecloakError) as caught:
        Catalogue().rule(str(pack / "deep" / "mine.yaml"))
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{pack / MANIFEST}")
    assert expected in line


def test_a_pack_is_written_only_if_lint_and_tests_pass(pack, call):
    written(pack / "deep", FACTS.replace("n: 2", "n: 3"), "mine.test.yaml")
    assert call("rules", "pack", pack).code == 3
    assert not (pack / MANIFEST).exists()
    shutil.rmtree(pack)
    assert "a pack is a folder of rules; name a folder" in call("rules", "pack", pack).err
