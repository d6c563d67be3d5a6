"""Estimates from the clusters of a disassociated release.

n: the records of a cluster. A cluster publishes an item in one of its record chunks, in its term chunk, or in a shared
chunk of the innermost joint cluster that has the item. The chunks of a cluster are independent of each other, and its
terms too. A record has a sub-record with all of some items of a chunk with the probability: such sub-records / rows.
The rows are n, or the rows of the joint cluster. A record has a term with the probability min(1, tau / n). With
published totals, tau is what the chunks do not show of the total of the item / clusters with the item as a term.
Without, and for items that are rarer than published totals, tau = k / 2: a term is in 1 to k - 1 records.

The estimate of K is the sum over the clusters that publish all of K of n times the product of the probabilities of the
touched chunks. Records are rows: each has an anchor, its sub-record of the first record chunk, or none. w(row, K) is
that product with 1 or 0 for the first record chunk: 1 if the anchor has all items of K that are in this chunk.

A place is what a cluster says of an item: the number of the chunk, or `term`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.itemsets import among, distinct, places_in
from decloak.data.disassociated import Disassociated
from decloak.data.rows import runs
from decloak.lazy import sparse
from decloak.measure.kernels.estimate.estimator import Matrix
from decloak.measure.kernels.true_rows import TERM, published_items
from decloak.rules.reassociate.shared import shared_places

__all__ = ["ChunkEstimates"]


class _Touched(NamedTuple):
    """Chunks that itemsets touch: the pair, the chunk, the known items of the chunk as bits, and how many sub-records
    of the chunk have all of these.
    """

    pair: Ints
    chunk: Ints
    known: Ints
    rows: Ints

    def select(self, mask: Mask) -> "_Touched":
        return _Touched(*(values[mask] for values in self))


class _Found(NamedTuple):
    """Pairs of an itemset and a cluster that publishes all of it.

    `places` are items × pairs. `estimate` is the number that the cluster adds. `first` is the probability of the
    touched part of the first record chunk, 1 if K does not touch it.
    """

    itemset: Ints
    cluster: Ints
    places: Ints
    estimate: Floats
    first: Floats
    touched: list[_Touched]


@dataclass(frozen=True, eq=False)
class ChunkEstimates:
    """A release as arrays.

    Chunks are numbered: record chunks cluster by cluster, then shared chunks. The sub-records of a chunk are the rows
    from `begin[chunk]` to `begin[chunk + 1]` of `holds` (sub-records × items); `rows_of[chunk]` is the number of its
    rows. `places` (items × clusters) has the place of an item + 1. `first[cluster]` is the first record chunk, or -1;
    `own` is the number of record chunks. `tau` has a value for each item.
    """

    sizes: Ints
    first: Ints
    own: int
    begin: Ints
    rows_of: Ints
    holds: Matrix
    places: Matrix
    tau: Floats

    @classmethod
    def of(cls, release: Disassociated, number: Mapping[str, int]) -> "ChunkEstimates":
        """Lay out `release` as arrays; `number` numbers all of its items. Return the estimator."""
        clusters, joints, items = release.clusters, release.joints, max(1, len(number))
        sizes = np.array([cluster.size for cluster in clusters], np.int64)
        joined = [sum(clusters[member].size for member in joint.clusters) for joint in joints]
        chunks = [(chunk, cluster.size) for cluster in clusters for chunk in cluster.record_chunks]
        of_cluster = np.cumsum([0, *(len(cluster.record_chunks) for cluster in clusters)])
        shared = [
            (f"S{at}.{j}", chunk) for at, joint in enumerate(joints) for j, chunk in enumerate(joint.shared_chunks)
        ]
        own, chunk_number = len(chunks), {name: len(chunks) + at for at, (name, _) in enumerate(shared)}
        chunks += [(chunk, joined[int(name[1:].partition(".")[0])]) for name, chunk in shared]
        begin = np.cumsum([0, *(len(chunk.subrecords) for chunk, _ in chunks)])
        subrecords = [subrecord for chunk, _ in chunks for subrecord in chunk.subrecords]
        codes = np.array(list(map(number.__getitem__, chain.from_iterable(subrecords))), np.int64)
        start = np.cumsum([0, *map(len, subrecords)])
        holds = sparse.csr_array((np.ones(len(codes)), codes, start), (len(subrecords), items))
        of, item, chunk = published_items(release, number)
        place = np.where(chunk == TERM, len(chunks), of_cluster[of] + chunk)
        placed = [
            (at, number[name], chunk_number[chunk_name])
            for at, others in enumerate(shared_places(release))
            for name, chunk_name in others.items()
        ]
        of, item, place = np.concatenate((np.stack((of, item, place)), np.array(placed, np.int64).reshape(-1, 3).T), 1)
        return cls(
            sizes, np.where(np.diff(of_cluster) > 0, of_cluster[:-1], -1), own, begin,
            np.array([size for _, size in chunks], np.int64), holds,
            sparse.csr_array(sparse.coo_array((place + 1, (item, of)), (items, len(sizes)))),
            _taus(release, number, codes, item[place == len(chunks)]),
        )  # fmt: skip

    @property
    def items(self) -> int:
        return int(self.holds.shape[1])

    @property
    def term(self) -> int:
        return len(self.rows_of)

    @cached_property
    def _row_start(self) -> Ints:
        return np.append(0, np.cumsum(self.sizes))

    @cached_property
    def _subrecords_of(self) -> Ints:
        """Items and the sub-records that have them, `item * sub-records + sub-record`, ascending."""
        subrecord = np.repeat(np.arange(self.holds.shape[0]), np.diff(self.holds.indptr))
        return np.sort(self.holds.indices.astype(np.int64) * max(1, self.holds.shape[0]) + subrecord)

    @cached_property
    def _clusters_of(self) -> Ints:
        """Items and the clusters that publish them, `item * clusters + cluster`, ascending."""
        item = np.repeat(np.arange(self.items), np.diff(self.places.indptr))
        clusters: Ints = item * len(self.sizes) + self.places.indices
        return clusters

    @cached_property
    def _units(self) -> tuple[Ints, Matrix]:
        """The pairs of a cluster and a place of it, `cluster * (term + 1) + place`, ascending.

        And the probabilities of single items: units × items.
        """
        item, cluster = np.divmod(self._clusters_of, len(self.sizes))
        place = self.places.data - 1
        key = cluster * (self.term + 1) + place
        units, share = distinct(key), self._share(item, cluster, place)
        shares = sparse.coo_array((share, (np.searchsorted(units, key), item)), (len(units), self.items))
        return units, sparse.csr_array(shares)

    def supports(self, itemsets: Ints) -> Floats:
        """Estimate how many people have each of `itemsets`; return the numbers."""
        found = self._find(itemsets)
        return _sums(found.itemset, found.estimate, itemsets)

    def weights(self, itemsets: Ints, records: Ints) -> Floats:
        """Return w(row, K) for one of `records` for each of `itemsets`; rows are numbered cluster by cluster."""
        clusters = np.where(records >= 0, np.searchsorted(self._row_start, records, side="right") - 1, -1)
        found = self._find(itemsets, clusters)
        first, within = self.first[found.cluster], (records - self._row_start[clusters])[found.itemset]
        anchor = self.begin[first] + within
        fits = np.ones(len(anchor), np.bool_)
        for items, places in zip(itemsets, found.places, strict=True):
            shown = (anchor < self.begin[first + 1]) & self._have(items[found.itemset], anchor)
            fits &= (places != first) | shown
        w = found.estimate / self.sizes[found.cluster] / np.where(found.first > 0, found.first, 1.0)
        return _sums(found.itemset, np.where(fits, w, 0.0), itemsets)

    def extended(self, itemsets: Ints) -> tuple[Floats, Floats]:
        """Estimate the supports of `itemsets`, and of each with one more item: itemsets × items."""
        found, (units, shares) = self._find(itemsets), self._units
        live = np.flatnonzero(found.estimate > 0)
        begin, end = (np.searchsorted(units, (found.cluster[live] + step) * (self.term + 1)) for step in (0, 1))
        unit, at = runs(begin, end)
        pair, place = live[at], units[unit] % (self.term + 1)
        apart = (place == self.term) | (found.places[:, pair] != place).all(axis=0)
        entries = found.estimate[pair[apart]], (found.itemset[pair[apart]], unit[apart])
        of_units = sparse.coo_array(entries, (itemsets.shape[1], len(units)))
        extended: Floats = (sparse.csr_array(of_units) @ shares).toarray()
        for touched in found.touched:
            self._add_within(extended, itemsets, found, touched.select(found.estimate[touched.pair] > 0))
        return _sums(found.itemset, found.estimate, itemsets), extended

    def _add_within(self, extended: Floats, itemsets: Ints, found: _Found, touched: _Touched) -> None:
        """Add the estimates of further items of touched chunks."""
        of = found.itemset[touched.pair]
        subrecord, at = self._subrecords_with_all(itemsets, of, touched.chunk, touched.known)
        each = found.estimate[touched.pair] / touched.rows
        shared = touched.chunk[at] >= self.own
        of_own, entries = at[~shared], subrecord[~shared]
        own = sparse.coo_array((each[of_own], (of[of_own], entries)), (len(extended), self.holds.shape[0]))
        extended += (sparse.csr_array(own) @ self.holds).toarray()
        subrecord, at = subrecord[shared], at[shared]
        entry, place = runs(self.holds.indptr[subrecord], self.holds.indptr[subrecord + 1])
        item, at = self.holds.indices[entry], at[place]
        # A cluster may publish an item of a shared chunk elsewhere.
        here = self._place(item, found.cluster[touched.pair[at]]) == touched.chunk[at]
        key = of[at[here]] * self.items + item[here]
        extended += np.bincount(key, each[at[here]], extended.size).reshape(extended.shape)

    def _find(self, itemsets: Ints, clusters: Ints | None = None) -> _Found:
        """Find the clusters that publish itemsets, all of them or one for each itemset."""
        itemset, cluster = self._candidates(itemsets) if clusters is None else _pairs_given(itemsets, clusters)
        places = np.array([self._place(items[itemset], cluster) for items in itemsets]).reshape(len(itemsets), -1)
        there = (places >= 0).all(axis=0)
        itemset, cluster, places = itemset[there], cluster[there], places[:, there]
        estimate, first = self.sizes[cluster].astype(np.float64), np.ones(len(cluster))
        touched = []
        for leading in range(len(itemsets)):
            term = places[leading] == self.term
            tau = self.tau[itemsets[leading][itemset[term]]]
            estimate[term] *= np.minimum(1.0, tau / self.sizes[cluster[term]])
            known = ((places == places[leading]) << np.arange(len(places))[:, None]).sum(axis=0)
            pair = np.flatnonzero(~term & (known & ((1 << leading) - 1) == 0))
            chunk, bits = places[leading, pair], known[pair]
            count = self._count(itemsets, itemset[pair], chunk, bits)
            p = count / self.rows_of[chunk]
            estimate[pair] *= p
            of_first = chunk == self.first[cluster[pair]]
            first[pair[of_first]] = p[of_first]
            touched.append(_Touched(pair, chunk, bits, count))
        return _Found(itemset, cluster, places, estimate, first, touched)

    def _candidates(self, itemsets: Ints) -> tuple[Ints, Ints]:
        """Return itemsets and the clusters that publish the item that the fewest clusters publish."""
        there = np.flatnonzero((itemsets >= 0).all(axis=0))
        begin, end = self.places.indptr[itemsets[:, there]], self.places.indptr[itemsets[:, there] + 1]
        # Only clusters that publish the rarest item of an itemset can publish all of it.
        fewest = (end - begin).argmin(axis=0), np.arange(len(there))
        entry, at = runs(begin[fewest], end[fewest])
        return there[at], self.places.indices[entry].astype(np.int64)

    def _place(self, item: Ints, cluster: Ints) -> Ints:
        """Return the place of items in clusters, -1 where a cluster does not publish the item."""
        entry, there = places_in(self._clusters_of, item.astype(np.int64) * len(self.sizes) + cluster)
        place: Ints = np.where(there, np.append(self.places.data, 0)[entry] - 1, -1)
        return place

    def _have(self, item: Ints, subrecord: Ints) -> Mask:
        return among(item.astype(np.int64) * max(1, self.holds.shape[0]) + subrecord, self._subrecords_of)

    def _run(self, item: Ints, chunk: Ints) -> tuple[Ints, Ints]:
        """Return where the sub-records of a chunk begin and end that have an item."""
        base = item.astype(np.int64) * max(1, self.holds.shape[0])
        keys = self._subrecords_of
        return np.searchsorted(keys, base + self.begin[chunk]), np.searchsorted(keys, base + self.begin[chunk + 1])

    def _share(self, item: Ints, cluster: Ints, place: Ints) -> Floats:
        """Return the probability of single items."""
        share, term = np.minimum(1.0, self.tau[item] / self.sizes[cluster]), place == self.term
        begin, end = self._run(item[~term], place[~term])
        share[~term] = (end - begin) / self.rows_of[place[~term]]
        return share

    def _count(self, itemsets: Ints, itemset: Ints, chunk: Ints, known: Ints) -> Ints:
        """Count the sub-records of chunks that have all known items."""
        begin, end = self._run(_leading(itemsets, itemset, known), chunk)
        count = end - begin
        several = np.flatnonzero(known & (known - 1))
        _, at = self._subrecords_with_all(itemsets, itemset[several], chunk[several], known[several])
        count[several] = np.bincount(at, minlength=len(several))
        return count

    def _subrecords_with_all(self, itemsets: Ints, itemset: Ints, chunk: Ints, known: Ints) -> tuple[Ints, Ints]:
        """Return the sub-records of chunks that have all known items, and the place of the itemset of each."""
        leading = _leading(itemsets, itemset, known)
        entry, at = runs(*self._run(leading, chunk))
        subrecord = self._subrecords_of[entry] % max(1, self.holds.shape[0])
        for bit, items in enumerate(itemsets):
            asked = known[at] >> bit & 1 > 0
            kept = ~asked | self._have(items[itemset[at]], subrecord)
            subrecord, at = subrecord[kept], at[kept]
        return subrecord, at


def _taus(release: Disassociated, number: Mapping[str, int], shown: Ints, terms: Ints) -> Floats:
    """Return tau of each item; `shown` and `terms` have an item once for each time that it is one."""
    items = max(1, len(number))
    tau = np.full(items, (release.k or 2) / 2)
    times, clusters = np.bincount(shown, minlength=items), np.bincount(terms, minlength=items)
    for name, total in release.totals:
        if clusters[number[name]]:
            tau[number[name]] = max(0, total - times[number[name]]) / clusters[number[name]]
    return tau


def _sums(itemset: Ints, values: Floats, itemsets: Ints) -> Floats:
    return np.asarray(np.bincount(itemset, values, itemsets.shape[1]), np.float64)


def _pairs_given(itemsets: Ints, clusters: Ints) -> tuple[Ints, Ints]:
    itemset: Ints = np.flatnonzero((itemsets >= 0).all(axis=0) & (clusters >= 0))
    return itemset, clusters[itemset]


def _leading(itemsets: Ints, itemset: Ints, known: Ints) -> Ints:
    """Return the first known item of each itemset."""
    first: Ints = np.log2(known & -known).astype(np.int64)
    leading: Ints = itemsets[first, itemset]
    return leading
