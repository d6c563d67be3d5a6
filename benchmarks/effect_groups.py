"""Compare GBA with TBA on real data: the added members that they recover, and F, in 16 configurations.

    python benchmarks/effect_groups.py FOLDER [--records N] [--times N]

FOLDER has copies of the real data sets (`decloak gallery --data` says which). COAT publishes samples of four of them as
Figure 13 of Shao and Ong does, with two k. Distances are NGD, with counts of the release or of as many records of other
people. The paper's counts of the Web are not available. A line has the mean of each attack over the repetitions, and
the 95% interval of GBA minus TBA. GBA is higher or lower if the interval excludes zero.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from decloak.measure.kernels.statistics import interval, paired_difference
from decloak.pipeline.run import run
from decloak.report.gallery import real_files
from decloak.report.study import Study
from decloak.store.opening import connect_readonly
from decloak.store.results import read_runs

DATA = ("groceries", "msweb", "recipes", "bms_webview1")
K = [2, 5]
FIGURES = ("recall", "f1")
KNOWN: dict[str, dict[str, Any]] = {
    "release": {"relate": {"measure": "ngd", "source": "release"}},
    "sample": {"relate": {"measure": "ngd", "source": "sample"}, "attacker": {"knows": [{"sample": 0.5}]}},
}
"""The counts of an attacker by their source. A sample holds half of the records out."""


def scenario(data: Mapping[str, object], known: str, records: int, times: int) -> dict[str, object]:
    """Return the scenario that publishes `records` of `data` with each k, against an attacker with these counts."""
    drawn = records if known == "release" else 2 * records
    made = KNOWN[known]
    return {
        "scenario": "GBA and TBA on real data",
        "data": {**data, "sample": drawn},
        "anonymise": {"method": "coat", "order": "recorded", "k": K[0], "privacy": {"count": 40, "sizes": [3]}},
        **made,
        "attacker": {"context": 2, **made.get("attacker", {})},
        "attack": ["tba", "gba"],
        "measure": ["recovery"],
        "vary": {"anonymise.k": K},
        "repeat": {"times": times, "seed": 1},
    }


def studied(said: Mapping[str, object], store: Path) -> Study:
    """Run a scenario in `store`, and return its runs with their figures."""
    finished = run(said, store=store)
    with closing(connect_readonly(store)) as connection:
        return Study.of(connection, read_runs(connection, [variant.run for variant in finished.variants]))


def compared(study: Study, runs: list[int]) -> Iterator[tuple[str, str, str]]:
    """Yield each figure in these repetitions, its values in words, and whether GBA is higher than TBA."""
    for figure in FIGURES:
        gba, tba = (study.values(runs, figure, attack) for attack in ("gba", "tba"))
        difference = paired_difference(gba, tba)
        low, high = (difference.mean if end is None else end for end in (difference.low, difference.high))
        assert low is not None
        assert high is not None
        verdict = "higher" if low > 0 else "lower" if high < 0 else "not different"
        means = " | ".join(f"{interval(values).mean:.3f}" for values in (gba, tba))
        yield figure, f"{means} | {low:+.3f} to {high:+.3f} | {verdict}", verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=1000, help="how many are published")
    parser.add_argument("--times", type=int, default=10, help="how many repetitions, each with its own sample")
    arguments = parser.parse_args()
    files, counts = real_files(arguments.folder), Counter[tuple[str, str, str]]()
    print(f"| data | counts of | variant | figure | GBA | TBA | GBA - TBA | GBA is |\n|{'---|' * 8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in DATA:
            for known in KNOWN:
                said = scenario(files[name], known, arguments.records, arguments.times)
                study = studied(said, Path(folder) / "runs.db")
                for variant, runs in study.variants:
                    for figure, line, verdict in compared(study, runs):
                        counts[figure, known, verdict] += 1
                        print(f"| {name} | {known} | {variant} | {figure} | {line} |", flush=True)
    for (figure, known, verdict), number in sorted(counts.items()):
        print(f"{figure}, counts of the {known}: GBA is {verdict} in {number} of {len(DATA) * len(K)}")


if __name__ == "__main__":
    main()
