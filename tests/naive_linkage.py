"""Whom somebody finds who knows some items of a person, from the definitions on plain sets; slow and literal."""

from collections import Counter


def guess_right(scores, known, held):
    """How often a guess at any of the likeliest items that are not known is right."""
    open_scores = {item: score for item, score in scores.items() if item not in known and score > 0}
    if not open_scores:
        return 0.0
    best = max(open_scores.values())
    tied = [item for item, score in open_scores.items() if score >= best * (1 - 1e-9)]
    return len([item for item in tied if item in held]) / len(tied)


def in_rows(rows, known, own, held, struck=frozenset()):
    """Candidates, the probability on the right one, whether that is lost, how often a guess is right.

    `rows` are lists of elements; `struck` pairs of a row and an item.
    """
    released = {item for row in rows for element in row for item in element}
    looked_for = set(known) & released
    weights = [{} for _ in rows]
    for number, row in enumerate(rows):
        for element in row:
            left = [item for item in element if (number, item) not in struck]
            for item in left:
                weights[number][item] = min(1.0, weights[number].get(item, 0.0) + 1 / len(left))
    fits = [number for number, weight in enumerate(weights) if looked_for <= weight.keys()]
    scores = Counter()
    for number in fits:
        scores.update(weights[number])
    there = own in fits
    return len(fits), 1 / len(fits) if there else 0.0, not there, guess_right(scores, set(known), held)


def chance_of(release, number, row, chunk, unit, times, of, given):
    """The chance that a row has a unit of a later chunk."""
    cluster = release.clusters[number]
    gifts = given.get((number, chunk, unit))
    if gifts is None:
        return times / of
    alike = [other for other in range(cluster.size) if set(cluster.anchors[other]) == set(cluster.anchors[row])]
    if all(p == 1 for p in gifts.values()):
        rest = 0.0
    else:
        spread = max(0.0, times / of * cluster.size - sum(gifts.values()))
        rest = min(1.0, spread / max(1, cluster.size - len(gifts)))
    return sum(gifts.get(other, rest) for other in alike) / len(alike)


def later_chunks(release, number):
    """The name of each later chunk of a cluster, and its units with how many of how many rows have each."""
    cluster = release.clusters[number]
    place = dict.fromkeys(cluster.items, "own")
    order = sorted(range(len(release.joints)), key=lambda at: len(release.joints[at].clusters))
    for at in order:
        if number in release.joints[at].clusters:
            for j, chunk in enumerate(release.joints[at].shared_chunks):
                for item in chunk.items:
                    place.setdefault(item, f"S{at}.{j}")
    chunks = []
    for j, chunk in list(enumerate(cluster.record_chunks))[1:]:
        chunks.append((j, Counter(tuple(sorted(unit)) for unit in chunk.subrecords), cluster.size))
    least = min((release.k or 2) - 1, cluster.size)
    chunks += [("T", {(term,): least}, cluster.size) for term in cluster.term_chunk]
    for at, joint in enumerate(release.joints):
        size = sum(release.clusters[other].size for other in joint.clusters)
        for j, chunk in enumerate(joint.shared_chunks):
            units = Counter(tuple(sorted(unit)) for unit in chunk.subrecords)
            units = {unit: times for unit, times in units.items() if all(place.get(i) == f"S{at}.{j}" for i in unit)}
            if number in joint.clusters and units:
                chunks.append((f"S{at}.{j}", units, size))
    return chunks


def in_clusters(release, known, own, held, given=None):
    """The same of a disassociated release; `own` is a cluster and a row."""
    given = given or {}
    released = {item for cluster in release.clusters for item in cluster.items}
    released |= {item for joint in release.joints for chunk in joint.shared_chunks for item in chunk.items}
    looked_for = set(known) & released
    weights, scores = {}, Counter()
    for number, cluster in enumerate(release.clusters):
        chunks = later_chunks(release, number)
        first = set(cluster.record_chunks[0].items) if cluster.record_chunks else set()
        if not looked_for <= first.union(*(unit for _, units, _ in chunks for unit in units)):
            continue
        for row in range(cluster.size):
            anchor = set(cluster.anchors[row])
            weight = 1.0 if looked_for & first <= anchor else 0.0
            expected = Counter(dict.fromkeys(anchor, 1.0))
            for chunk, units, of in chunks:
                of_chunk = {item for unit in units for item in unit}
                part = looked_for & of_chunk
                chances = {u: chance_of(release, number, row, chunk, u, times, of, given) for u, times in units.items()}
                matching = {u: chance for u, chance in chances.items() if part <= set(u)}
                fit = min(1.0, sum(matching.values())) if part else 1.0
                weight *= fit
                for u, chance in matching.items():
                    for item in u:
                        expected[item] += chance / fit if fit > 0 else 0.0
            if weight > 1e-12:
                weights[number, row] = weight
                for item, chance in expected.items():
                    scores[item] += weight * chance
    total, right = sum(weights.values()), weights.get(own, 0.0)
    return len(weights), right / total if right else 0.0, not right, guess_right(scores, set(known), held)
