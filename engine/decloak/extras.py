"""The packages of an extra, and the command that installs them.

The command names the packages themselves: it works from a checkout and for an installed wheel, without a package index
that has decloak.
"""

import re
import shlex
from pathlib import Path

_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
"""The declaration of the packages in a checkout."""
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([\w.-]+)['"]""")


def packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra without their markers, as the checkout or the metadata of decloak state them.

    The result is empty where there is neither.
    """
    from importlib.metadata import PackageNotFoundError, requires  # 20 ms, for what is seldom asked

    if _PYPROJECT.is_file():
        import tomllib

        declared = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        return [requirement.partition(";")[0].strip() for requirement in declared.get(extra, ())]
    try:
        marked = [requirement.partition(";") for requirement in requires("decloak") or ()]
    except PackageNotFoundError:
        return []
    return [package.strip() for package, _, marker in marked if extra in _EXTRA.findall(marker)]


def install(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    packages = packages_of(extra)
    return shlex.join(["pip", "install", *packages]) if packages else f"install the packages of the extra {extra!r}"
