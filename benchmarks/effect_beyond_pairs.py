"""Whether three items together, or latent topics, tell more of a disassociated release than its pairs do.

    python benchmarks/effect_beyond_pairs.py RECORDS.dat.gz [--seeds N] [--records N]

Files, halves, parameters and intervals are those of effect_clusters.py; with `--records` no more than so many of a half
are published. `expectation` values a unit and an anchor by
pairs of their items. Added to that value, with a weight:

`triples`   two items of the anchor and one of the unit: how often record chunks show all three, over what their pairs
            would give (Kirkwood's approximation), logarithms, both plus 2
`company`   the same of the clusters that publish all three
`topics N`  N topics of clusters (latent Dirichlet allocation): ln P(unit | cluster, anchor) - ln P(unit | cluster)
`parts N`   the same of topics of sub-records

The weight is the best of WEIGHTS as judged by the truth, on the very release: more than any attacker can choose. Then
boosted trees, which learn from the true rows of one half of the clusters to judge the other: from the value by pairs,
sizes and supports alone (`trees, pairs`), and from all of the above as well (`trees, all`). What the latter have ahead
of the former, such an attacker would have from what lies beyond pairs if he were taught with the truth.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.ensemble import HistGradientBoostingClassifier

from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.arrays import Floats
from decloak.data.assignment import Assignment, PairScores
from decloak.data.disassociated import Disassociated
from decloak.measure.accuracy import accuracy_of
from decloak.measure.kernels.statistics import paired_difference
from decloak.measure.kernels.true_rows import TrueRows
from decloak.rules.load import Catalogue
from decloak.rules.reassociate.consistent import cover_limits
from decloak.rules.reassociate.expected import TermRows, expectation, term_counts, term_supports
from decloak.rules.reassociate.fitted import fitted_scores
from decloak.rules.reassociate.match import best_rows
from decloak.rules.reassociate.scores import ClusterBatch, ClusterCase, SplitRelease, values
from effect_clusters import by_clusters
from effect_reassociate import Records, cell, load

K = 3
WEIGHTS = (0.1, 0.2, 0.5, 1.0, 2.0)
TOPICS = (10, 30, 100)
PRIOR = 2.0

Triple = tuple[str, str, str]


class Examined(NamedTuple):
    """Clusters attacked together: the value of every unit and anchor by pairs, its number of rows, what is added."""

    clusters: ClusterBatch
    values: Floats
    targets: Floats
    added: dict[str, Floats]


class Published(NamedTuple):
    """A release, and what is behind it."""

    release: Disassociated
    truth: TrueRows
    counts: Mapping[int, float]


# What lies beyond pairs


class Counts:
    """How often sets of up to three items are together, over what the pairs of three would give."""

    def __init__(self, documents: Sequence[Sequence[Sequence[str]]], sizes: Sequence[int]) -> None:
        """Documents are chunks of so many records, each a list of sub-records; pairs hold within a chunk."""
        self.together: Counter[Triple] = Counter()
        self.expected: Counter[Triple] = Counter()
        for subrecords, size in zip(documents, sizes, strict=True):
            seen = Counter(part for row in subrecords for n in (1, 2, 3) for part in combinations(sorted(row), n))
            items = sorted(part[0] for part in seen if len(part) == 1)
            if len(items) < 3:
                continue
            for a, b, c in combinations(items, 3):
                pairs = seen[a, b] * seen[a, c] * seen[b, c]
                self.together[a, b, c] += seen[a, b, c]
                self.expected[a, b, c] += pairs * size / (seen[a,] * seen[b,] * seen[c,])

    def of(self, a: str, b: str, c: str) -> float:
        x, y, z = sorted((a, b, c))
        return float(np.log((self.together[x, y, z] + PRIOR) / (self.expected[x, y, z] + PRIOR)))


class Company:
    """The same of the clusters that publish items, worked out when it is asked for."""

    def __init__(self, release: Disassociated) -> None:
        self.clusters: dict[str, set[int]] = {}
        for number, cluster in enumerate(release.clusters):
            for item in cluster.items:
                self.clusters.setdefault(item, set()).add(number)
        self.size = len(release.clusters)
        self.known: dict[Triple, float] = {}

    def of(self, a: str, b: str, c: str) -> float:
        x, y, z = triple = tuple(sorted((a, b, c)))
        if triple not in self.known:
            one, two, three = (self.clusters[item] for item in (x, y, z))
            pairs = len(one & two) * len(one & three) * len(two & three)
            expected = pairs * self.size / (len(one) * len(two) * len(three))
            self.known[triple] = float(np.log((len(one & two & three) + PRIOR) / (expected + PRIOR)))
        return self.known[triple]


def of_triples(case: ClusterCase, counts: Counts | Company) -> Floats:
    """Every unit and anchor, over the root of the anchor's pairs."""
    table = np.zeros((len(case.units), len(case.rows.anchors)))
    for c, anchor in enumerate(case.rows.anchors):
        pairs = list(combinations(anchor, 2))
        for u, unit in enumerate(case.units) if pairs else ():
            sums = (counts.of(a, b, y) for a, b in pairs for y in unit.items if y not in (a, b))
            table[u, c] = sum(sums) / len(pairs) ** 0.5
    return table


