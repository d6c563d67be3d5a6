"""Hierarchies of golden cases, and what a cut of one costs: shared by the tests of generalisation."""

from fractions import Fraction

import naive_generalise as naive
from decloak.anonymisers.kernels.raised_cut import ncp
from decloak.data.hierarchy import Hierarchy


def tree_of(hierarchy):
    return Hierarchy.from_parents(naive.parents_of(hierarchy))


def loss(tree, records, cut):
    """The NCP of a cut of coded records."""
    return ncp(tree, tree.occurrences(records), cut)


def local_ncp(tree, records, recoding):
    """The NCP of a recoding of coded records, occurrence by occurrence, each by the cut of its record."""
    leaves = [tree.leaves[tree.above(cut)].tolist() for cut in recoding.cuts]
    record = [row for row in range(records.shape[0]) for _ in range(records.indptr[row], records.indptr[row + 1])]
    sizes = [leaves[recoding.part[row]][item] for row, item in zip(record, records.indices, strict=True)]
    total = sum(size for size in sizes if size > 1)
    return Fraction(total, len(sizes) * len(tree.items)) if sizes else Fraction(0)
