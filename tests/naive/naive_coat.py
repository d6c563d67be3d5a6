"""COAT straight from its definition, every combination of every constraint counted anew; slow and literal."""

from fractions import Fraction
from itertools import combinations
from math import log


class NaiveCoat:
    """φ sends an item to a frozenset, or to None; `trace` holds tuples as in the golden file.

    With `partner`, `fits[item][t]` is how well the item fits record t.
    """

    def __init__(self, records, privacy, utility, k, domain, partner=None, fits=None, slack=1):
        self.partner, self.fits, self.slack = partner, fits, slack
        self.records = [set(record) for record in records]
        self.privacy, self.utility, self.k, self.domain = privacy, utility, k, sorted(domain)
        self.phi = {item: frozenset([item]) for item in self.domain}
        self.trace = []
        while violated := [p for p in privacy if self.rare(p, self.phi)]:
            self.satisfy(max(violated, key=lambda p: self.support_of_constraint(p)))

    def support(self, images):
        return sum(all(record & image for image in images) for record in self.records)

    def support_of_constraint(self, p):
        images = {self.phi[item] for item in p}
        return 0 if None in images else self.support(images)

    def rare(self, p, phi):
        """The sets of images of p, each once, that 1..k-1 records support."""
        combined = {
            frozenset(phi[item] for item in q) for size in range(1, len(p) + 1) for q in combinations(sorted(p), size)
        }
        return {images for images in combined if None not in images and 0 < self.support(images) < self.k}

    def ul(self, image):
        if len(image) == 1:
            return Fraction(0)
        share = Fraction(2 ** len(image) - 1, 2 ** len(self.domain) - 1)
        return share * Fraction(self.support([image]), len(self.records))

    def satisfy(self, p):
        while rare := self.rare(p, self.phi):
            g = min({image for images in rare for image in images}, key=lambda one: (self.support([one]), sorted(one)))
            allowed = [set(u) for u in self.utility if g <= set(u)]
            partners = {h for h in self.phi.values() if h and h != g and allowed and h <= allowed[0]}
            if partners:
                best = self.best(p, g, partners)
                self.trace.append(("merge", tuple(p), tuple(sorted(g)), tuple(sorted(best))))
                self.phi = self.merged(g, best)
            else:
                self.trace.append(("suppress", tuple(p), tuple(sorted(g)), None))
                self.phi = {item: None if image == g else image for item, image in self.phi.items()}

    def best(self, p, g, partners):
        rare = {h: len(self.rare(p, self.merged(g, h))) for h in partners}
        partners = {h for h in partners if rare[h] == min(rare.values())}
        if self.partner is None:
            return min(partners, key=lambda h: (self.ul(g | h), sorted(h)))
        least = min(self.ul(g | h) for h in partners)
        partners = {h for h in partners if self.ul(g | h) <= self.slack * least}
        apart = {h for h in partners if not any(record & g and record & h for record in self.records)}
        return min(apart or partners, key=lambda h: (self.preference(g, h), sorted(h)))

    def preference(self, g, h):
        win = self.win(g, h)
        return round(abs(win - Fraction(1, 2)) if self.partner == "even" else win, 9)

    def win(self, g, h):
        won = cases = Fraction(0)
        for own, added in ((g, h), (h, g)):
            for t, record in enumerate(self.records):
                if record & own:
                    fit = max(self.fits[item][t] for item in record & own)
                    other = Fraction(sum(self.fits[item][t] for item in added), len(added))
                    won += 1 if fit > other else Fraction(1, 2) if fit == other else 0
                    cases += 1
        return won / cases

    def merged(self, g, h):
        return {item: g | h if image in (g, h) else image for item, image in self.phi.items()}

    def loss(self):
        return sum((self.ul(image) for image in set(self.phi.values()) - {None}), Fraction(0))


def broken(transactions, privacy, k):
    """{(constraint, itemset): support} of every combination that 1..k-1 published transactions may hold."""
    may_hold = [
        {item for element in one for item in ([element] if isinstance(element, str) else element)}
        for one in transactions
    ]
    found = {}
    for p in privacy:
        for size in range(1, len(p) + 1):
            for q in combinations(sorted(p), size):
                support = sum(set(q) <= held for held in may_hold)
                if 0 < support < k:
                    found[tuple(p), q] = support
    return found


def assert_sound(records, made, privacy, utility, k, domain):
    """What every release of COAT must have, whoever made it."""
    assert broken(made.transactions, privacy, k) == {}
    assert list(made.phi) == sorted(domain)
    for item, image in made.phi.items():
        assert image is None or (item in image and all(made.phi[other] == image for other in image))
        assert image is None or len(image) == 1 or any(set(image) <= set(u) for u in utility)
    for record, published in zip(records, made.transactions, strict=True):
        expected = {made.phi[item] for item in record} - {None}
        assert sorted((one,) if isinstance(one, str) else one for one in published) == sorted(expected)


def naive_fits(records, domain, measures):
    """{item: [fit in each record]} as floats; `measures` are functions of two items, None for no closeness."""
    total = {item: [0.0] * len(records) for item in domain}
    for near in measures:
        fit = {}
        for item in domain:
            for t, record in enumerate(records):
                known = [near(item, other) for other in record if other != item and near(item, other) is not None]
                fit[item, t] = sum(known) / len(known) if known else 0.0
        mean = sum(fit.values()) / len(fit)
        deviation = (sum((one - mean) ** 2 for one in fit.values()) / len(fit)) ** 0.5
        for (item, t), one in fit.items():
            total[item][t] += (one - mean) / deviation if deviation > 1e-12 else 0.0
    return total


def naive_lift(population):
    """The log of the lift of two items in `population`, as a function."""

    def near(a, b):
        together, one, other = (sum(items <= set(record) for record in population) for items in ({a, b}, {a}, {b}))
        return log((together + 0.05) / (one * other / max(1, len(population)) + 0.05))

    return near
