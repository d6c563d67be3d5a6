"""The same scenario finds the same under other hash seeds, locales and time zones, with compiled loops or without."""

import json
import sys

import pytest

from slowly import slow_but
from studies import STUDIES, finished, written
from tries import drawn

WORLDS = (
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Kiritimati"},
    {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "PYTHONHASHSEED": "7"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "TZ": "America/St_Johns"},
    {"NUMBA_DISABLE_JIT": "1"},
)


@pytest.mark.parametrize("form", slow_but(["coat"], STUDIES))
def test_the_world_around_changes_neither_figures_nor_published_bytes(tmp_path, tries, form):
    outcomes = set()
    for number in tries(2):
        world = WORLDS[number % len(WORLDS)] if number < len(WORLDS) else {
            "PYTHONHASHSEED": str(drawn("hash", number).randrange(2**32))
        }  # fmt: skip
        folder = tmp_path / str(number)
        store = folder / "s.db"
        code, out, err = finished("run", written(folder, form), "--store", store, "--json", env=world)
        assert code == 0, err
        measures = [row for row in json.loads(out)["measures"] if row["measure"] not in ("seconds", "cpu_seconds")]
        kind = ".jsonl" if form == "disassociation" else ".txt"
        code, _, err = finished("publish", "last", folder / f"out{kind}", "--store", store, env=world)
        assert code == 0, err
        outcomes.add((json.dumps(measures), (folder / f"out{kind}").read_bytes()))
    assert len(outcomes) == 1


def test_a_world_is_another():
    """A try that changes nothing would prove nothing."""
    assert all(world for world in WORLDS)
    assert sys.flags.hash_randomization in (0, 1)
