"""Attack anonymised transaction data, and measure how many people a release exposes.

The names below are stable. They are imported on first use, so that `import decloak` costs nothing. The command line
can listen for signals only after it, so not even modules of the standard library are imported here.
"""

from decloak.version import __version__ as __version__

# Not from `typing`, which would be imported for it; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from decloak.anonymisers.registry import anonymise
    from decloak.attacker.cover import breach, cover_problems
    from decloak.counting.violations import violations
    from decloak.data.dataset import Dataset
    from decloak.data.formats.look import look
    from decloak.data.formats.plain_files import read, write
    from decloak.data.hierarchy import Hierarchy
    from decloak.data.published import read_published
    from decloak.errors import DecloakError
    from decloak.library.checking import check
    from decloak.library.inspecting import compare, explain, graph, publish
    from decloak.library.results import Run
    from decloak.library.running import attack, evaluate, run
    from decloak.library.scenario import Scenario
    from decloak.releases.file_formats import read_release
    from decloak.rules.direct import eliminate, reassociate

__all__ = [
    "Dataset",
    "DecloakError",
    "Hierarchy",
    "Run",
    "Scenario",
    "advise",
    "anonymise",
    "attack",
    "breach",
    "check",
    "compare",
    "cover_problems",
    "eliminate",
    "evaluate",
    "explain",
    "graph",
    "look",
    "publish",
    "read",
    "read_published",
    "read_release",
    "reassociate",
    "run",
    "violations",
    "write",
]

_HOMES = {
    "Dataset": "data.dataset",
    "DecloakError": "errors",
    "Hierarchy": "data.hierarchy",
    "Run": "library.results",
    "Scenario": "library.scenario",
    "advise": "advice.advising",
    "anonymise": "anonymisers.registry",
    "attack": "library.running",
    "breach": "attacker.cover",
    "check": "library.checking",
    "compare": "library.inspecting",
    "cover_problems": "attacker.cover",
    "eliminate": "rules.direct",
    "evaluate": "library.running",
    "explain": "library.inspecting",
    "graph": "library.inspecting",
    "look": "data.formats.look",
    "publish": "library.inspecting",
    "read": "data.formats.plain_files",
    "read_published": "data.published",
    "read_release": "releases.file_formats",
    "reassociate": "rules.direct",
    "run": "library.running",
    "violations": "counting.violations",
    "write": "data.formats.plain_files",
}


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'decloak' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"decloak.{_HOMES[name]}"), name)
    # From now on Python finds the name without calling this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
