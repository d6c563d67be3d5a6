"""The success of attackers on COAT whose free choices go to the partner that an attacker can distinguish least, in F.

    python benchmarks/effect_partner.py INPUTS.json.gz FOLDER [--slack S] [--only mts]

INPUTS and FOLDER are those of effect_selftrained.py. Each sample of 600 transactions is published anew with k = 3, its
own 120 constraints and one utility constraint of all items: by COAT as it is, and by each choice of partners.
`language` is the cosine of GloVe's vectors, `population` the lift in the whole file.

Each attacker keeps one member per row. `chance` keeps one at random and `glove` the closest one. `selftrained` learns
from the release. `adaptive` knows the choice of partners: it learns from the other two samples, which are published in
the same way, and from their originals. Its features are GloVe's distances, the lift in those two samples, and the
support there. `narrow` has fewer features: of each measure the mean distance, and it minus the means of its row and its
column. `no lift` is `narrow` without the lift. `reversed` eliminates the closest member instead. The gain is
(F - chance) / (1 - chance).

The last columns are the loss in units of COAT's own, the records with two members of one label, the choices with
several partners of the least loss, and the seconds of processor time more than COAT's own. Then come the bars, each
with its figure.
"""

import argparse
import gzip
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from decloak.anonymisers.kernels import coat_partner
from decloak.anonymisers.kernels.coat import Coat, coat
from decloak.anonymisers.kernels.coat_partner import Merging
from decloak.arrays import Floats
from decloak.attacker import selftrained
from decloak.attacker.cell_features import Occurrences, cell_features, pairs_of
from decloak.attacker.logistic import learn
from decloak.attacker.tables import needed_pairs, tables
from decloak.data.dataset import Dataset
from decloak.data.pairs import AttackTable, Pair, Pairs, ScoredPairs
from effect_selftrained import FILES, Measure, by_distance, eliminated_well, kept, vectors

