"""Who is singled out, linked, inferred and certain, from the definitions on plain sets; slow and literal."""

from collections import Counter
from itertools import combinations, product


def singled_out(may, known, classes):
    """People of whom up to 1, 2, 3 known items leave one record, of their own class: 1 / size of the class each."""
    sizes = Counter(classes)
    counts = []
    for most in (1, 2, 3):
        total = 0.0
        for person, items in enumerate(known):
            found = False
            for size in range(1, most + 1):
                for itemset in combinations(sorted(items), size):
                    fits = [row for row, held in enumerate(may) if set(itemset) <= held]
                    found |= len(fits) == 1 and classes[fits[0]] == classes[person]
            total += found / sizes[classes[person]]
        counts.append(total)
    return counts


def candidates(may, itemsets):
    """Records that may hold each itemset."""
    return [sum(set(itemset) <= held for held in may) for itemset in itemsets]


def implied(may, shows, known, shown):
    """People of whom two known items imply a third that their own record shows."""
    count = 0
    for items, own in zip(known, shown, strict=True):
        told = False
        for pair in combinations(sorted(items), 2):
            fits = [row for row, held in enumerate(may) if set(pair) <= held]
            told |= bool(fits) and any(all(third in shows[row] for row in fits) for third in own - set(pair))
        count += told
    return count


def follows(cluster, shared, pair):
    """What follows from two items in a cluster, None where no way to lay its pieces holds both."""
    parts = {}
    for number, chunk in enumerate(cluster.record_chunks):
        for item in pair:
            if item in chunk.items:
                parts.setdefault(number, set()).add(item)
    alone = [item for item in pair if item in cluster.term_chunk or item in shared]
    if len(alone) + sum(map(len, parts.values())) < 2:
        return None
    following = set()
    for number, part in parts.items():
        holding = [set(row) for row in cluster.record_chunks[number].subrecords if part <= set(row)]
        if not holding:
            return None
        following |= set.intersection(*holding)
    return following - set(pair)


def implied_in_chunks(release, people):
    """The same of a disassociated release: people by cluster and known items."""
    shared = [set() for _ in release.clusters]
    for joint in release.joints:
        for number in joint.clusters:
            shared[number] |= {item for chunk in joint.shared_chunks for item in chunk.items}
    count = 0
    for _, items in people:
        told = False
        for pair in combinations(sorted(set(items)), 2):
            sets = [follows(cluster, shared[n], pair) for n, cluster in enumerate(release.clusters)]
            there = [one for one in sets if one is not None]
            told |= bool(there) and bool(set.intersection(*there))
        count += told
    return count


def joined(chances):
    """How many people are expected to have anything put back: every way it may turn out, by its probability."""
    total = 0.0
    for own in chances:
        for ways in product((0, 1), repeat=len(own)):
            weight = 1.0
            for way, chance in zip(ways, own, strict=True):
                weight *= chance if way else 1 - chance
            total += weight * any(ways)
    return total


def guessed(chances):
    """Of how many people an item is guessed rightly, given how surely each of theirs is."""
    return sum(sum(own) / len(own) if own else 0.0 for own in chances)


def of_row(elements, true, struck=frozenset()):
    """How surely each item of a record is guessed: shown, by a generalised item without what was struck, or not."""
    chances = []
    for item in sorted(true):
        if item in elements:
            chances.append(1.0)
            continue
        for element in elements:
            if not isinstance(element, str) and item in element:
                left = set(element) - struck
                chances.append(len(left & true) / len(left) if left else 0.0)
                break
        else:
            chances.append(0.0)
    return chances


def put_back(release, records, truth, assignments):
    """(row, items, by the release, by the attack, by chance) of every unit of the own chunks that a row truly has."""
    found, first = [], 0
    for number, cluster in enumerate(release.clusters):
        anchors = [frozenset(anchor) for anchor in cluster.anchors]
        given = {(chunk, frozenset(unit)): rows for n, chunk, unit, rows in assignments if n == number}
        for row in range(cluster.size):
            record = frozenset(records[truth[number][row]])
            units = [(j, record & set(chunk.items)) for j, chunk in enumerate(cluster.record_chunks) if j]
            units += [("T", frozenset({term})) for term in cluster.term_chunk if term in record]
            for chunk, unit in units:
                if not unit:
                    continue
                if chunk == "T":
                    times = min((release.k or 2) - 1, cluster.size)
                else:
                    times = sum(frozenset(one) == unit for one in cluster.record_chunks[chunk].subrecords)
                alike = [other for other in range(cluster.size) if anchors[other] == anchors[row]]
                rows = given.get((chunk, unit))
                attacked = None if rows is None else len(set(rows) & set(alike)) / len(alike)
                by_chance = None if rows is None else len(rows) / cluster.size
                found.append((first + row, len(unit), times / cluster.size, attacked, by_chance))
        first += cluster.size
    return found


def possible(release):
    """What every row may hold as published."""
    rows = []
    for number, cluster in enumerate(release.clusters):
        further = {*cluster.term_chunk, *(item for chunk in cluster.record_chunks[1:] for item in chunk.items)}
        for joint in release.joints:
            if number in joint.clusters:
                further |= {item for chunk in joint.shared_chunks for item in chunk.items}
        rows += [set(anchor) | further for anchor in cluster.anchors]
    return rows
