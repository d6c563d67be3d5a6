"""Measure how much of what an anonymised transaction data set hides an attacker can win back.

The names below are stable. They are imported when they are first used, so that `import decloak` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from decloak.errors import DecloakError
from decloak.version import __version__ as __version__

if TYPE_CHECKING:
    from decloak.anonymisers.registry import anonymise
    from decloak.attack.breach import breach
    from decloak.attack.cover import cover_problems
    from decloak.counting.guarantees import violations
    from decloak.data.dataset import Dataset
    from decloak.data.formats.readers import read
    from decloak.data.formats.writers import write
    from decloak.data.hierarchy import Hierarchy
    from decloak.data.published import read_published
    from decloak.data.release_files import read_release
    from decloak.rules.direct import eliminate, reassociate
    from decloak.runs.runner import Run, run

__all__ = [
    "Dataset",
    "DecloakError",
    "Hierarchy",
    "Run",
    "anonymise",
    "breach",
    "cover_problems",
    "eliminate",
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
    "Hierarchy": "data.hierarchy",
    "Run": "runs.runner",
    "anonymise": "anonymisers.registry",
    "breach": "attack.breach",
    "cover_problems": "attack.cover",
    "eliminate": "rules.direct",
    "read": "data.formats.readers",
    "read_published": "data.published",
    "read_release": "data.release_files",
    "reassociate": "rules.direct",
    "run": "runs.runner",
    "violations": "counting.guarantees",
    "write": "data.formats.writers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'decloak' has no attribute {name!r}")
    value = getattr(import_module(f"decloak.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
