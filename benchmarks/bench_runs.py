"""What `make demo`, the gallery, and 3,000 records with six attacks and `link` cost with several checkouts of decloak.

    python benchmarks/bench_runs.py CHECKOUT... [--times N] [--python PATH]

Each is run with one checkout after the other, so that what else the machine does hits all of them alike. Printed are
the CPU seconds of the processes, user and system, the best of N for each checkout, and what share of the first the
last is.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from same_figures import Checkout, call

RECORDS = """\
scenario: What is won back from 3,000 records?
data: {generate: clinic, transactions: 3000, seed: 7}
anonymise: {method: sets, size: 4}
relate: {measure: ngd, source: clinic-counts}
attack: [ra, mda, tba, wba, gba, rba]
measure: [recovery]
"""
Job = Sequence[Sequence[object]]
"""Commands one after the other on one store."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what runs cost with several checkouts of decloak.")
    parser.add_argument("checkouts", type=Path, nargs="+", help="roots of checkouts, the one to compare with first")
    parser.add_argument("--times", type=int, default=5, help="how often each checkout does each")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the Python for all of them")
    options = parser.parse_args()
    checkouts = [Checkout(root.absolute(), options.python.absolute()) for root in options.checkouts]
    with TemporaryDirectory() as name:
        records = Path(name) / "records.yaml"
        records.write_text(RECORDS, encoding="utf-8")
        jobs = [jobs_of(checkout.root, records) for checkout in checkouts]
        for title in jobs[0]:
            best = [float("inf")] * len(checkouts)
            for _ in range(options.times):
                costs = [cost(checkout, each[title]) for checkout, each in zip(checkouts, jobs, strict=True)]
                best = list(map(min, best, costs))
            print(f"{title}:", *(f"{seconds:.2f}" for seconds in best), f"s; {best[-1] / best[0]:.2f}", flush=True)


def jobs_of(root: Path, records: Path) -> dict[str, Job]:
    """What a checkout does, by a title; the scenarios are its own."""
    gallery = sorted((root / "scenarios" / "gallery").glob("*.yaml"))
    demo = [
        ("run", root / "scenarios" / "quickstart.yaml"),
        ("explain", "last", "p01", "insulin", "--attack", "rba"),
        ("run", root / "scenarios" / "gallery" / "clinic-generalised.yaml"),
    ]
    return {"make demo": demo, "gallery": [("run", path) for path in gallery], "3,000 records": [("run", records)]}


def cost(checkout: Checkout, job: Job) -> float:
    """The CPU seconds of a job in a store of its own."""
    with TemporaryDirectory() as folder:
        return sum(call(checkout, Path(folder), *command).seconds for command in job)


if __name__ == "__main__":
    main()
