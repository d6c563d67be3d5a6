"""One more of each of the seven kinds takes the places in CONTRIBUTING.md and no others: shown in a copy of the engine.

What is added is the least that the kind allows; a scenario then uses it by its name, and help and remedies know it.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT
from processes import PATIENCE
from slowly import slow_but

FORMAT = '''
"""Format `words`: items with blanks between them."""

from decloak.data.formats.record import Format, Record


def _parse(lines, options):
    for line in lines:
        yield Record(line, None, line.text.split())


FORMAT = Format("words", "items with blanks between them: milk bread", _parse, None)
'''
METHOD = '''
"""Nothing is published but how many items there were, as one item."""

from typing import ClassVar, Literal

from decloak.anonymisers.method import Anonymiser, Method, NewRelease
from decloak.counting.guarantees import WholeSets
from decloak.data.forms import FormName
from decloak.data.published import Published


def hushed(data, options):
    return Published(tuple((f"{len(row)} items",) for row in data.transactions), data.labels)


class HushMethod(Method):
    """Hushes everything up."""

    form: ClassVar = FormName.SET_GENERALISED
    anonymisers: ClassVar = (Anonymiser("hush", hushed, lambda *_: (), frozenset()),)
    guarantee_type: ClassVar = WholeSets

    method: Literal["hush"]
    """The name of the method."""

    def check(self, data, folder):
        """Nothing can be wrong."""

    def make(self, data, folder, seed, cache=None):
        """Hush."""
        return NewRelease(hushed(data, {}), self.method, {})
'''
SOURCE = '''
"""Names of the same length are near each other."""

from typing import ClassVar, Literal

from decloak.data.pairs import ScoredPairs
from decloak.relate.ngd import Scored
from decloak.relate.relatedness import NgdSource


class LengthSource(NgdSource):
    """How much longer one name is than the other."""

    closer: ClassVar = "smaller"
    source: Literal["length"]
    """The lengths of names."""

    def check(self, folder):
        """Nothing can be wrong."""

    def scored(self, pairs, supplies):
        """The differences."""
        return Scored(ScoredPairs.of({(a, b): float(abs(len(a) - len(b))) for a, b in pairs}), [])
'''
MEASURE = '''
"""How many transactions were published."""

from decloak.data.forms import FormName
from decloak.measure.family import POOLED, Family
from decloak.figures import Direction, Metric


def _measure(attacked):
    return [(POOLED, "rows", float(len(attacked.release.published.transactions)), None, None)], None


METRICS = (Metric("rows", "rows", "rows", "transactions published", Direction.NONE, ("volume",), column=True),)
FAMILY = Family("volume", "How much there is", METRICS, _measure, frozenset(FormName))
'''
OPERATOR = '''
"""loners: the items that are in one transaction only."""

from collections import Counter
from typing import Literal

from decloak.rules.model import RuleModel
from decloak.rules.operators.operator import DerivedFacts, Operator
from decloak.store.sandbox import Derived


class LonersRule(RuleModel):
    """Find items that are in one transaction only."""

    form: Literal["loners"]


class LonersOperator(Operator[LonersRule, None, DerivedFacts]):
    """A rule says no more than that."""

    model = LonersRule
    columns = ("item",)

    def compile(self, rule, sandbox):
        sandbox.columns(SHOWN, rule.place("form"))

    def run(self, rule, view, settings):
        counts = Counter(item for (item,) in view.sandbox.stream(SHOWN, rule.place("form"))[1])
        return DerivedFacts(rule.derives, [Derived(1, (item,)) for item in sorted(counts) if counts[item] == 1])


SHOWN = "select label from shown"
LONERS = LonersOperator()
'''
FORM = '''
"""The form `tallied`: transactions that say how many items there were."""

from decloak.data.forms import FormName
from decloak.releases.set_generalised import SetGeneralisedForm


class TalliedForm(SetGeneralisedForm):
    """Transactions of one item each: the number of items there were."""

    name = FormName.TALLIED
    audits = ()
    stored_as = ("method", "hush")
    contains = ("the number of items of each transaction",)
'''
COMMAND = '''
"""The command `greet`."""

import click


@click.command("greet")
def greet_command():
    """Say hello."""
    click.echo("hello")
'''
RULE = """\
rule: lone
form: loners
about: Items in one transaction only.
because: "only one transaction has {item}"
reference: ours
wrong_when: never
"""


class Kind(NamedTuple):
    """What is added under the engine: modules, what registries say for what, and what then works."""

    modules: dict[str, str]
    registry: dict[str, dict[str, str]]
    scenario: str
    expected: tuple[str, ...]
    misspelt: tuple[str, str]


KINDS = {
    "a plain format": Kind(
        {"data/formats/plain/words.py": FORMAT},
        {},
        "data: {file: rows.txt, format: words}\nanonymise: {method: sets, sets: [[a, b]]}\n"
        "attack: [{rule: km_violation, k: 2, m: 1}]\n",
        ("km_violation",),
        ("words", "wards"),
    ),
    "a method": Kind(
        {"anonymisers/hush.py": METHOD},
        {
            "anonymisers/registry.py": {
                "from decloak.anonymisers.generalisation": "from decloak.anonymisers.hush import HushMethod\n",
                "    SetsMethod, ": "    HushMethod,\n",
            }
        },
        "data: {file: rows.txt, format: basket, separator: ' '}\nanonymise: {method: hush}\n"
        "attack: [{rule: km_violation, k: 2, m: 1}]\n",
        ("km_violation",),
        ("hush", "husk"),
    ),
    "a source of relatedness": Kind(
        {"relate/length.py": SOURCE},
        {
            "relate/registry.py": {
                "from decloak.relate.ngd_sources": "from decloak.relate.length import LengthSource\n",
                "CountsSource, CorpusSource, Clinic": "LengthSource, ",
            }
        },
        "data: {published: published.txt}\nrelate: {measure: ngd, source: length}\nattack: [tba]\n",
        ("tba",),
        ("length", "lenght"),
    ),
    "a measure": Kind(
        {"measure/volume.py": MEASURE},
        {
            "measure/registry.py": {
                "    wmd,\n)": "    volume,\n",
                "utility.FAMILY, wmd.FAMILY,\n)  # fmt": "volume.FAMILY, ",
            }
        },
        "data: {published: published.txt}\nattack: [{rule: km_violation, k: 2, m: 1}]\nmeasure: [volume]\n",
        ("rows", "3"),
        ("volume", "volumes"),
    ),
    "a published form": Kind(
        {
            "releases/tallied.py": FORM,
            "anonymisers/hush.py": METHOD.replace("FormName.SET_GENERALISED", "FormName.TALLIED"),
        },
        {
            "releases/registry.py": {
                "\n_ALL: tuple": "from decloak.releases.tallied import TalliedForm\n",
                "DistancesForm(), Gen": "TalliedForm(), ",
            },
            "data/forms.py": {"    DISTANCES =": '    TALLIED = "tallied"\n'},
            "anonymisers/registry.py": {
                "from decloak.anonymisers.generalisation": "from decloak.anonymisers.hush import HushMethod\n",
                "    SetsMethod, ": "    HushMethod,\n",
            },
        },
        "data: {file: rows.txt, format: basket, separator: ' '}\nanonymise: {method: hush}\n"
        "attack: [{rule: km_violation, k: 2, m: 1}]\n",
        ("km_violation",),
        ("hush", "husk"),
    ),
    "a form of rules": Kind(
        {"rules/operators/loners.py": OPERATOR},
        {
            "rules/operators/registry.py": {
                "from decloak.rules.operators.operator": "from decloak.rules.operators.loners import LONERS\n",
                "QUERY, ELIMINATE, REASS": "LONERS, ",
            }
        },
        "data: {published: published.txt}\nattack: [lone.yaml]\n",
        ("lone", "2"),
        ("loners", "loner"),
    ),
}


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A copy of the engine to add to, with the rules beside it."""
    for name in ("engine", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path / "engine"


def add(engine: Path, kind: Kind) -> None:
    """Write the modules, and into registries what goes before each of these texts."""
    for module, text in kind.modules.items():
        (engine / "decloak" / module).write_text(text)
    for file, lines in kind.registry.items():
        path = engine / "decloak" / file
        text = path.read_text()
        for before, line in lines.items():
            assert text.count(before) == 1, before
            text = text.replace(before, line + before)
        path.write_text(text)


def ran(engine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "decloak", *arguments]
    return subprocess.run(
        command, cwd=engine.parent, env={"PYTHONPATH": str(engine)}, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize("name", slow_but(["a measure"], KINDS))
def test_one_more_takes_a_module_and_its_place_in_a_registry(engine: Path, name: str) -> None:
    kind = KINDS[name]
    add(engine, kind)
    folder = engine.parent
    (folder / "rows.txt").write_text("a b c\na b\nc a\n")
    (folder / "published.txt").write_text("x, (aa, bbb)\nxx, (aa, bbb)\nx, aa\n")
    (folder / "lone.yaml").write_text(RULE)
    (folder / "s.yaml").write_text("scenario: s\n" + kind.scenario)
    done = ran(engine, "run", "s.yaml", "--store", "s.db")
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert set(kind.expected) <= set(words), done.stdout
    right, wrong = kind.misspelt
    for file in ("s.yaml", "lone.yaml"):
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace(f": {right}", f": {wrong}").replace(f"[{right}]", f"[{wrong}]"))
    done = ran(engine, "validate", "s.yaml")
    assert done.returncode == 2
    assert right in done.stderr


def test_the_store_knows_the_form_of_a_release_of_a_new_form(engine: Path) -> None:
    add(engine, KINDS["a published form"])
    folder = engine.parent
    (folder / "rows.txt").write_text("a b c\na b\nc a\n")
    (folder / "s.yaml").write_text("scenario: s\n" + KINDS["a published form"].scenario)
    assert ran(engine, "run", "s.yaml", "--store", "s.db").returncode == 0
    done = ran(engine, "publish", "1", "out.txt", "--store", "s.db")
    assert done.returncode == 0, done.stderr
    assert (folder / "out.txt").read_text().split("\n") == ["2 items", "2 items", "3 items", ""]
    assert '"form": "tallied"' in (folder / "out.txt.manifest.json").read_text()


def test_one_more_command_takes_a_module_and_a_line(engine: Path) -> None:
    add(
        engine,
        Kind(
            {"commands/greet.py": COMMAND},
            {"cli.py": {'        "runs": ': '        "greet": "Greet.",\n'}},
            "",
            (),
            ("", ""),
        ),
    )
    assert ran(engine, "greet").stdout == "hello\n"
    assert "greet" in ran(engine, "--help").stdout
    assert "did you mean 'greet'" in ran(engine, "gret").stderr