WAYS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "hard, language": {"partner": "hard", "language": True},
    "even, language": {"partner": "even", "language": True},
    "even, language + population": {"partner": "even", "language": True, "population": True},
    "hard, language + population": {"partner": "hard", "language": True, "population": True},
}
ATTACKERS = ("chance", "glove", "reversed", "selftrained", "no lift", "narrow", "adaptive")
NARROW = [*(10 * measure + place for measure in range(3) for place in range(3)), -2, -1]
"""The features of `narrow` among those of `cell_features`: the last two are the numbers of rows and columns."""
NO_LIFT = [place for place in NARROW if place // 10 != 1]


class Made(NamedTuple):
    """A release, its original transactions, the tables of an attacker, and what it cost."""

    release: Coat
    data: Dataset
    attacked: Sequence[AttackTable]
    together: int
    ties: float
    seconds: float

    @property
    def truth(self) -> list[frozenset[str]]:
        return list(map(frozenset, self.data.transactions))

    @property
    def added(self) -> Floats:
        truth = self.truth
        cells = (
            [member not in truth[number] for number in table.transactions.tolist() for member in table.columns]
            for table in self.attacked
        )
        return np.array(list(chain.from_iterable(cells)), float)


def samples(inputs: Path, folder: Path, name: str) -> tuple[Dataset, list[tuple[Dataset, list[list[str]]]]]:
    """Return the whole file, and each sample with its privacy constraints."""
    with gzip.open(inputs, "rt", encoding="utf-8") as file:
        given = json.load(file)
    with gzip.open(folder / FILES[name], "rt", encoding="utf-8") as lines:
        every = [tuple(dict.fromkeys(line.rstrip("\n").split("\t")[1].split("|"))) for line in lines]
    named = [key for key in given["lines"] if key.split()[0] == name]
    rows = [Dataset.of([every[number] for number in given["lines"][key]]) for key in named]
    constraints = [given["releases"][" ".join(key.split()[:2])]["constraints"] for key in named]
    return Dataset.of(every), list(zip(rows, constraints, strict=True))


def publish(
    data: Dataset,
    privacy: list[list[str]],
    whole: Dataset,
    near: Mapping[Pair, float | None],
    way: Mapping[str, Any],
    slack: float,
) -> Made:
    options: dict[str, Any] = {}
    if "partner" in way:
        options = {"partner": way["partner"], "slack": slack, "near": near if way.get("language") else ()}
        options |= {"population": whole} if way.get("population") else {}
    choices: list[bool] = []
    choose = Merging.choose

    def counted(state: Merging, g: int, partners: Any, supports: Any, together: Any) -> int:
        counts = state.count[partners]
        least = min(
            coat_partner.loss(int(n) + int(state.count[g]), int(s)) for n, s in zip(counts, supports, strict=True)
        )
        exact = (coat_partner.loss(int(n) + int(state.count[g]), int(s)) for n, s in zip(counts, supports, strict=True))
        choices.append(sum(one == least for one in exact) > 1)
        return choose(state, g, partners, supports, together)

    began = time.process_time()
    release = coat(data, privacy, [data.items], k=3, **options)
    seconds = time.process_time() - began
    if not options:
        with patch.object(Merging, "choose", counted):
            coat(data, privacy, [data.items], k=3)
    label = release.phi
    together = sum(
        any(count > 1 for count in Counter(label[item] for item in items if label[item]).values())
        for items in data.transactions
    )
    attacked = tables(release.published, dict.fromkeys(needed_pairs(release.published, None), 0.0), None)
    return Made(release, data, attacked, together, sum(choices) / max(1, len(choices)), seconds)


def split(values: Floats, attacked: Sequence[AttackTable]) -> list[Floats]:
    ends = np.cumsum([table.d.size for table in attacked])[:-1]
    return [part.reshape(table.d.shape) for part, table in zip(np.split(values, ends), attacked, strict=True)]


def occurrences(attacked: Sequence[AttackTable]) -> list[Occurrences]:
    return [Occurrences(table.columns, table.contexts) for table in attacked]


def lift(rows: Sequence[tuple[str, ...]]) -> Measure:
    """Minus the logarithm of the lift of two items, so that smaller is closer."""
    data = Dataset.of(rows).rows
    held = data.matrix(np.arange(len(data.names)), len(data.names)).astype(np.int64)
    number = {item: code for code, item in enumerate(data.names)}
    together = (held.T @ held).tocsr()
    support = np.append(together.diagonal(), 0)

    def measure(pairs: Sequence[Pair]) -> ScoredPairs:
        asked = Pairs.of(pairs)
        code = np.array([number.get(item, -1) for item in asked.items])
        a, b = code[asked.a], code[asked.b]
        both = np.where((a >= 0) & (b >= 0), np.asarray(together[a, b]).ravel(), 0)
        return ScoredPairs(asked, -np.log((both + 0.05) / (support[a] * support[b] / len(data) + 0.05)))

    return measure


def cosines(vector: Callable[[str], Floats]) -> Measure:
    """One minus the cosine of the vectors of two items."""
    cache: dict[str, Floats] = {}

    def measure(pairs: Sequence[Pair]) -> ScoredPairs:
        asked = Pairs.of(pairs)
        cache.update({item: vector(item) for item in asked.items if item not in cache})
        table = np.array([cache[item] for item in asked.items])
        near = table @ table.T
        return ScoredPairs(asked, 1 - near[asked.a, asked.b])

    return measure


def adaptive(made: Made, others: Sequence[Made], glove: Measure) -> dict[str, list[Floats]]:
    """The probability of every cell, learned from the `others` with their originals, by all features and by few."""

    def features(one: Made, known: Sequence[tuple[str, ...]]) -> Floats:
        asked = pairs_of(occurrences(one.attacked))
        support = Counter(chain.from_iterable(known))
        rarity = {(item, member): -math.log(support[member] + 0.5) for item, member in asked}
        return cell_features(occurrences(one.attacked), [glove(asked), lift(known)(asked), rarity], spelling=False)

    # A sample that teaches may not know its own rows: the lift in it comes from the other one that teaches.
    taught = np.concatenate(
        [
            features(one, list(chain.from_iterable(other.data.transactions for other in others if other is not one)))
            for one in others
        ]
    )
    added = np.concatenate([one.added for one in others])
    known = list(chain.from_iterable(other.data.transactions for other in others))
    own = features(made, known)
    every = list(range(own.shape[1]))
    return {
        name: split(learn(taught[:, chosen], added).probability(own[:, chosen]), made.attacked)
        for name, chosen in (("no lift", NO_LIFT), ("narrow", NARROW), ("adaptive", every))
    }


def figures(made: Made, others: Sequence[Made], glove: Measure) -> dict[str, float]:
    rng = np.random.default_rng(0)
    published, attacked = made.release.published, made.attacked
    d = by_distance(published, glove(needed_pairs(published, None)), attacked)
    learned = selftrained.learn_from_release(
        published, attacked, lambda asked: [glove(asked)], resemble=lambda asked: [kept(glove)(asked)]
    ).added
    ranks = {
        "chance": [rng.random(table.d.shape) for table in attacked],
        "glove": d,
        "reversed": [-one for one in d],
        "selftrained": learned,
        **adaptive(made, others, glove),
    }
    return {name: eliminated_well(rank, attacked, made.truth) for name, rank in ranks.items()}


def measured(
    inputs: Path, folder: Path, name: str, slack: float
) -> Iterator[tuple[str, list[Made], list[dict[str, float]]]]:
    whole, given = samples(inputs, folder, name)
    glove = cosines(vectors(folder))
    for title, way in WAYS.items():
        made = []
        for data, privacy in given:
            items = sorted(data.items)
            a, b = np.triu_indices(len(items), 1)
            scored = ScoredPairs.of(glove(Pairs.of_keys(items, a * len(items) + b)))
            near = ScoredPairs(scored.pairs, 1 - scored.numbers)
            made.append(publish(data, privacy, whole, near, way, slack))
        f = [figures(one, [other for other in made if other is not one], glove) for one in made]
        yield title, made, f


def report(name: str, results: Iterable[tuple[str, list[Made], list[dict[str, float]]]]) -> None:
    plain: list[Made] = []
    before: list[dict[str, float]] = []
    for title, made, f in results:
        if not plain:
            plain, before = made, f
            ties = np.mean([one.ties for one in plain])
            print(f"{name}: several partners of the least loss in {ties:.0%} of the choices")
            print(
                f"{'':28}" + "".join(f"{attacker:>12}" for attacker in ATTACKERS) + "  gain (four last)  loss  two  s"
            )
        mean = {attacker: float(np.mean([one[attacker] for one in f])) for attacker in ATTACKERS}
        gain = [(mean[attacker] - mean["chance"]) / (1 - mean["chance"]) for attacker in ATTACKERS[-4:]]
        losses = [float(one.release.ul.exact / was.release.ul.exact) for one, was in zip(made, plain, strict=True)]
        seconds = np.mean([one.seconds - was.seconds for one, was in zip(made, plain, strict=True)])
        print(
            f"  {title:26}" + "".join(f"{mean[attacker]:12.3f}" for attacker in ATTACKERS),
            f"{' '.join(f'{one:6.2f}' for one in gain)}  {min(losses):.2f}-{max(losses):.2f}",
            f"{'/'.join(str(one.together) for one in made):>8} {seconds:5.1f}",
            flush=True,
        )
        if made is not plain:
            falls = (
                f"{name} {' '.join(f'{was[name] - one[name]:.3f}' for one, was in zip(f, before, strict=True))}"
                for name in ATTACKERS[-4:]
            )
            fit = max(abs(loss - 1) for loss in losses) <= 0.05
            more = any(one.together > was.together for one, was in zip(made, plain, strict=True))
            print(f"    lower by {', '.join(falls)}; loss within 5%: {fit}; more with two members: {more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("inputs", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--slack", type=float, default=1.0)
    parser.add_argument("--only", choices=sorted(FILES))
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else FILES:
        report(name, measured(arguments.inputs, arguments.folder, name, arguments.slack))


if __name__ == "__main__":
    main()
