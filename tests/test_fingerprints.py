"""The key of a stage has a fingerprint of the code that computes it: a change redoes that stage and what follows it."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from conftest import ROOT
from decloak import fingerprints
from decloak.fingerprints import BUILT, Source, built_text, closure, fingerprint, read_sources
from decloak.measure.registry import FAMILIES
from decloak.pipeline import plan
from decloak.pipeline.plan import Plan
from decloak.pipeline.validate import plans
from decloak.releases.stored import StoredRelease
from decloak.scenario.document import load
from processes import PATIENCE
from slowly import slow_but

ENGINE = ROOT / "engine"
SETS = """\
scenario: sets of items
data: {generate: clinic, transactions: 40, seed: 7}
anonymise: {method: sets, size: 4}
relate: {measure: ngd, source: clinic-counts}
attack: [mda, rba, {rule: km_violation, k: 2, m: 2}]
measure: [recovery, loss]
"""
CHUNKS = """\
scenario: chunks
data: {generate: clinic, transactions: 40, seed: 7}
anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 20}
relate: {measure: ngd, source: release}
attacker: {model: moderate, share: 0.5}
attack: [random, aba, cover]
measure: [accuracy, breach]
"""
AFTER_RELEASE = {"release", "relatedness", "scoring", "attacker", "attack", "measurement", "run"}
AFTER_ATTACK = {"attack", "measurement", "run"}


def package(folder: Path, texts: dict[str, str]) -> Path:
    root = folder / "decloak"
    for name, text in {"__init__.py": "", **texts}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_source_is_its_text_and_what_it_imports_wherever_that_is_written(tmp_path):
    texts = {
        "a.py": "from decloak.b import (\n    x,  # not c\n    y,\n)\ndef f():\n    from decloak import d\n",
        "b.py": "if TYPE_CHECKING:\n    from decloak.c import z\n\nVALUE = 1\n",
        "c.py": "import decloak.d\n",
        "d.py": "",
        "folder/__init__.py": "",
        "folder/one.py": "",
        "folder/two.py": "",
        "reader.py": "from decloak import folder\n",
        "one_of.py": "from decloak.folder import one\n",
    }
    root = package(tmp_path, texts)
    sources = read_sources(root)
    imports = {name.removeprefix("decloak."): {each.removeprefix("decloak.") for each in source.imports}
               for name, source in sources.items()}  # fmt: skip
    assert imports["a"] == {"b", "d"}
    assert imports["b"] == set()
    assert imports["c"] == {"d"}
    assert imports["reader"] == {"folder", "folder.one", "folder.two"}
    assert imports["one_of"] == {"folder", "folder.one"}
    assert closure(sources, ["decloak.c"]) == {"decloak.c", "decloak.d"}
    assert closure(sources, ["decloak.c"], ["decloak.c"]) == {"decloak.c"}


def test_line_ends_do_not_count_and_a_data_file_counts_where_it_is_named(tmp_path):
    root = package(tmp_path, {"a.py": "VALUE = 1\nDATA = 'table.csv'\n", "b.py": "VALUE = 2\n"})
    (root / "table.csv").write_text("x\n")
    before = read_sources(root)
    (root / "a.py").write_bytes(b"VALUE = 1\r\nDATA = 'table.csv'\r\n")
    assert read_sources(root) == before
    (root / "table.csv").write_text("y\n")
    after = read_sources(root)
    assert [name for name in after if after[name] != before[name]] == ["decloak.a"]
    (root / "other.csv").write_text("nobody names it\n")
    assert all(source != after[name] for name, source in read_sources(root).items())


PRINT = (
    "from decloak import fingerprints as f; print(f.whole_fingerprint(), f.fingerprint(['decloak.measure.recovery']))"
)


def printed(folder: Path) -> list[str]:
    """The fingerprints of a package that lies in a folder, or in a zip file."""
    command = [sys.executable, "-c", PRINT]
    done = subprocess.run(command, env={"PYTHONPATH": str(folder)}, cwd="/", capture_output=True, text=True, check=True)
    return done.stdout.split()


def copied(folder: Path, *ignore: str) -> Path:
    """Copy the engine without what `ignore` names, usually without what Python and the fingerprints kept of it."""
    ignored = shutil.ignore_patterns(*(ignore or ("__pycache__",)))
    return Path(shutil.copytree(ENGINE / "decloak", folder / "decloak", ignore=ignored))


def kept_in(package: Path) -> list[Path]:
    return list((package / "__pycache__").glob("*.json"))


def test_the_same_sources_have_one_fingerprint_however_they_are_installed(tmp_path):
    expected = [fingerprints.whole_fingerprint(), fingerprint(["decloak.measure.recovery"])]
    root = copied(tmp_path / "copy")
    assert printed(root.parent) == expected
    (root / "cli.py").write_bytes((root / "cli.py").read_bytes().replace(b"\n", b"\r\n"))
    assert printed(root.parent) == expected

    archive = tmp_path / "sources.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(root.rglob("*.py")):
            file.write(path, path.relative_to(root.parent))
    assert len(printed(archive)) == 2  # without the data files it is another package
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(f"decloak/{BUILT}", built_text(ENGINE / "decloak"))
    assert printed(archive) == expected


def test_compiled_modules_alone_go_by_what_was_built_or_count_as_one(tmp_path):
    root = copied(tmp_path)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-b", str(root)], check=True)
    for path in root.rglob("*.py"):
        path.unlink()
    everything, measure = printed(tmp_path)
    assert everything != fingerprints.whole_fingerprint()
    (root / BUILT).write_text(built_text(ENGINE / "decloak"))
    assert printed(tmp_path) == [fingerprints.whole_fingerprint(), fingerprint(["decloak.measure.recovery"])]
    assert measure != fingerprint(["decloak.measure.recovery"])


def test_what_was_kept_is_used_until_a_source_changes(tmp_path):
    root = copied(tmp_path)
    kernel = root / "measure" / "recovery.py"
    before = printed(tmp_path)
    (kept,) = kept_in(root)
    content = json.loads(kept.read_text())
    content["modules"][0][1] = "0" * 32
    kept.write_text(json.dumps(content))
    assert printed(tmp_path) != before  # it is what was kept that is used
    text = kernel.read_text()
    assert "0" in text
    kernel.write_text(text.replace("0", "1", 1))  # of the same size
    changed = printed(tmp_path)
    assert changed[1] != before[1]
    kernel.write_text(text)
    os.utime(kernel, ns=(time.time_ns(), time.time_ns() - 10**10))
    kept.write_text("cut off {")
    assert printed(tmp_path) == before


def test_what_was_built_is_not_believed_of_sources_that_changed_since(tmp_path):
    root = copied(tmp_path)
    content = json.loads(built_text(root))
    name = content["modules"][-1][0]
    content["modules"][-1][1] = "0" * 32
    (root / BUILT).write_text(json.dumps(content))
    right = fingerprints.whole_fingerprint()
    assert printed(tmp_path)[0] != right  # it is what was built that is used
    file = root.parent / f"{name.replace('.', '/')}.py"
    os.utime(file, ns=(time.time_ns(), time.time_ns() + 10**9))
    assert printed(tmp_path)[0] == right


def test_a_package_that_cannot_be_written_to_is_read_each_time(tmp_path):
    root = copied(tmp_path)
    (root / "__pycache__").write_text("a file where the folder would be")
    assert printed(tmp_path)[0] == fingerprints.whole_fingerprint()


def test_a_module_of_somebody_else_counts_with_its_text(tmp_path, monkeypatch):
    (tmp_path / "elsewhere_of_decloak.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("elsewhere_of_decloak")
    before = fingerprint(["elsewhere_of_decloak"])
    (tmp_path / "elsewhere_of_decloak.py").write_text("VALUE = 2\n")
    fingerprints._fingerprint.cache_clear()
    assert fingerprint(["elsewhere_of_decloak"]) != before


def stages(plan: Plan) -> dict[str, str]:
    """The keys of all stages by what they are: an attack by its name, a family by its attack and its name."""
    names = ("original", "release", "relatedness", "scoring", "attacker", "auxiliary", "run")
    keys = {name: key for name in names if (key := getattr(plan, name)) is not None}
    for planned in plan.attacks:
        keys[f"attack {planned.rule.name}"] = planned.digest
        keys |= {f"measurement {planned.rule.name} {family.name}": key for family, key, _ in planned.measures}
    return keys


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """The keys of a scenario's stages, as they are and after a change of a module."""
    sources = fingerprints._sources()

    def keys(text: str, changed: str | None = None) -> dict[str, str]:
        path = tmp_path / "scenario.yaml"
        path.write_text(text)
        now = {name: Source("changed", source.imports) if name == changed else source
               for name, source in sources.items()}  # fmt: skip
        monkeypatch.setattr(fingerprints, "_sources", lambda: now)
        fingerprints._fingerprint.cache_clear()
        (plan,) = plans(load(path, ()))
        return stages(plan)

    yield keys
    fingerprints._fingerprint.cache_clear()


