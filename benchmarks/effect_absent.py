"""The cost of a cut against attackers who also know absent items.

    python benchmarks/effect_absent.py FILE...

FILE is like bms_webview1.dat.gz (items with spaces between) or groceries.tsv.gz (an id, a tab, items joined by |). The
hierarchy groups five items by popularity. A line has the NCP, the number of labels, the combinations of up to m present
and absent labels that fewer than k records have, and the seconds of processor time.
"""

import argparse
import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import decloak
from decloak.anonymisers.kernels.building import ordered


def records(file: Path) -> Iterator[list[str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")[1].split("|") if "\t" in line else line.split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    print("file                          k  m  negative     NCP  labels  rare combinations  seconds")
    for file in parser.parse_args().files:
        data = decloak.Dataset.of(dict.fromkeys(row) for row in records(file))
        tree = ordered(data, "popularity", 5)
        for k, m in ((5, 1), (5, 2), (11, 2)):
            for options in ({}, {"negative": True}):
                begun = time.process_time()
                release: Any = decloak.anonymise(data, "cut", k=k, m=m, hierarchy=tree, **options)
                seconds = time.process_time() - begun
                rare = decloak.check(release, k, m, kind="negative", most=1_000_000).number
                line = (
                    f"{file.name:28} {k:2} {m:2}  {bool(options)!s:8}  {float(release.ncp):.4f}  {len(release.cut):6}"
                )
                print(f"{line}  {rare:17}  {seconds:7.2f}", flush=True)


if __name__ == "__main__":
    main()
