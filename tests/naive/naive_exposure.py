"""The exposure figures of records, from their definitions on plain sets; slow and literal."""

from collections import Counter
from fractions import Fraction
from itertools import combinations


def expected_singled_out(may, known, classes):
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
    return [[record for record, held in enumerate(may) if set(itemset) <= held] for itemset in itemsets]


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


def implied_in_chunks(release, people, outside=False):
    """The same of a disassociated release: people by cluster and known items. The third of others is one of theirs."""
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
            told |= bool(there) and bool(set.intersection(*there, *([set(items)] if outside else [])))
        count += told
    return count


def expected_known(chances):
    """People with an item known or guessed rightly, given the probability of each of their items."""
    return sum(sum(own) / len(own) if own else 0.0 for own in chances)


def shown(elements):
    """What a record shows: plain items, and the one member of a label that has no other."""
    return {item for element in elements if isinstance(element, str) or len(element) == 1
            for item in ([element] if isinstance(element, str) else element)}  # fmt: skip


def possible(elements):
    """The items that a record may hold, members of generalised items among them."""
    return frozenset(item for element in elements for item in ([element] if isinstance(element, str) else element))


def of_row(elements, true, eliminated=frozenset()):
    """How surely each item of a record is guessed: shown, by a generalised item without what was eliminated, or not."""
    chances = []
    for item in sorted(true):
        if item in elements:
            chances.append(1.0)
            continue
        for element in elements:
            if not isinstance(element, str) and item in element:
                left = set(element) - eliminated
                chances.append(len(left & true) / len(left) if left else 0.0)
                break
        else:
            chances.append(0.0)
    return chances


def parts_of(release, number):
    """The part of every item that a cluster publishes apart from its anchors, and the share of rows that has it."""
    cluster = release.clusters[number]
    parts, shares = {}, {}
    for at, joint in enumerate(release.joints):
        for j, chunk in enumerate(joint.shared_chunks if number in joint.clusters else ()):
            size = sum(release.clusters[one].size for one in joint.clusters)
            for item in chunk.items:
                parts[item] = f"S{at}.{j}"
                shares[item] = Fraction(sum(item in row for row in chunk.subrecords), size)
    for item in cluster.term_chunk:
        parts[item], shares[item] = "T", Fraction(1)
    for j, chunk in enumerate(cluster.record_chunks):
        for item in chunk.items:
            parts[item] = j
            shares[item] = Fraction(sum(item in row for row in chunk.subrecords), cluster.size)
    return {item: part for item, part in parts.items() if part != 0}, shares


def guesses_in_chunks(release, records, truth, gifts=()):
    """The probabilities, a list for each row, that the guess at each of its items is right; items shown are known.

    `gifts` are (cluster, unit, row, weight). Of each part one item is guessed: the heaviest that the attack gave to
    rows of the anchor, or else the one that the largest share of the cluster's rows has.
    """
    chances = []
    for number, cluster in enumerate(release.clusters):
        parts, shares = parts_of(release, number)
        anchors = [frozenset(anchor) for anchor in cluster.anchors]
        for row, anchor in enumerate(anchors):
            record = set(records[truth[number][row]])
            own = [1.0] * len(anchor & record)
            for part in set(parts.values()):
                weights = Counter()
                for of, unit, receiver, weight in gifts:
                    for item in unit:
                        if of == number and anchors[receiver] == anchor and parts.get(item) == part:
                            weights[item] += weight
                weights = weights or {item: shares[item] for item in parts if parts[item] == part}
                guesses = [item for item, weight in weights.items() if weight == max(weights.values())]
                hidden = {item for item in record if parts.get(item) == part}
                own += [len(hidden.intersection(guesses)) / len(guesses)] * len(hidden)
            chances.append(own + [0.0] * (len(record) - len(own)))
    return chances


def possible_items(release):
    """What every row may hold as published."""
    rows = []
    for number, cluster in enumerate(release.clusters):
        further = {*cluster.term_chunk, *(item for chunk in cluster.record_chunks[1:] for item in chunk.items)}
        for joint in release.joints:
            if number in joint.clusters:
                further |= {item for chunk in joint.shared_chunks for item in chunk.items}
        rows += [set(anchor) | further for anchor in cluster.anchors]
    return rows


def implied_by_table(supports, people):
    """People with three items or more of whom one or two imply another that they have; `supports` by frozenset."""
    count = 0
    for items in people:
        known = [frozenset(one) for size in (1, 2) for one in combinations(sorted(items), size)]
        told = any(
            one in supports and supports.get(one | {third}) == supports[one] for one in known for third in items - one
        )
        count += told and len(items) >= 3
    return count
