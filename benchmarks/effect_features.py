"""What each source of knowledge brings to `selftrained`: F with all of them, and with each left out.

    python benchmarks/effect_features.py INPUTS.json.gz FOLDER INDEX WORDNET [--only TITLE]

INPUTS, FOLDER and INDEX are those of effect_selftrained.py; WORDNET is the folder of WordNet's files. Language is NGD
by the corpus, GloVe, wordllama and WordNet; spelling the number of words that items share, and traits by their letters.
Without `together` nothing is carried over of what stands together in the release. A row is the mean over the samples
with half of its 95% interval, and the mean difference from all, sample by sample.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from decloak.attacker import selftrained
from decloak.attacker.cell_features import cooccurrence_model
from decloak.attacker.tables import needed_pairs, tables
from decloak.data.knowledge_levels import Control
from decloak.data.published import Published
from decloak.measure.kernels.statistics import interval, paired_difference
from decloak.relate.corpus_index import Corpus
from decloak.relate.similar import similarity_to_distance
from decloak.relate.wordnet_similarity import WordNet
from effect_selftrained import Measure, by_cosine, eliminated_well, kept, ngd, remembered, samples, vectors, wordllama


def by_wordnet(folder: Path) -> Measure:
    nouns = WordNet.read(folder)
    return remembered(lambda pairs: similarity_to_distance(nouns.scores(pairs)).distances)


def figures(published: Published, truth: list[frozenset[str]], language: dict[str, Measure]) -> dict[str, float]:
    attacked = tables(published, dict.fromkeys(needed_pairs(published, None), 0.0), None)
    resembling = {name: kept(measure) for name, measure in language.items()}

    def learned(names: Sequence[str], control: Control | None = None) -> float:
        p = selftrained.learn_from_release(
            published,
            attacked,
            lambda asked: [language[name](asked) for name in names],
            resemble=lambda asked: [resembling[name](asked) for name in names],
            control=control,
        ).added
        return eliminated_well(p, attacked, truth)

    f = {"all": learned(list(language))}
    f |= {f"without {name}": learned([other for other in language if other != name]) for name in language}
    f |= {"without spelling": learned(list(language), "words"), "spelling, together": learned([])}
    with patch.object(selftrained, "cooccurrence_model", lambda rows, *further: cooccurrence_model((), *further)):
        return f | {"without together": learned(list(language)), "spelling alone": learned([])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("inputs", "folder", "index", "wordnet"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--only", metavar="TITLE", help="one of these alone, such as 'mts k=3'")
    arguments = parser.parse_args()
    with Corpus.open(arguments.index) as index:
        language = {
            "ngd": ngd(index),
            "glove": by_cosine(vectors(arguments.folder)),
            "wordllama": by_cosine(wordllama()),
            "wordnet": by_wordnet(arguments.wordnet),
        }
        for name, k in (("mts", "k=3"), ("mts", "k=5"), ("recipes", "k=3")):
            if arguments.only not in (None, f"{name} {k}"):
                continue
            given = samples(arguments.inputs, arguments.folder, name, k)
            report(f"{name} {k}", [figures(published, truth, language) for published, truth, _ in given])


def report(title: str, results: Sequence[dict[str, float]]) -> None:
    print(f"{title}, {len(results)} samples", flush=True)
    for name in results[0]:
        ours, whole = [one[name] for one in results], [one["all"] for one in results]
        mean, _, high, *_ = interval(ours)
        change = "" if name == "all" else f"  {paired_difference(ours, whole)[0] or 0:+.3f}"
        print(f"  {name:18} {mean or 0:.3f} ±{(high or 0) - (mean or 0):.3f}{change}", flush=True)


if __name__ == "__main__":
    main()
