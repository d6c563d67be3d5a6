"""Count the made-up clinic's items in a corpus of medical texts.

    python benchmarks/count_clinic.py CORPUS.tsv.xz > engine/decloak/relate/clinic_counts.csv

The corpus has one document a line, `source<TAB>text`; what was counted leaves out doctors' notes and dialogues, as
scenarios/quickstart/counts.csv does. A line is a term, f(x), and f(x,y) with each term above; the first line is N's.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from count_terms import counts, documents
from decloak.data.generators.clinic import knowledge

WITHOUT = ("mtsamples", "mtsdialog")


def lines(corpus: Path) -> Iterator[str]:
    """The lines of the counts file."""
    rows: dict[str, list[int]] = {}
    for a, b, count in counts(knowledge().vocabulary, documents(corpus, WITHOUT)):
        rows.setdefault(b or a, []).append(count)
    for term, row in rows.items():
        yield ",".join([term, *map(str, row)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="source<TAB>text, one document a line, xz")
    for line in lines(parser.parse_args().corpus):
        print(line)


if __name__ == "__main__":
    main()
