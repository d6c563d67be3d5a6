"""Wu and Palmer's similarity by following every way up from every meaning, one pair at a time."""

from collections.abc import Mapping, Sequence

Hypernyms = Mapping[int, Sequence[int]]


def ways_up(synset: int, hypernyms: Hypernyms) -> list[list[int]]:
    """Every way from a synset up to a root, the synset first."""
    if not hypernyms[synset]:
        return [[synset]]
    return [[synset, *way] for higher in hypernyms[synset] for way in ways_up(higher, hypernyms)]


def naive_similarity(a: int, b: int, hypernyms: Hypernyms) -> float:
    """Twice the depth of a synset above both, by that and the steps down to both; of the best such synset."""
    best = 0.0
    for one in ways_up(a, hypernyms):
        for other in ways_up(b, hypernyms):
            for c in set(one) & set(other):
                depth = max(map(len, ways_up(c, hypernyms)))
                best = max(best, 2 * depth / (2 * depth + one.index(c) + other.index(c)))
    return best
