"""Changed copies of a module that no test notices: python tests/support/mutation.py MODULE TESTS...

Each copy has one token changed (`mutants.py`). A forked process imports it in place of the module and runs the tests.
Every copy that passes them is printed with its line, and the program ends with 1.
"""

import importlib.abc
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from mutants import mutants

ENGINE = Path(__file__).parents[2] / "engine"
USED = ("networkx", "numpy", "pydantic", "scipy.sparse", "scipy.stats", "sqlite_utils", "yaml")
"""Packages that are imported once: every forked process has them."""
PATIENCE = 300
"""Seconds after which a copy that has not ended is taken for one that does not end."""


class Copy(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the tree of a copy under the name of its module."""

    def __init__(self, module: str, origin: str, code: object) -> None:
        self.module, self.origin, self.code = module, origin, code

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        spec = importlib.util.spec_from_loader(name, self, origin=self.origin) if name == self.module else None
        if spec is not None:
            spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


def alive(module: str, origin: str, tests: Sequence[str]) -> Iterator[str]:
    """Yield the line and the change of each copy of the file `origin` that passes the tests."""
    for line, change, tree in mutants(Path(origin).read_text(encoding="utf-8")):
        if _passes(Copy(module, origin, compile(tree, origin, "exec")), tests):
            yield f"{origin}:{line}: {change}"


def _passes(copy: Copy, tests: Sequence[str]) -> bool:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    try:
        signal.alarm(PATIENCE)
        sys.meta_path.insert(0, copy)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = int(pytest.main(["-x", "-q", "-m", "", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


def main(module: str, *tests: str) -> int:
    """Print the copies of a module that pass the tests; return 1 if there are any."""
    origin = str(ENGINE.joinpath(*module.split(".")).with_suffix(".py"))
    os.environ["CI"] = "1"  # the same examples for every copy
    for name in USED:
        importlib.import_module(name)
    if not _passes(Copy("", "", None), tests):
        print(f"{' '.join(tests)}: fails without any change")
        return 2
    count = 0
    for found in alive(module, origin, tests):
        print(found, flush=True)
        count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
