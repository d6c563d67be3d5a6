"""The least versions that pyproject.toml declares, as constraints for pip: what a user may have installed already.

python tests/lowest.py > lowest.txt
pip install --constraint lowest.txt '.[test]'
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
DECLARED = re.compile(r"(?P<name>[\w-]+)(?:\[[\w,-]+\])?(?:(?:>=|==)(?P<least>[\w.]+))?")


def lowest(requirements: Iterable[str]) -> Iterator[str]:
    """Each with its least version; those that declare none are left out."""
    for requirement in requirements:
        declared = DECLARED.match(requirement)
        assert declared is not None, requirement
        if declared["least"] is not None:
            yield f"{declared['name']}=={declared['least']}"


def main() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    print(*lowest([*project["dependencies"], *(each for extra in extras.values() for each in extra)]), sep="\n")


if __name__ == "__main__":
    main()
