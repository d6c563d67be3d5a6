"""How well an attacker tells added members from meant ones on COAT's releases, by what he knows, in F.

    python benchmarks/effect_selftrained.py INPUTS.json.gz FOLDER INDEX

INPUTS has samples of MTSamples' keywords and of recipes (numbers of lines) and what COAT made of them; FOLDER the files
these lines are of (mtsamples_keywords.tsv.gz, recipes.tsv.gz) and word vectors (glove100_i8_150k.npz with its words in
glove100_vocab_150k.txt.gz); INDEX is the corpus that build_reference_corpus.py makes. The vectors of wordllama come
with the extra 'embeddings'. Contexts are all plain items.

Every member is eliminated but the best of each row, in the order of the attack, and never the last of a column.
`language` goes by distances, `combined` by the mean of NGD and GloVe, `centred` by that less the means of row and
column; the rest is learned from the release itself (`selftrained`), by one measure, these two, all three or none, and
by the two with each control. A sample of the population has other lines of the file, 1,770 and 3,000; what is counted
there is taken for NGD.
The last lines compare `selftrained` with `combined` over the samples, and say how often cells of each probability were
added members indeed.
"""

import argparse
import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats
from decloak.attacker import selftrained
from decloak.attacker.tables import needed_pairs, tables
from decloak.data.knowledge_levels import CONTROLS, Control
from decloak.data.pairs import AttackTable, Pair
from decloak.data.published import Published
from decloak.measure.kernels.statistics import interval, paired_difference
from decloak.relate.combined import combine_measures
from decloak.relate.corpus_index import Corpus
from decloak.relate.counting import CachedCounts
from decloak.relate.ngd import distances
from decloak.relate.ngd_sources import ObservedCounts
from decloak.relate.word_vectors import PackagedVectors

FILES = {"mts": "mtsamples_keywords.tsv.gz", "recipes": "recipes.tsv.gz"}
SAMPLE = {"mts": 1_770, "recipes": 3_000}
PART = 50_000
"""Pairs whose vectors are held at a time."""
Measure = Callable[[Sequence[Pair]], Mapping[Pair, float | None]]


def vectors(folder: Path) -> Callable[[str], Floats]:
    file = np.load(folder / "glove100_i8_150k.npz")
    table = file["q"].astype(np.float32) * file["scale"].astype(np.float32)[:, None]
    with gzip.open(folder / "glove100_vocab_150k.txt.gz", "rt", encoding="utf-8") as lines:
        number = {line.split("\t")[0].strip(): place for place, line in enumerate(lines)}

    def vector(term: str) -> Floats:
        places = [number[word] for word in "".join(c if c.isalnum() else " " for c in term).split() if word in number]
        mean = table[places].mean(axis=0) if places else np.full(table.shape[1], np.nan)
        return np.asarray(mean / np.linalg.norm(mean))

    return vector


def wordllama() -> Callable[[str], Floats]:
    packaged = PackagedVectors.load()

    def vector(term: str) -> Floats:
        (of_term,) = packaged.embed([term]).vectors
        return np.asarray(of_term / np.linalg.norm(of_term))

    return vector


