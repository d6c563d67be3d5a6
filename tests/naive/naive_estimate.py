"""How many people have some items, as far as a release shows: the definitions on plain sets; slow and literal."""

from math import prod

TERM = "T"


def worth(row, item, gone=frozenset()):
    """p(record, item) of a row of elements; members in `gone` are eliminated."""
    return max([1.0 if element == item else share(element, item, gone) for element in row], default=0.0)


def share(label, item, gone):
    left = [] if isinstance(label, str) else [member for member in label if member not in gone]
    return 1 / len(left) if item in left else 0.0


def rows_weights(rows, known, gone=None):
    """w of every row; `gone` are the members eliminated in each row."""
    gone = gone or [frozenset()] * len(rows)
    return [prod(worth(row, item, out) for item in known) for row, out in zip(rows, gone, strict=True)]


def where_published(release, number):
    """Where a cluster publishes each item: a record chunk, the term chunk or the innermost shared chunk."""
    cluster = release.clusters[number]
    places = {}
    for joint in sorted(release.joints, key=lambda joint: -len(joint.clusters)):
        for chunk in reversed(joint.shared_chunks) if number in joint.clusters else ():
            size = sum(release.clusters[other].size for other in joint.clusters)
            places |= dict.fromkeys(chunk.items, (chunk, size))
    places |= dict.fromkeys(cluster.term_chunk, TERM)
    for chunk in cluster.record_chunks:
        places |= dict.fromkeys(chunk.items, (chunk, cluster.size))
    return places


def tau_of(release, item):
    """How many records of a cluster have the item as a term."""
    if item not in dict(release.totals):
        return (release.k or 2) / 2
    chunks = [chunk for cluster in release.clusters for chunk in cluster.record_chunks]
    chunks += [chunk for joint in release.joints for chunk in joint.shared_chunks]
    shown = sum(item in subrecord for chunk in chunks for subrecord in chunk.subrecords)
    terms = sum(where_published(release, number).get(item) == TERM for number in range(len(release.clusters)))
    return max(0, dict(release.totals)[item] - shown) / max(1, terms)


def cluster_weights(release, known):
    """w of every row of every cluster, and the estimate that the product gives for each cluster."""
    weights, estimates = [], []
    for number, cluster in enumerate(release.clusters):
        places = where_published(release, number)
        if not set(known) <= places.keys():
            weights.append([0.0] * cluster.size)
            estimates.append(0.0)
            continue
        touched = {}
        for item in known:
            if places[item] != TERM:
                touched.setdefault(id(places[item][0]), (*places[item], []))[2].append(item)
        terms = prod(min(1.0, tau_of(release, item) / cluster.size) for item in known if places[item] == TERM)
        shares = {
            key: len([sub for sub in chunk.subrecords if set(part) <= set(sub)]) / size
            for key, (chunk, size, part) in touched.items()
        }
        estimates.append(cluster.size * terms * prod(shares.values()))
        first = id(cluster.record_chunks[0]) if cluster.record_chunks else None
        others = terms * prod(share for key, share in shares.items() if key != first)
        part = touched[first][2] if first in touched else []
        weights.append([others if set(part) <= set(anchor) else 0.0 for anchor in cluster.anchors])
    return weights, estimates


def guess(estimate, known, items):
    """The items with the largest estimate beside the known ones, and the probability of the guess."""
    supports = {item: estimate([*known, item]) for item in items if item not in known}
    best, of = max(supports.values(), default=0.0), estimate(known)
    if not of or best <= 1e-9 * of:
        return set(), 0.0
    return {item for item, support in supports.items() if support >= best * (1 - 1e-9)}, best / of