class Topics:
    """Latent topics: which a cluster has, and what items each has."""

    def __init__(self, release: Disassociated, topics: int, *, parts: bool) -> None:
        self.code = {item: n for n, item in enumerate(sorted({x for one in release.clusters for x in one.items}))}
        clusters = [_counted(cluster) for cluster in release.clusters]
        documents = clusters
        if parts:
            chunks = (chunk for cluster in release.clusters for chunk in cluster.record_chunks)
            documents = [Counter(row) for chunk in chunks for row in chunk.subrecords if len(row) > 1]
        model = LatentDirichletAllocation(topics, max_iter=20, random_state=0, n_jobs=1)
        model.fit(self._table(documents))
        self.of_cluster = model.transform(self._table(clusters))
        self.of_topic = model.components_ / model.components_.sum(axis=1, keepdims=True)

    def _table(self, documents: Sequence[Mapping[str, float]]) -> sparse.csr_array:
        rows = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
        columns = [self.code[item] for document in documents for item in document]
        counts = [count for document in documents for count in document.values()]
        return sparse.csr_array((counts, (rows, columns)), shape=(len(documents), len(self.code)), dtype=float)

    def of(self, case: ClusterCase) -> Floats:
        """ln P(unit | cluster, anchor) - ln P(unit | cluster), summed over the items of the unit."""
        before = np.log(self.of_cluster[case.number])
        table = np.zeros((len(case.units), len(case.rows.anchors)))
        for c, anchor in enumerate(case.rows.anchors):
            after = before + np.log(self.of_topic[:, [self.code[item] for item in anchor]]).sum(axis=1)
            after -= np.logaddexp.reduce(after)
            for u, unit in enumerate(case.units):
                likely = self.of_topic[:, [self.code[item] for item in unit.items]]
                table[u, c] = np.log(np.exp(after) @ likely).sum() - np.log(np.exp(before) @ likely).sum()
        return table


def _counted(cluster: object) -> Counter[str]:
    counts = Counter(item for chunk in cluster.record_chunks for row in chunk.subrecords for item in row)
    counts.update(cluster.term_chunk)
    return counts


# The attack with what is added


def attacked(published: Published, names: Sequence[str]) -> list[Examined]:
    """The clusters with all that may be added to the value by pairs."""
    release = published.release
    strategy = Catalogue().rule("expectation").compiled
    split = SplitRelease(release)
    coded = fitted_scores(release, [split.coded(PairScores(by_clusters(release), "smaller", 1.0), shared=False)])
    chunks = [(one.size, chunk.subrecords) for one in release.clusters for chunk in one.record_chunks]
    makers = {
        "triples": Counts([rows for _, rows in chunks], [size for size, _ in chunks]),
        "company": Company(release),
    }
    topics = {name: Topics(release, int(name.split()[1]), parts="parts" in name) for name in names if " " in name}
    made = []
    for batch in split.batches:
        base = values(batch, strategy, coded)
        added = {name: np.zeros(base.shape) for name in names}
        for case, units in batch.by_case():
            place = units, slice(0, len(case.rows.anchors))
            for name in names:
                maker = makers.get(name)
                added[name][place] = topics[name].of(case) if maker is None else of_triples(case, maker)
        made.append(Examined(batch, base, TermRows(published.counts, {}).expected(batch), added))
    return made


def right(published: Published, batch_values: Sequence[tuple[Examined, Floats]]) -> float:
    """The accuracy of what an expectation gives by these values."""
    ruled_out = cover_limits(published.release, K)
    given: list[Assignment] = []
    for batch, unit_values in batch_values:
        clusters, terms = batch.clusters, np.rint(batch.targets).astype(int)
        times = np.where(clusters.is_term, np.minimum(terms, clusters.records[clusters.owner]), clusters.times)
        rows = best_rows(clusters, expectation(clusters, unit_values, batch.targets, ruled_out), times).tuples()
        units = [(case.number, unit) for case in clusters.cases for unit in case.units]
        given += [Assignment(n, unit.chunk, unit.items, got) for (n, unit), got in zip(units, rows, strict=True) if got]
    return accuracy_of(published.truth, given).accuracy or 0.0