CHANGES = {
    "data.generators.clinic": (SETS, "all"),
    "anonymisers.sets": (SETS, "all but original"),
    "anonymisers.kernels.disassociation": (SETS, ""),
    "relate.ngd": (SETS, "all but original release attacker"),
    "relate.wordnet_similarity": (SETS, ""),
    "attacker.tables": (SETS, "all but original release"),
    "rules.eliminate.kernel": (SETS, "mda rba run"),
    "rules.operators.itemsets": (SETS, "km_violation run"),
    "rules.reassociate.kernel": (SETS, ""),
    "measure.recovery": (SETS, "recovery run"),
    "measure.loss": (SETS, "loss run"),
    "measure.accuracy": (SETS, ""),
    "report.verdict": (SETS, ""),
    "commands.run": (SETS, ""),
    "version": (SETS, ""),
}
CHANGES_OF_CHUNKS = {
    "anonymisers.kernels.horpart": (CHUNKS, "all but original"),
    "anonymisers.kernels.coat": (CHUNKS, ""),
    "relate.ngd_sources": (CHUNKS, "all but original release attacker"),
    "attacker.knowledge": (CHUNKS, "attacker cover run"),
    "rules.reassociate.kernel": (CHUNKS, "random aba run"),
    "rules.operators.query": (CHUNKS, "cover same_line order run"),
    "measure.accuracy": (CHUNKS, "accuracy run"),
    "measure.breach": (CHUNKS, "breach run"),
}


