"""Small scenarios of every published form, and what a store of them holds."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from conftest import ROOT
from decloak.store.documentation import schema_tables
from decloak.store.opening import connect_readonly
from decloak.store.seals import broken_seals
from processes import PATIENCE

ITEMS = ("bread", "milk", "oil", "rice", "salt", "tea")
LINES = [
    ", ".join(item for place, item in enumerate(ITEMS) if (at * 3 + place) % 5 < 2 or at % 6 == place)
    for at in range(30)
]
DATA = "data: {file: baskets.txt, format: basket}\nrelate: {measure: ngd, source: release}\n"
TREE = "hierarchy: {by: cooccurrence, fanout: 3}"
STUDIES = {
    "sets": f"{DATA}anonymise: {{method: sets, size: 3}}\nattack: [ra, mda, rba]\nrepeat: {{times: 2}}\n",
    "coat": f"{DATA}anonymise: {{method: coat, k: 3, privacy: {{count: 4, sizes: [2]}}}}\nattack: [tba, gba]\n",
    "cut": f"{DATA}anonymise: {{method: cut, k: 3, m: 2, {TREE}}}\nattack: [km_violation, wba]\n"
    "measure: [recovery, loss]\n",
    "disassociation": f"{DATA}anonymise: {{method: disassociation, k: 2, m: 2, max_cluster: 10}}\n"
    "attacker: {model: moderate, share: 0.5}\nattack: [random, mra, cover]\nmeasure: [accuracy, breach]\n",
}
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)


def written(folder: Path, form: str) -> Path:
    """The scenario of a form, beside its data."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "baskets.txt").write_text("\n".join(LINES) + "\n")
    (folder / "s.yaml").write_text(f"scenario: {form}\n{STUDIES[form]}")
    return folder / "s.yaml"


def command(*arguments: object, **options: Any) -> "subprocess.Popen[str]":
    """decloak as a process of its own; `program` is what Python is told to run."""
    program = options.pop("program", ["-m", "decloak"])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine"), **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)], env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def finished(*arguments: object, **options: Any) -> tuple[int, str, str]:
    """Its exit code, standard output and standard error."""
    with command(*arguments, **options) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


TIMED = {("attack", "parameters"): "json_remove(parameters, '$.took')"}
"""What tells the time among other things, and the others."""


def content(store: Path) -> dict[str, list[str]]:
    """Every row of every table, without the time of runs and what they took."""
    # A place in the table `number` depends on the order of all stages. The checksum of a seal covers the times.
    told = {"started", "loss", "numbers", "checksum", "cpu_seconds", "seconds"}
    with closing(connect_readonly(store)) as connection:
        rows = {}
        for table in (table for table in schema_tables() if table.kind == "table"):
            names = [column.name for column in table.columns if column.name not in told]
            names = ["value"] if table.name == "number" else names
            columns = ", ".join(TIMED.get((table.name, name), f'"{name}"') for name in names)
            rows[table.name] = sorted(map(repr, connection.execute(f"select {columns} from {table.name}")))
        return rows


def whole(store: Path) -> bool:
    """Return whether nothing in `store` is broken, points nowhere, or differs from its checksum."""
    with closing(connect_readonly(store)) as connection:
        good = connection.execute("pragma integrity_check").fetchone() == ("ok",)
        good = good and not connection.execute("pragma foreign_key_check").fetchall()
        return good and not list(broken_seals(connection))
