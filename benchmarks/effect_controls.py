"""Which attacks that learn survive their controls, on every data set and in every form: as a run of decloak judges it.

    python benchmarks/effect_controls.py FOLDER [--seeds N] [--only NAME] [--form FORM] [--records N]

FOLDER has groceries.tsv.gz, recipes.tsv.gz, mtsamples_keywords.tsv.gz, bms_webview1.dat.gz and bms_webview2.dat.gz;
the clinic is generated. Of each, for every seed, other records are published: 600 under COAT with k = 5 and 30 sets
each of 3 to 6 items, where `selftrained` goes by what 1,700 others show together (of the clinic, by its counts over
medical texts); and 5,000 disassociated (`--records`), or half of all where there are fewer than twice as many,
with k = 3, m = 2 and clusters of at most 50, where `expectation` goes by the release alone.

A row has the share of eliminations, or of rows given, that is right, over all seeds: of chance, of the attack, and
of each of its controls. `flagged by` are the controls that speak against the attack, as in the verdict of a run.
`lead` is the advantage of the attack, with its 95% interval over the seeds.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import decloak
from decloak.data.generators.clinic import generate
from decloak.data.knowledge_levels import CONTROLS
from decloak.measure.family import POOLED
from decloak.report.compare.attacks import AttackAdvantage, advantages_of
from decloak.store.opening import connect_readonly
from decloak.store.results import claims_of, read_runs
from effect_reassociate import Records, load

FILES = {
    "groceries": "groceries.tsv.gz",
    "recipes": "recipes.tsv.gz",
    "MTSamples": "mtsamples_keywords.tsv.gz",
    "BMS-WebView-1": "bms_webview1.dat.gz",
    "BMS-WebView-2": "bms_webview2.dat.gz",
    "clinic": "",
}
SETS, OTHERS, CHUNKS, CLINIC = 600, 1_700, 5_000, 3_000
ATTACKS = {"set-generalised": "selftrained", "disassociated": "expectation"}


def records_of(folder: Path, name: str) -> Records:
    file = FILES[name]
    return load(folder / file) if file else [tuple(row) for row in generate(CLINIC, 7).transactions]


def scenario(folder: Path, form: str, name: str, records: Records, seed: int, most: int = CHUNKS) -> Mapping[str, Any]:
    """A scenario of one seed; its files are in the folder."""
    mixed = random.Random(seed).sample(records, len(records))
    count = SETS if form == "set-generalised" else min(most, len(mixed) // 2)
    data = {"file": _written(folder / f"published-{seed}.jsonl", mixed[:count]), "format": "jsonl"}
    of_all = {"scenario": f"{name}, {form}", "data": data, "attack": [ATTACKS[form]], "repeat": {"seed": seed}}
    if form == "disassociated":
        method = {"method": "disassociation", "k": 3, "m": 2, "max_cluster": 50}
        return {**of_all, "anonymise": method, "relate": {"measure": "clusters"}, "measure": ["accuracy"]}
    method = {"method": "coat", "k": 5, "privacy": {"count": 30, "sizes": [3, 4, 5, 6]}}
    others = _written(folder / f"others-{seed}.jsonl", mixed[count : count + OTHERS])
    sample = {"measure": "ngd", "source": "sample", "file": others, "format": "jsonl"}
    relate = {"measure": "ngd", "source": "clinic-counts"} if name == "clinic" else sample
    return {**of_all, "anonymise": method, "relate": relate, "attacker": {"context": "all"}, "measure": ["recovery"]}


def _written(path: Path, rows: Records) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path.name


def ran(folder: Path, form: str, name: str, records: Records, seeds: int, most: int) -> Path:
    """The store of the runs of all seeds."""
    store = folder / f"{form}.db"
    for seed in range(seeds):
        path = folder / f"{seed}.yaml"
        path.write_text(json.dumps(scenario(folder, form, name, records, seed, most)), encoding="utf-8")
        decloak.run(path, store=store)
    return store


def row(store: Path, attack: str, seeds: int) -> tuple[AttackAdvantage | None, dict[str, float]]:
    """The lead of the attack over all runs, if it claims anything, and the share that is right of each attack."""
    with closing(connect_readonly(store)) as connection:
        runs = [run._replace(variant="") for run in read_runs(connection, list(range(1, seeds + 1)))]
        leads = advantages_of(connection, runs, [attack])
        claims = [claims_of(connection, run.run) for run in runs]
    shares = {}
    for label in dict.fromkeys(label for made in claims for label in made):
        tried, right, _ = map(sum, zip(*(made[label][POOLED] for made in claims if label in made), strict=True))
        shares[label] = right / tried
    return (leads[0] if leads else None), shares


def line(cells: Sequence[str]) -> str:
    return (
        f"{cells[0]:14} {cells[1]:16} "
        + " ".join(f"{cell:>9}" for cell in cells[2:-2])
        + f"  {cells[-2]:20} {cells[-1]}"
    )


def rows(folder: Path, only: str | None, forms: Sequence[str], seeds: int, most: int) -> Iterator[list[str]]:
    for name in [only] if only else FILES:
        records = records_of(folder, name)
        for form, attack in ((form, ATTACKS[form]) for form in forms):
            with TemporaryDirectory() as place:
                lead, shares = row(ran(Path(place), form, name, records, seeds, most), attack, seeds)
            if lead is None:
                yield [name, form, *["-"] * (len(CONTROLS) + 2), "-", "nothing to go by"]
                continue
            mean, low, high, *_ = lead.interval
            tried, by_chance = lead.pooled.tried, lead.pooled.expected
            right = [shares.get(label) for label in (attack, *(f"{attack}_{control}" for control in CONTROLS))]
            cells = ["-" if share is None else f"{share:.3f}" for share in (by_chance / tried, *right)]
            ahead = f"{mean or 0:+.3f}" + ("" if low is None or high is None else f" ({low:+.3f} to {high:+.3f})")
            yield [name, form, *cells, ", ".join(lead.survived) or "none", ahead]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="samples of each data set")
    parser.add_argument("--only", choices=list(FILES))
    parser.add_argument("--form", choices=list(ATTACKS))
    parser.add_argument("--records", type=int, default=CHUNKS, help="disassociated at most")
    arguments = parser.parse_args()
    forms = [arguments.form] if arguments.form else list(ATTACKS)
    print(line(["data", "form", "chance", "attack", *CONTROLS, "flagged by", "lead"]))
    for cells in rows(arguments.folder, arguments.only, forms, arguments.seeds, arguments.records):
        print(line(cells), flush=True)


if __name__ == "__main__":
    main()