@pytest.mark.parametrize(
    ("module", "text", "redone"),
    [(module, *change) for changes in (CHANGES, CHANGES_OF_CHUNKS) for module, change in changes.items()],
    ids=[*CHANGES, *(f"{module} of chunks" for module in CHANGES_OF_CHUNKS)],
)
def test_a_change_of_code_changes_the_keys_of_its_stage_and_of_all_after_it(planned, module, text, redone):
    before = planned(text)
    after = planned(text, f"decloak.{module}")
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    words = redone.removeprefix("all but ").split()
    if redone.startswith("all but"):
        expected = set(before) - set(words)
    elif redone == "all":
        expected = set(before)
    else:
        expected = {name for name in before if set(name.split()) & set(words)}
    assert changed == expected


def test_the_version_alone_changes_no_key(planned, monkeypatch):
    before = planned(SETS)
    monkeypatch.setattr("decloak.version.__version__", "9.9")
    assert planned(SETS) == before


def all_closures(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """The modules of every fingerprint that is asked for while the scenarios that ship are planned."""
    asked: dict[str, set[str]] = {}
    sources = fingerprints._sources()

    def noting(modules, unfollowed=()):
        found = closure(sources, modules, unfollowed)
        asked.setdefault(sys._getframe(2).f_code.co_name, set()).update(found)
        return fingerprint(modules, unfollowed)

    monkeypatch.setattr(plan, "fingerprint", noting)
    for path in [*sorted((ROOT / "scenarios" / "gallery").glob("*.yaml")), ROOT / "scenarios" / "quickstart.yaml"]:
        plans(load(path, ()))
    return asked


CARRYING = re.compile(
    r"decloak\.(pipeline|scenario|ending|fingerprints|memory|parallel|processes)\b|decloak\.(measure\.registry|store\.timing)$"
)


def test_no_module_that_a_run_goes_through_is_in_no_fingerprint(monkeypatch):
    """What a run can reach and no stage counts either carries it out or is of a kind that no scenario here uses."""
    asked = all_closures(monkeypatch)
    counted = set().union(*asked.values())
    sources = fingerprints._sources()
    reached = closure(sources, ["decloak.pipeline.scheduler"], [*plan._REGISTRIES])
    missing = {name for name in reached - counted if not CARRYING.match(name)}
    assert missing == set()
    assert set(asked) == {"original", "release", "relatedness", "scoring", "attacker", "attack",
                          "measurement", "run"}  # fmt: skip


def test_compiled_loops_count_where_they_are_used():
    sources = read_sources(ENGINE / "decloak")
    files = [(name, ENGINE / f"{name.replace('.', '/')}.py") for name in sources]
    loops = {name for name, file in files if file.is_file() and b"@compiled\n" in file.read_bytes()}
    assert "decloak.counting.block_loops" in loops
    used = {one for name, source in sources.items() if ".commands." not in name for one in source.imports}
    assert loops <= used


def test_registries_are_reached_where_their_kinds_are_named_alone(monkeypatch):
    """A registry is not followed. A stage that goes through another one has to name the modules that it uses."""
    asked = all_closures(monkeypatch)
    reached = {stage: {name for name in names if name.endswith("registry")} for stage, names in asked.items()}
    assert {stage: names for stage, names in reached.items() if names} == {
        "release": {"decloak.relate.registry", "decloak.anonymisers.registry", "decloak.releases.registry"},
        "attack": {"decloak.rules.operators.registry"},
        "measurement": {"decloak.anonymisers.registry"},
    }


def test_what_is_measured_is_a_function_of_a_module_that_is_counted():
    for family in FAMILIES:
        assert family.measure.__module__.startswith("decloak.measure."), family.name
    waiting = [StoredRelease]
    reached = closure(fingerprints._sources(), ["decloak.measure.family"])
    while waiting:
        held = waiting.pop()
        assert held.__module__ in reached
        waiting += held.__subclasses__()


READER = """\
rule: {name}
form: query
about: One.
derives: {name}(txn)
facts: select txn from {of}
because: x
reference: ours
wrong_when: never
"""


def test_a_rule_is_redone_when_a_rule_that_it_reads_changes(planned, tmp_path):
    """Directly, and through another rule; a rule that reads nothing of it is not."""
    texts = {
        "first": READER.format(name="first", of="contains"),
        "second": READER.format(name="second", of="first"),
        "third": READER.format(name="third", of="second"),
        "other": READER.format(name="other", of="contains"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    scenario = SETS.replace(
        "[mda, rba, {rule: km_violation, k: 2, m: 2}]", "[./third.yaml, ./second.yaml, ./other.yaml, ./first.yaml]"
    )
    before = planned(scenario.replace("[recovery, loss]", "[loss]"))
    (tmp_path / "first.yaml").write_text(texts["first"].replace("contains", "contains where item > 0"))
    after = planned(scenario.replace("[recovery, loss]", "[loss]"))
    changed = {name.split()[1] for name in before if before[name] != after[name] and " " in name}
    assert changed == {"first", "second", "third"}
    assert {"attack other", "measurement other loss", "attack third", "measurement third loss"} <= before.keys()


def ran(engine: Path, store: Path, scenario: Path) -> dict[str, dict[str, int]]:
    """Run a scenario with a copy of the engine; the stages of the store by kind: digests and their numbers."""
    command = [sys.executable, "-m", "decloak", "run", str(scenario), "--store", str(store), "--jobs", "1", "--json"]
    done = subprocess.run(
        command,
        env={"PYTHONPATH": str(engine)},
        cwd=engine,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    kinds = ("dataset", "release", "relatedness", "scoring", "attacker", "attack", "measurement", "run")
    with closing(sqlite3.connect(store)) as connection:
        return {kind: dict(connection.execute(f"select digest, id from {kind}")) for kind in kinds}


RUNS = {
    "anonymisers/kernels/horpart.py": AFTER_RELEASE | {"dataset"},  # the records of a release are a data set of its own
    "attacker/knowledge.py": {"attacker", "attack", "measurement", "run"},
    "rules/reassociate/kernel.py": AFTER_ATTACK,
    "measure/accuracy.py": {"measurement", "run"},
    "report/page.py": set(),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the engine with its rules, and a store that it made."""
    folder = tmp_path_factory.mktemp("made")
    copied(folder / "engine", "*.json", "*.nb?")  # the code that Python compiled is that of the copy
    shutil.copytree(ROOT / "rules", folder / "rules")
    (folder / "scenario.yaml").write_text(CHUNKS)
    before = ran(folder / "engine", folder / "made.db", folder / "scenario.yaml")
    return folder, before


@pytest.mark.parametrize("file", slow_but(["measure/accuracy.py"], RUNS))
def test_a_run_after_a_change_redoes_that_stage_and_all_after_it(made, file, tmp_path):
    folder, before = made
    store = shutil.copy(folder / "made.db", tmp_path / "store.db")
    kernel = folder / "engine" / "decloak" / file
    text = kernel.read_bytes()
    try:
        kernel.write_bytes(text + b"\n# changed\n")
        after = ran(folder / "engine", store, folder / "scenario.yaml")
    finally:
        kernel.write_bytes(text)
    assert {kind for kind in before if before[kind] != after[kind]} == RUNS[file]
    assert all(before[kind].items() <= after[kind].items() for kind in before)  # nothing was lost or renumbered
    if file == "measure/accuracy.py":
        assert len(after["measurement"]) - len(before["measurement"]) == 2  # of random and of aba
    assert ran(folder / "engine", store, folder / "scenario.yaml") == after


@pytest.mark.slow
def test_a_built_wheel_has_the_fingerprints_of_its_sources_and_redoes_what_changed(tmp_path):
    pytest.importorskip("hatchling")
    project = tmp_path / "project"
    project.mkdir()
    for name in ("engine", "rules", "scenarios"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, project)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(CHUNKS)

    def installed(name: str) -> Path:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / name)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
        (wheel,) = (tmp_path / name).glob("*.whl")
        folder = tmp_path / f"{name} installed"
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder)
        return folder

    first = installed("first")
    assert printed(first) == [fingerprints.whole_fingerprint(), fingerprint(["decloak.measure.recovery"])]
    assert not kept_in(first / "decloak")  # what was built is believed
    store = tmp_path / "store.db"
    before = ran(first, store, scenario)
    kernel = project / "engine" / "decloak" / "rules" / "reassociate" / "kernel.py"
    kernel.write_bytes(kernel.read_bytes() + b"\n# changed\n")
    after = ran(installed("second"), store, scenario)
    assert {kind for kind in before if before[kind] != after[kind]} == AFTER_ATTACK
    assert ran(first, store, scenario) == after  # the results of the first wheel are there still
    edited = first / "decloak" / "measure" / "accuracy.py"
    edited.write_bytes(edited.read_bytes() + b"\n# changed where it is installed\n")
    again = ran(first, store, scenario)
    assert {kind for kind in after if after[kind] != again[kind]} == {"measurement", "run"}
