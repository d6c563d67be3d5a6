"""Contexts as one conjunctive term beside averages of single terms: what `conjunctive` and `rba` eliminate.

    python benchmarks/effect_conjunctive.py FOLDER [--seeds N]

Releases are those of effect_controls.py under COAT, items in random order within a record, from which a context takes
the 1, 2, 3, 5 nearest ones or all. Both attacks count in the same 1,700 other records. Eliminations are of all seeds.
"""

import argparse
import json
import random
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import decloak
from decloak.measure.family import POOLED
from decloak.store.opening import connect_readonly
from decloak.store.results import claims_of
from effect_controls import records_of, scenario

CONTEXTS = (1, 2, 3, 5, "all")
ATTACKS = ("rba", "conjunctive")


def line(folder: Path, name: str, context: int | str, seeds: int) -> str:
    records = records_of(folder, name)
    claims = []
    with TemporaryDirectory() as place:
        for seed in range(seeds):
            rng = random.Random(seed)
            mixed = [tuple(rng.sample(row, len(row))) for row in records]
            one = dict(scenario(Path(place), "set-generalised", name, mixed, seed))
            beside = {"file": f"others-{seed}.jsonl", "format": "jsonl"}
            one["anonymise"] = {**one["anonymise"], "order": "recorded"}
            one |= {"attack": list(ATTACKS), "attacker": {"context": context, "auxiliary": beside}}
            (Path(place) / "s.yaml").write_text(json.dumps(one), encoding="utf-8")
            store = Path(place) / "s.db"
            decloak.run(Path(place) / "s.yaml", store=store)
            with closing(connect_readonly(store)) as connection:
                claims.append({name: scopes[POOLED] for name, scopes in claims_of(connection, seed + 1).items()})
    cells = []
    for attack in ATTACKS:
        mine = [made[attack] for made in claims if attack in made]
        tried, right, chance = map(sum, zip(*mine, strict=True)) if mine else (0, 0, 0)
        cells.append(f"{tried:6,.0f} {right / tried:.3f} ({chance / tried:.3f})" if tried else f"{0:6}               ")
    return f"{name:10} {context!s:>8}   " + "   ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="samples of each data set")
    arguments = parser.parse_args()
    heads = "   ".join(f"{attack:<22}" for attack in ATTACKS)
    print(f"{'data':10} {'context':>8}   {heads}   eliminated, right (by chance)")
    for name in ("MTSamples", "recipes"):
        for context in CONTEXTS:
            print(line(arguments.folder, name, context, arguments.seeds), flush=True)


if __name__ == "__main__":
    main()
