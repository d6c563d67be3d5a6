"""Counts for the items of the made-up clinic, measured in real medical texts: NGD with no download.

`clinic_counts.csv` holds figures only, no text. f(x) is the number of documents that hold x, f(x,y) of those that hold
both, N = 68,571 of all there are: 35,334 of MedQuAD (CC BY 4.0), 15,958 definitions of the Human Phenotype Ontology
(HPO licence), 13,929 abstracts of OHSUMED (research use), 1,852 of Hallmarks of Cancer (GPL-3), 1,000 of PubMedQA
(MIT), 498 of Medical Abstracts (CC BY-SA 3.0). A term is counted as the exact phrase of its words, stemmed with
Porter's algorithm; each of them occurs. Counted in November 2026 by benchmarks/count_clinic.py, which counts again.

A line is a term, f(x), and f(x,y) with the terms of the lines above, in their order, the first line excepted,
which is that of no term: N.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Literal

from decloak.data.tables import Pair
from decloak.relate.protocols import CountSource
from decloak.relate.relatedness import CountedSource, Supplies
from decloak.relate.sources import CountsFile

__all__ = ["ClinicSource", "clinic_counts"]


class ClinicSource(CountedSource):
    """Normalised Google distance by the counts that come with decloak for the clinic it generates."""

    source: Literal["clinic-counts"]
    """Built-in counts."""

    @contextmanager
    def open(self, supplies: Supplies) -> Iterator[CountSource]:
        yield clinic_counts()


@cache
def clinic_counts() -> CountsFile:
    """The counts of every item and pair of items that `decloak.data.generators.clinic` can make.

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
