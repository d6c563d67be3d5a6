"""Built-in document counts for the items of the generated clinic, measured in real medical texts: NGD without a
download.

`clinic_counts.csv` has numbers only, no text. f(x) is the number of documents that contain x, f(x,y) the number that
contain both, and N = 68,571 the number of all documents: 35,334 of MedQuAD (CC BY 4.0), 15,958 definitions of the Human
Phenotype Ontology (HPO licence), 13,929 abstracts of OHSUMED (research use), 1,852 of Hallmarks of Cancer (GPL-3),
1,000 of PubMedQA (MIT), 498 of Medical Abstracts (CC BY-SA 3.0). A term is counted as the exact phrase of its words,
stemmed with Porter's algorithm; each term occurs. Counted in November 2026 by benchmarks/count_clinic.py, which repeats
the count.

The first line has N. Each further line has a term, f(x), and f(x,y) with the terms of the lines above, in their order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Literal

from decloak.data.pairs import Pair
from decloak.relate.counts_file import CountsFile
from decloak.relate.ngd import CountSource
from decloak.relate.relatedness import CountedSource, Supplies


class ClinicSource(CountedSource):
    """Normalised Google distance from the counts that decloak has for its generated clinic."""

    source: Literal["clinic-counts"]
    """Built-in counts."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield clinic_counts()


@cache
def clinic_counts() -> CountsFile:
    """Return the counts of every item and pair of items that `decloak.data.generators.clinic` can make.

    >>> counts = clinic_counts()
    >>> counts.n, counts.counts(["metformin"]), counts.joint([("metformin", "diabetes")])
    (68571, {'metformin': 33}, {('metformin', 'diabetes'): 21})
    """
    text = (files("decloak.relate") / "clinic_counts.csv").read_text(encoding="utf-8")
    (_, n), *rows = (line.split(",") for line in text.splitlines())
    terms = [term for term, *_ in rows]  # in code point order, as CountsFile wants its pairs
    single: dict[str, int | None] = {term: int(f) for term, f, *_ in rows}
    both: dict[Pair, int | None] = {
        (above, term): int(f)
        for number, (term, _, *joint) in enumerate(rows)
        for above, f in zip(terms[:number], joint, strict=True)
    }
    return CountsFile(int(n), single, both)
