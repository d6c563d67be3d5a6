"""Installed packages add formats, methods, sources, measures, operators and rules; a broken one is one line."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT
from decloak.store.opening import connect_readonly
from processes import PATIENCE
from slowly import slow_but
from test_kinds import FORMAT, MEASURE, METHOD, OPERATOR, RULE, SOURCE

EXAMPLE = ROOT / "docs" / "examples" / "plugin"
SCENARIO = """\
scenario: with the example
data: {file: rows.txt, format: words}
anonymise: {method: neighbours, size: 2}
attack: [lone_item]
"""
PLAIN = """\
scenario: without
data: {file: rows.txt, format: spmf}
anonymise: {method: sets, sets: [['1', '2']]}
attack: [{rule: km_violation, k: 2, m: 1}]
"""


class Place(NamedTuple):
    """A folder to work in, and a folder of installed packages."""

    folder: Path
    packages: Path

    def ran(self, *arguments: str, program: tuple[str, ...] = ("-m", "decloak")) -> subprocess.CompletedProcess[str]:
        # The folder of packages goes before the engine: pip itself installs beside other packages.
        path = os.pathsep.join(map(str, (self.packages, ROOT / "engine", ROOT / "tests" / "support")))
        return subprocess.run(
            [sys.executable, *program, *arguments],
            cwd=self.folder, env=os.environ | {"PYTHONPATH": path, "COLUMNS": "100"},
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    def done(self, *arguments: str) -> str:
        """Run a command that succeeds, and return what it prints."""
        done = self.ran(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """Run a command that is refused, and return its only line."""
        done = self.ran(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        (line,) = done.stderr.splitlines()
        return line

    def install(self, name: str, groups: dict[str, str], **modules: str) -> None:
        """Write a package as an installer does: its modules, and the metadata with its entry points."""
        package = self.packages / name
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        for module, text in modules.items():
            (package / f"{module}.py").write_text(text)
        self.describe(name, groups)

    def describe(self, name: str, groups: dict[str, str], version: str = "1.0") -> None:
        """Write the metadata of a package."""
        metadata = self.packages / f"{name}.dist-info"
        metadata.mkdir(parents=True, exist_ok=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        entries = (f"[decloak.{group}]\n{entry}\n" for group, entry in groups.items())
        (metadata / "entry_points.txt").write_text("".join(entries))

    def number(self, table: str) -> int:
        with closing(connect_readonly(self.folder / "s.db")) as connection:
            return connection.execute(f"select count(*) from {table}").fetchone()[0]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("work", "packages"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "rows.txt").write_text("a b c\na b\nc a d\nd\n")
    (tmp_path / "work" / "s.yaml").write_text(SCENARIO)
    return Place(tmp_path / "work", tmp_path / "packages")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example of the documentation, built and installed without a network."""
    folder = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check")
    built = Place(folder, folder / "packages")
    done = built.ran("install", *options, "--target", str(built.packages), str(EXAMPLE), program=("-m", "pip"))
    assert done.returncode == 0, done.stderr
    return built.packages


@pytest.fixture
def example(place: Place, installed: Path) -> Place:
    """A copy of the installed example, which a test may change."""
    shutil.copytree(installed, place.packages, dirs_exist_ok=True)
    return place


def test_the_example_is_installed_and_used(example: Place):
    listed = [line.split() for line in example.done("plugins").splitlines()]
    assert ["decloak-example", "1.0", "methods", "neighbours"] in listed
    printed = example.done("run", "s.yaml", "--store", "s.db").splitlines()
    assert ["lone_item", "nothing", "2"] in [line.split() for line in printed]
    assert "shows only (a, b)" in example.done("explain", "1", "--store", "s.db")
    example.done("publish", "1", "out.txt", "--store", "s.db")
    published = (example.folder / "out.txt").read_text().splitlines()
    assert published == ["(a, b)", "(a, b), (c, d)", "(a, b), (c, d)", "(c, d)"]
    rules = example.packages / "decloak_example" / "rules"
    assert "passed" in example.done("rules", "test", str(rules))


