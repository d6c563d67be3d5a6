"""Other names for the same items: eliminate rules remove the same members, and people are as exposed as before."""

import itertools
import random

import pytest

import decloak
from decloak.data.generators.baskets import baskets

RULES = ("mda", "tba", "wba", "gba", "rba", "centred")
SCENARIO = """\
scenario: s
data: {{file: o.txt, format: basket, published: {{file: p.txt, as_said: true, repeats: true}}, repeats: true}}
relate: {{measure: ngd, source: counts, file: c.csv}}
attack: [{rules}]
measure: [recovery]
"""
DRAWN = ("singled_out_2", "singled_out_3", "inferred_own")
"""Figures that are never below those of a random attack, whose draws go by the order of names."""


def counts(items, name):
    """Write counts of documents of which no two give the same distance: of equal ones rules take the first by name."""
    rng = random.Random(4)
    alone = {item: rng.randint(10_000, 90_000) for item in items}
    lines = [f"{name[item]},,{count}" for item, count in alone.items()]
    for one, other in itertools.combinations(items, 2):
        lines.append(f"{name[one]},{name[other]},{rng.randint(10, min(alone[one], alone[other]))}")
    return "\n".join(["a,b,count", ",,1000000", *lines]) + "\n"


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """The figures of one release under several names of its items: as they are, backwards, and two at random."""
    rows = [list(row) for row in baskets(transactions=150, items=40, length=5, seed=3).transactions]
    items = sorted({item for row in rows for item in row})
    shuffled = [random.Random(seed).sample(range(len(items)), len(items)) for seed in (1, 2)]
    found = []
    for order in (range(len(items)), range(len(items))[::-1], *shuffled):
        name = {item: f"n{place:03}" for item, place in zip(items, order, strict=True)}
        # Every second three items hide one another.
        hidden = {
            item: ", ".join(sorted(name[other] for other in items[at // 3 * 3 :][:3]))
            for at, item in enumerate(items[:36])
            if at // 3 % 2
        }
        folder = tmp_path_factory.mktemp("names")
        (folder / "o.txt").write_text("".join(", ".join(name[item] for item in row) + "\n" for row in rows))
        shown = [dict.fromkeys(f"({hidden[item]})" if item in hidden else name[item] for item in row) for row in rows]
        (folder / "p.txt").write_text("".join(", ".join(row) + "\n" for row in shown))
        (folder / "c.csv").write_text(counts(items, name))
        (folder / "s.yaml").write_text(SCENARIO.format(rules=", ".join(RULES)))
        found.append(decloak.run(folder / "s.yaml", store=folder / "s.db").variants[0].measures)
    return found


@pytest.mark.parametrize("rule", RULES)
def test_names_of_items_decide_nothing(figures, rule):
    keys = [key for key in figures[0] if key[1] == rule and key[0] not in DRAWN and "_baseline" not in key[0]]
    assert {name for name, _ in keys} >= {"eliminated", "correct", "precision", "recall", "exposed_2", "exposed_3"}
    for key in keys:
        for other in figures[1:]:
            assert other[key] == pytest.approx(figures[0][key], abs=1e-9), key
