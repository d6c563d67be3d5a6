"""Hierarchies of golden cases, and what a cut of one costs: shared by the tests of generalisation."""

import naive_generalise as naive
from decloak.anonymisers.kernels.raised_cut import ncp
from decloak.data.hierarchy import Hierarchy


def tree_of(hierarchy):
    return Hierarchy.from_parents(naive.parents_of(hierarchy))


def loss(tree, records, cut):
    """The NCP of a cut of coded records."""
    return ncp(tree, tree.occurrences(records), cut)
