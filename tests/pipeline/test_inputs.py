"""What a scenario names is opened once in a run, for its digest and its content, whoever needs which."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from processes import PATIENCE
from slowly import slow_but

FILES = {
    "rows.txt": "a1, b1, b2\na2, b1\na2, b1, b2\na1, a2, b2\n",
    "tree.csv": "child,parent\na1,A\na2,A\nb1,B\nb2,B\nA,ALL\nB,ALL\n",
    "foreign.txt": "".join(f"word {number}\n" for number in range(12)),
    "known.txt": "a1, b1\n",
    "published.txt": "A1, (b1, b2)\n(b1, b2)\n",
    "scores.csv": "a,b,ngd\nA1,b1,0.5\nA1,b2,0.7\n",
    "tables.csv": "x,b1,b2\n1,0.5,0.7\n2,0.7,0.5\n",
    "generalised.jsonl": """\
{"decloak": "release", "version": 1, "method": "generalisation", "k": 3, "m": 2}
{"label": "a", "items": ["a"]}
["a"]
["a"]
["a"]
""",
    "disassociated.jsonl": """\
{"decloak": "release", "version": 1, "method": "disassociation", "k": 3, "m": 2}
{"size": 3, "record_chunks": [{"items": ["a"], "subrecords": [["a"], ["a"], ["a"]]}], "term_chunk": ["c"]}
""",
}

DISASSOCIATE = (
    "data: {file: rows.txt, format: basket}\nanonymise: {method: disassociation, k: 2, m: 2, max_cluster: 3}\n"
)
SCORED = "relate: {measure: ngd, source: scores, file: scores.csv}\n"
SCENARIOS = {
    "a hierarchy": """\
data: {file: rows.txt, format: basket}
anonymise: {method: cut, k: 2, m: 2, hierarchy: {file: tree.csv, format: parents}}
attack: [km_violation]
vary: {anonymise.k: [1, 2]}
""",
    "a generalised release": "data: {release: generalised.jsonl}\nattack: [km_violation]\n",
    "a generalised release as published": "data: {published: generalised.jsonl}\nattack: [km_violation]\n",
    "a disassociated release": "data: {release: disassociated.jsonl}\nattack: [km_violation]\n",
    "foreign words": DISASSOCIATE
    + "attacker: {model: weak, foreign: foreign.txt}\nattack: [cover]\nmeasure: [breach]\n",
    "known itemsets": DISASSOCIATE + "attacker: {knowledge: known.txt}\nattack: [cover]\nmeasure: [breach]\n",
    "scores": "data: {published: published.txt}\n" + SCORED + "attack: [mda, tba]\nrepeat: {times: 2, seed: 1}\n",
    "distance tables": "data: {distances: tables.csv}\nattack: [mda, tba]\n",
    "a rule of one's own": "data: {published: published.txt}\n" + SCORED + "attack: [own.yaml]\n",
}
WATCHED = """\
import os, sys
from collections import Counter

opened = Counter()
there = set(os.listdir())

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        opened.update({os.path.basename(os.fspath(arguments[0]))} & there)

sys.addaudithook(note)
import decloak
decloak.run("scenario.yaml")
print(*sorted(f"{name}={count}" for name, count in opened.items()))
"""


@pytest.mark.parametrize("kind", slow_but(["a hierarchy", "scores"], SCENARIOS))
def test_every_file_of_a_scenario_is_opened_once(tmp_path: Path, kind: str) -> None:
    own = (ROOT / "rules" / "set_generalised" / "tba.yaml").read_text().replace("rule: tba", "rule: own")
    scenario = f"scenario: s\n{SCENARIOS[kind]}"
    for name, text in FILES.items() | {("own.yaml", own), ("scenario.yaml", scenario)}:
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    named = {name for name in (*FILES, "own.yaml", "scenario.yaml") if name == "scenario.yaml" or name in scenario}
    assert done.stdout.split() == sorted(f"{name}=1" for name in named)


def test_what_a_method_cannot_do_is_told_of_the_variant(call, tmp_path):
    (tmp_path / "d.txt").write_text("a, b\na, b\na\n")
    text = (
        "scenario: s\ndata: {file: d.txt, format: basket}\nattack: [km_violation]\n"
        "anonymise: {method: cut, k: 2, m: 1, hierarchy: {by: names, fanout: 2}}\n"
    )
    path = tmp_path / "s.yaml"
    path.write_text(f"{text}vary: {{anonymise.k: [2, 9]}}\n")
    done = call("run", path, "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "no release: k = 9 is impossible with 3 non-empty records" in done.err
    assert "(anonymise.k=9)" in done.err
    path.write_text(text.replace("k: 2, m", "k: 9, m"))
    done = call("run", path, "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "decloak: anonymise: k = 9 is impossible with 3 non-empty records" in done.err