def test_the_page_shows_the_files_of_the_example():
    page = (ROOT / "docs" / "how-to" / "plugins.md").read_text()
    blocks = re.findall(r"<!-- from: (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    assert all(text in (EXAMPLE / name).read_text() for name, text in blocks)
    assert SCENARIO in page


@pytest.mark.slow
def test_remedies_know_the_names_of_plugins_and_no_others(example: Place):
    (example.folder / "s.yaml").write_text(SCENARIO.replace("words", "wrds"))
    assert example.refused("validate", "s.yaml").endswith("did you mean 'words'?")
    (example.folder / "s.yaml").write_text(SCENARIO.replace("lone_item", "lone_itme"))
    assert example.refused("validate", "s.yaml").endswith("did you mean 'lone_item'?")
    without = Place(example.folder, example.folder)
    (example.folder / "s.yaml").write_text(SCENARIO.replace("words", "basket"))
    assert "found 'neighbours'" in without.refused("validate", "s.yaml")
    assert without.done("plugins").splitlines()[2:] == []


def test_each_kind_is_added_by_a_plugin(place: Place):
    place.install(
        "decloak-kinds".replace("-", "_"),
        {
            "formats": "words = decloak_kinds.words:FORMAT",
            "methods": "hush = decloak_kinds.hush:HushMethod",
            "sources": "length = decloak_kinds.length:LengthSource",
            "measures": "volume = decloak_kinds.volume:FAMILY",
            "operators": "loners = decloak_kinds.loners:LONERS",
            "rules": "lone = decloak_kinds.lone",
        },
        words=FORMAT, hush=METHOD, length=SOURCE, volume=MEASURE, loners=OPERATOR,
    )  # fmt: skip
    folder = place.packages / "decloak_kinds" / "lone"  # a folder without a module of Python
    folder.mkdir()
    (folder / "lone.yaml").write_text(RULE)
    (place.folder / "published.txt").write_text("x, (aa, bbb)\nxx, (aa, bbb)\nx, aa\n")
    first = "data: {file: rows.txt, format: words}\nanonymise: {method: hush}\nattack: [lone]\nmeasure: [volume]\n"
    second = "data: {published: published.txt}\nrelate: {measure: ngd, source: length}\nattack: [tba]\n"
    for scenario, expected in ((first, {"lone", "rows", "4"}), (second, {"tba"})):
        (place.folder / "s.yaml").write_text(f"scenario: s\n{scenario}")
        assert expected <= set(place.done("run", "s.yaml", "--store", "s.db").split())


BROKEN = {
    "a missing package": ("methods", "import a_package_that_is_missing", "No module named 'a_package_that_is_missing'"),
    "a syntax error": ("formats", "FORMAT = (", "SyntaxError"),
    "an exit": ("measures", "raise SystemExit(0)", "SystemExit: 0"),
    "a missing name": ("operators", "", "has no attribute 'thing'"),
    "another class": ("methods", "class thing: pass", "'decloak_broken.broken:thing' is no Method"),
    "a method without a name": (
        "methods", "from decloak.anonymisers.method import Method as thing", "'decloak_broken.broken:thing' has no name"
    ),
    "a name that exists": (
        "formats", "from decloak.data.formats.record import Format\nthing = Format('spmf', '')", "'spmf' exists already"
    ),
    "a broken folder of rules": ("rules", "x = 1 / 0", "ZeroDivisionError"),
}  # fmt: skip


@pytest.mark.parametrize("case", slow_but(list(BROKEN)[:3], BROKEN))
def test_a_broken_plugin_is_one_line_with_its_package_and_a_remedy(place: Place, case: str):
    group, text, reason = BROKEN[case]
    value = "decloak_broken.broken" if group == "rules" else "decloak_broken.broken:thing"
    place.install("decloak_broken", {group: f"thing = {value}"}, broken=text)
    (place.folder / "s.yaml").write_text(PLAIN)
    line = place.refused("validate", "s.yaml")
    assert f": cannot use {group} of the plugin decloak_broken 1.0: " in line
    assert reason in line
    assert line.endswith("; update it, or run `pip uninstall decloak_broken`")
    assert "thing" in place.done("plugins")  # nothing is imported to list them


def test_a_fault_of_a_plugin_is_not_called_a_fault_of_decloak(example: Place):
    method = example.packages / "decloak_example" / "neighbours.py"
    method.write_text(method.read_text().replace('options["size"]', 'options["no size"]'))
    done = example.ran("run", "s.yaml", "--store", "s.db")
    assert done.returncode == 1
    assert "a fault inside the plugin decloak-example 1.0: KeyError: 'no size'" in re.sub(r"''", "'", done.stderr)
    assert "Traceback" not in done.stderr


def test_results_of_older_code_of_a_plugin_are_not_used_again(example: Place):
    (example.folder / "plain.yaml").write_text(PLAIN.replace("rows", "numbers"))
    (example.folder / "numbers.txt").write_text("1 2\n2 3\n")

    def stages() -> dict[str, int]:
        both = "import decloak\nfor name in ('s', 'plain'): decloak.run(f'{name}.yaml', store='s.db')"
        assert example.ran(program=("-c", both)).returncode == 0
        return {table: example.number(table) for table in ("dataset", "release", "attack")}

    def added(before: dict[str, int]) -> dict[str, int]:
        return {table: number - before[table] for table, number in stages().items()}

    first = stages()
    assert added(first) == {"dataset": 0, "release": 0, "attack": 0}
    method = example.packages / "decloak_example" / "neighbours.py"
    method.write_text(method.read_text().replace("sorted(data.items)", "sorted(data.items, reverse=True)"))
    # The package counts for each stage that one of its modules takes part in. The other scenario has none.
    assert added(first) == {"dataset": 2, "release": 1, "attack": 1}
    second = {"dataset": first["dataset"] + 2, "release": first["release"] + 1, "attack": first["attack"] + 1}
    metadata = example.packages / "decloak_example-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    assert added(second) == {"dataset": 2, "release": 1, "attack": 1}


LEAKY = METHOD.replace("def hushed", "import os\nKEPT = []\n\n\ndef hushed").replace(
    "    return Published",
    "    KEPT.append(data.transactions)\n    os.environ['KEPT'] = repr(data.transactions)\n    return Published",
).replace(
    "hushed(data, {}), self.method, {}",
    "hushed(data, {}), self.method, {'order': repr(data.transactions), 'seen': repr(data.transactions)}, "
    "notes=[repr(data.transactions)], suppressed=data.items",
)  # fmt: skip
"""A method that leaves the original data in every place it can reach."""
WATCH = """\
import os, sqlite3
import decloak
from decloak.store.relations import Scope
from processes import children_of
from stores import attackers_sandbox

decloak.run("s.yaml", store="s.db")
assert "gangrene" in os.environ["KEPT"]
with sqlite3.connect("s.db") as store:
    ((release, dataset),) = store.execute("select id, dataset from release")
with attackers_sandbox("s.db", Scope(release, dataset), "the rule mine") as sandbox:
    (child,) = children_of(os.getpid())
    proc = f"/proc/{child}/"
    memory = [open(proc + name, "rb").read() for name in ("environ", "cmdline", "maps")]
    rows = [sandbox.select(f"select * from {name}")[1] for name in ("shown", "item", "txn", "stated")]
    spans = [line.split()[:2] for line in open(proc + "maps")]
    with open(proc + "mem", "rb", buffering=0) as content:
        for begin, end in (span.split("-") for span, rights in spans if rights.startswith("rw")):
            content.seek(int(begin, 16))
            try:
                memory.append(content.read(int(end, 16) - int(begin, 16)))
            except OSError:
                pass
every = b"".join(memory) + repr(rows).encode()
assert b"3 items" in every  # it is looked at in the right place
print([word for word in ("gangrene", "decloak_leaky") if word.encode() in every])
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see what a process has")
def test_the_process_of_a_rule_has_nothing_that_a_plugin_leaves_behind(place: Place):
    place.install("decloak_leaky", {"methods": "hush = decloak_leaky.hush:HushMethod"}, hush=LEAKY)
    (place.folder / "rows.txt").write_text("gangrene, a, b\na, b\n")
    scenario = PLAIN.replace("spmf", "basket").replace("method: sets, sets: [['1', '2']]", "method: hush")
    (place.folder / "s.yaml").write_text(scenario)
    done = place.ran(program=("-c", WATCH))
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_plugin_in_an_archive_is_found(place: Place):
    place.describe("decloak_packed", {"formats": "packed = decloak_packed.packed:FORMAT"}, "7.5")
    archive = shutil.make_archive(str(place.folder / "packed"), "zip", place.packages)
    shutil.rmtree(place.packages)
    watch = f"import sys\nsys.path.append({archive!r})\nfrom decloak.plugins import installed\n"
    watch += "print(installed()[0].version)"
    assert place.ran(program=("-c", watch)).stdout == "7.5\n"


def test_a_place_of_the_path_that_nobody_may_look_at_is_passed_over(place: Place):
    place.describe("decloak_beside", {"formats": "beside = decloak_beside.beside:FORMAT"}, "7.5")
    # Too long a name fails as a folder without permission does, for the administrator too.
    watch = "import sys\nsys.path.insert(0, 'x' * 5_000)\nfrom decloak.plugins import installed\n"
    watch += "print(installed()[0].version)"
    assert place.ran(program=("-c", watch)).stdout == "7.5\n"


def test_help_reads_no_entry_points(place: Place):
    watch = "import sys\nfrom decloak.cli import cli\ncli(['--help'], standalone_mode=False)\n"
    watch += "print('decloak.plugins' in sys.modules)"
    assert place.ran(program=("-c", watch)).stdout.splitlines()[-1] == "False"