def by_cosine(vector: Callable[[str], Floats]) -> Measure:
    cache: dict[str, Floats] = {}

    def measure(pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        for item in {item for pair in pairs for item in pair} - cache.keys():
            cache[item] = vector(item)
        place = {item: at for at, item in enumerate(cache)}
        table, sides = np.array(list(cache.values())), [[place[pair[side]] for pair in pairs] for side in (0, 1)]
        parts = (slice(at, at + PART) for at in range(0, len(pairs), PART))
        cosines = [np.einsum("ij,ij->i", table[sides[0][part]], table[sides[1][part]]) for part in parts]
        scores = (None if cosine != cosine else 1 - cosine for cosine in np.concatenate([[], *cosines]).tolist())
        return dict(zip(pairs, scores, strict=True))

    return measure


def ngd(index: Corpus) -> Measure:
    counted = CachedCounts(index, None)
    return remembered(lambda pairs: distances(counted, pairs, unseen=1.0, cap="none").distances)


def remembered(measure: Measure) -> Measure:
    """The same, each pair worked out once."""
    scores: dict[Pair, float | None] = {}

    def recalled(pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        scores.update(measure([pair for pair in pairs if pair not in scores]))
        return {pair: scores[pair] for pair in pairs}

    return recalled


def kept(measure: Measure) -> Measure:
    """The same, the last pairs not worked out anew."""
    last: tuple[Sequence[Pair], Mapping[Pair, float | None]] = ((), {})

    def recalled(pairs: Sequence[Pair]) -> Mapping[Pair, float | None]:
        nonlocal last
        if last[0] != pairs:
            last = pairs, measure(pairs)
        return last[1]

    return recalled


def counted(transactions: Sequence[tuple[str, ...]]) -> Measure:
    seen = ObservedCounts(transactions)
    return lambda pairs: distances(seen, pairs, unseen=1.0, cap="none").distances


def eliminated_well(ranks: Sequence[Floats], attacked: Sequence[AttackTable], truth: Sequence[frozenset[str]]) -> float:
    """F1 of eliminating all but the best of each row."""
    eliminated = right = added = 0
    for table, rank in zip(attacked, ranks, strict=True):
        meant = np.array([[member in truth[number] for member in table.columns] for number in table.transactions])
        added += int((~meant).sum())
        in_row, in_column = np.full(rank.shape[0], rank.shape[1]), np.full(rank.shape[1], rank.shape[0])
        for cell in np.argsort(-rank.ravel(), kind="stable").tolist():
            row, column = divmod(cell, rank.shape[1])
            if in_row[row] > 1 and in_column[column] > 1:
                in_row[row] -= 1
                in_column[column] -= 1
                eliminated += 1
                right += not meant[row, column]
    return 2 * right / (eliminated + added)


def by_distance(
    published: Published, scores: Mapping[Pair, float | None], attacked: Sequence[AttackTable]
) -> list[Floats]:
    """The distance of every cell; of what has none the mean of its table."""
    every = {table.members: table for table in tables(published, scores, None)}
    ranks = []
    for table in attacked:
        d, scored = np.full(table.d.shape, np.nan), every.get(table.members)
        if scored is not None:
            rows = {number: row for row, number in enumerate(table.transactions.tolist())}
            columns = [table.columns.index(member) for member in scored.columns]
            d[np.ix_([rows[number] for number in scored.transactions.tolist()], columns)] = scored.d
        ranks.append(np.where(np.isnan(d), np.nanmean(d) if np.isfinite(d).any() else 0.0, d))
    return ranks


def centred(d: Floats) -> Floats:
    return np.asarray(d - d.mean(axis=1, keepdims=True) - d.mean(axis=0, keepdims=True))


def measured(
    published: Published,
    truth: list[frozenset[str]],
    language: Mapping[str, Measure],
    beside: Mapping[str, Measure],
    others: Sequence[tuple[str, ...]],
) -> tuple[dict[str, float], Floats, Floats]:
    """F of every attacker, and of `selftrained` the probability of every cell and whether its member was added.

    `beside` are measures of language that only the last rows add to those of `language`.
    """
    sample = counted(others)
    pairs, known = needed_pairs(published, None), {**language, **beside, "sample": sample}
    resembling = {name: kept(measure) for name, measure in {**language, **beside}.items()}
    attacked = tables(published, dict.fromkeys(pairs, 0.0), None)
    scores = {name: measure(pairs) for name, measure in language.items()}
    both = by_distance(published, combine_measures(list(scores.values())), attacked)
    rng = np.random.default_rng(0)
    ranks = {"chance": [rng.random(table.d.shape) for table in attacked]}
    ranks |= {f"language: {name}": by_distance(published, scored, attacked) for name, scored in scores.items()}
    ranks |= {"combined": both, "centred": [centred(d) for d in both]}

    def learned(names: Sequence[str], control: Control | None = None) -> list[Floats]:
        return selftrained.learn_from_release(
            published,
            attacked,
            lambda asked: [known[name](asked) for name in names],
            resemble=lambda asked: [resembling[name](asked) for name in names if name in resembling],
            others=others if "sample" in names else (),
            control=control,
        ).added

    ranks |= {f"selftrained by {name}": learned([name]) for name in language}
    ranks |= {"sample": by_distance(published, sample(pairs), attacked), "selftrained by sample": learned(["sample"])}
    ranks |= {"selftrained by both, sample": learned([*language, "sample"])}
    ranks |= {"selftrained": learned(list(language)), "selftrained by nothing": learned([])}
    ranks |= {f"control: {control}": learned(list(language), control) for control in CONTROLS}
    ranks |= {
        "selftrained by three": learned([*language, *beside]),
        "selftrained by three, sample": learned(list(known)),
    }
    added = [np.array([[m not in truth[n] for m in table.columns] for n in table.transactions]) for table in attacked]
    p, kind = (np.concatenate([part.ravel() for part in parts]) for parts in (ranks["selftrained"], added))
    return {name: eliminated_well(rank, attacked, truth) for name, rank in ranks.items()}, p, kind


class Sample(NamedTuple):
    """A release of some transactions, what they really held, and the other transactions."""

    published: Published
    truth: list[frozenset[str]]
    others: list[tuple[str, ...]]


def samples(inputs: Path, folder: Path, name: str, k: str) -> Iterator[Sample]:
    """The samples of a data set, published with k."""
    with gzip.open(inputs, "rt", encoding="utf-8") as file:
        given = json.load(file)
    with gzip.open(folder / FILES[name], "rt", encoding="utf-8") as lines:
        every = [tuple(dict.fromkeys(line.rstrip("\n").split("\t")[1].split("|"))) for line in lines]
    for key, numbers in given["lines"].items():
        sample = " ".join(key.split()[:2])
        if sample.split()[0] != name:
            continue
        sets = {item: tuple(sorted(items)) for items in given["releases"][sample][k] for item in items}
        rows = [every[number] for number in numbers]
        shown = tuple(tuple(dict.fromkeys(sets.get(item, item) for item in row)) for row in rows)
        published = Published(shown, tuple(map(str, range(len(rows)))))
        others = [every[number] for number in range(len(every)) if number not in frozenset(numbers)]
        yield Sample(published, list(map(frozenset, rows)), others)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("inputs", "folder", "index"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", metavar="TITLE", help="one of these alone, such as 'mts k=3'")
    arguments = parser.parse_args()
    with Corpus.open(arguments.index) as index:
        language = {"ngd": ngd(index), "glove": by_cosine(vectors(arguments.folder))}
        beside = {"wordllama": by_cosine(wordllama())}
        for name, k in (("mts", "k=3"), ("mts", "k=5"), ("recipes", "k=3"), ("recipes", "k=5")):
            if arguments.only not in (None, f"{name} {k}"):
                continue
            results = []
            for published, truth, others in samples(arguments.inputs, arguments.folder, name, k):
                sample_of = random.Random(1).sample(others, min(len(others), SAMPLE[name]))
                results.append(measured(published, truth, language, beside, sample_of))
            report(f"{name} {k}", results)


def report(title: str, results: Sequence[tuple[dict[str, float], Floats, Floats]]) -> None:
    print(f"{title}, {len(results)} samples", flush=True)
    for name in results[0][0]:
        mean, _, high, *_ = interval([figures[name] for figures, *_ in results])
        print(f"  {name:27} {mean or 0:.3f} ±{(high or 0) - (mean or 0):.3f}")
    ours, theirs = ([figures[name] for figures, *_ in results] for name in ("selftrained", "combined"))
    mean, low, high, *_ = paired_difference(ours, theirs)
    print(f"  selftrained minus combined {mean or 0:+.3f}, 95% {low or 0:+.3f} to {high or 0:+.3f}")
    p, added = (np.concatenate([result[side] for result in results]) for side in (1, 2))
    print(f"  Brier score {np.mean((p - added) ** 2):.4f}, of the mean for all {added.mean() * (1 - added.mean()):.4f}")
    for low_p in np.arange(0, 1, 0.1):
        within = (p >= low_p) & (p < low_p + 0.1 + 1e-9)
        if within.any():
            shares = f"p {p[within].mean():.3f}, added {added[within].mean():.3f}"
            print(f"  [{low_p:.1f}, {low_p + 0.1:.1f})  {within.sum():5} cells, {shares}")


if __name__ == "__main__":
    main()
