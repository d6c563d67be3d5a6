"""Certain claims as they are told in words: by every data set with some supports."""

from itertools import combinations


def subsets(items):
    return [frozenset(part) for size in range(len(items) + 1) for part in combinations(sorted(items), size)]


def data_sets(supports, items):
    """Yield every data set with these supports, as the number of records of each kind."""
    kinds = subsets(items)
    asked = [(itemset, count) for itemset, count in supports.items() if itemset <= frozenset(items)]

    def fill(place, chosen, left):
        if place == len(kinds):
            if all(not rest for rest in left):
                yield dict(zip(kinds, chosen, strict=True))
            return
        inside = [number for number, (itemset, _) in enumerate(asked) if itemset <= kinds[place]]
        for count in range(min(left[number] for number in inside) + 1):
            rest = [amount - count * (number in inside) for number, amount in enumerate(left)]
            yield from fill(place + 1, [*chosen, count], rest)

    yield from fill(0, [], [count for _, count in asked])


def claims(supports, items, k):
    """Return the claims about 1 to k - 1 records that hold in every data set: items held, items absent, bounds."""
    patterns = [(there, whole - there) for whole in subsets(items) if whole for there in subsets(whole)]
    bounds = {}
    for data in data_sets(supports, items):
        for has, lacks in patterns:
            count = sum(n for kind, n in data.items() if has <= kind and not kind & lacks)
            low, high = bounds.get((has, lacks), (count, count))
            bounds[has, lacks] = min(low, count), max(high, count)
    found = {key: ends for key, ends in bounds.items() if ends[0] >= 1 and ends[1] < k}
    return {
        key: ends
        for key, ends in found.items()
        if not any(other != key and other[0] <= key[0] and other[1] <= key[1] for other in found)
    }