def weighed(published: Published, made: Sequence[Examined], name: str) -> float:
    """With the weight that the truth says is best."""
    return max(right(published, [(one, one.values + w * one.added[name]) for one in made]) for w in WEIGHTS)


def taught(published: Published, made: Sequence[Examined], names: Sequence[str]) -> float:
    """What trees say that learned from the true rows of the other half of the clusters, its log odds as values."""
    parts = [_examples(published, one, names) for one in made]
    x, y, weight, half = (np.concatenate(columns) for columns in zip(*(part[:4] for part in parts), strict=True))
    odds = np.zeros(len(y))
    for side in (0, 1):
        # Each cell stands for the rows of its anchor, of which a share has the unit.
        mine = half == side
        learner = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.05, random_state=0)
        both = np.concatenate([x[~mine], x[~mine]])
        kinds = np.repeat([1, 0], (~mine).sum())
        learner.fit(both, kinds, np.concatenate([y[~mine] * weight[~mine], (1 - y[~mine]) * weight[~mine]]))
        odds[mine] = learner.decision_function(x[mine])
    judged, first = [], 0
    for one, (*_, where) in zip(made, parts, strict=True):
        unit_values = np.full(one.values.shape, -np.inf)
        unit_values[where] = odds[first : first + where.sum()]
        first += int(where.sum())
        judged.append((one, unit_values))
    return right(published, judged)


def _examples(
    published: Published, one: Examined, names: Sequence[str]
) -> tuple[Floats, Floats, Floats, NDArray, NDArray]:
    """Features, the share of the rows that has the unit, how many rows, which half, and where the cells are."""
    truth, shape = published.truth, one.values.shape
    share, rows, half = np.zeros(shape), np.zeros(shape), np.zeros(shape, int)
    more = np.zeros((*shape, 6))
    first = 0
    for case in one.clusters.cases:
        units = truth.units(Assignment(case.number, unit.chunk, unit.items, ()) for unit in case.units)
        of_row, begin = np.array(case.rows.of_row), truth.first[case.number]
        sizes = np.bincount(of_row)
        having = np.isin(units[:, None] * truth.rows + begin + np.arange(len(of_row)), truth.true)
        place = slice(first, first + len(units)), slice(0, len(sizes))
        for row, anchor in enumerate(of_row.tolist()):
            share[place][:, anchor] += having[:, row] / sizes[anchor]
        rows[place], half[place] = sizes, case.number % 2
        lengths = [len(anchor) for anchor in case.rows.anchors]
        more[place] = np.stack(np.broadcast_arrays(
            sizes[None, :], np.array(lengths)[None, :], len(of_row), len(case.units),
            one.targets[first : first + len(units), None], np.array([len(u.items) for u in case.units])[:, None],
        ), axis=-1)  # fmt: skip
        first += len(units)
    where = rows > 0
    features = [one.values[where], *(one.added[name][where] for name in names)]
    return np.column_stack([*features, more[where]]), share[where], rows[where], half[where], where


def run(records: Records, seed: int, most: int | None) -> Iterator[tuple[str, float]]:
    mixed = random.Random(seed).sample(records, len(records))
    others = mixed[len(mixed) // 2 :][:most]
    made = disassociate(others, k=K, m=2, max_cluster=50)
    published = Published(
        made.release, TrueRows(made.release, others, made.truth), term_counts(term_supports(made.release, K))
    )
    names = ["triples", "company", *(f"topics {n}" for n in TOPICS), *(f"parts {n}" for n in TOPICS)]
    parts = attacked(published, names)
    yield "expectation", right(published, [(one, one.values) for one in parts])
    for name in names:
        yield name, weighed(published, parts, name)
    yield "trees, pairs", taught(published, parts, [])
    yield "trees, all", taught(published, parts, names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="how many halves are drawn")
    parser.add_argument("--records", type=int, help="published at most")
    arguments = parser.parse_args()
    records = load(arguments.file)
    runs = [dict(run(records, seed, arguments.records)) for seed in range(arguments.seeds)]
    print(f"{arguments.file.name}: {len(records):,} records, {arguments.seeds} seeds, 95% intervals")
    for name in runs[0]:
        ours = [figures[name] for figures in runs]
        print(f"{name:14} accuracy {cell(ours)}  {_minus(ours, [figures['expectation'] for figures in runs])}")
    print(f"all less pairs  {_minus(*([figures[f'trees, {name}'] for figures in runs] for name in ('all', 'pairs')))}")


def _minus(ours: Sequence[float], theirs: Sequence[float]) -> str:
    mean, _, high, *_ = paired_difference(ours, theirs)
    return "" if mean is None else f"{mean:+.4f}" + ("" if high is None else f"±{high - mean:.4f}")


if __name__ == "__main__":
    main()
