"""The share of hidden occurrences that an attacker fixes who knows the method, its settings and its ties.

    python benchmarks/effect_minimality.py [RELEASES]

Every method publishes small random data. The attacker lists all originals that the release allows, and keeps those that
the method turns into exactly this release. Releases with more than 20,000 originals are left out, and counted.
"""

import random
import sys
from typing import Any

import decloak
from minimality import minimality

ITEMS = "abcd"
TREE = decloak.Hierarchy.from_parents({"a": "ab", "b": "ab", "c": "cd", "d": "cd", "ab": "*", "cd": "*"})
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "cut": ("cut", {"k": 2, "m": 1, "hierarchy": TREE}),
    "aa": ("aa", {"k": 2, "m": 1, "hierarchy": TREE}),
    "lra": ("lra", {"k": 2, "m": 1, "hierarchy": TREE, "parts": 2}),
    "vpa": ("vpa", {"k": 2, "m": 1, "hierarchy": TREE, "parts": 2}),
    "coat": ("coat", {"k": 2, "privacy": [["a"], ["c", "d"]], "utility": [["a", "b"], ["c", "d"]]}),
    "disassociation": ("disassociation", {"k": 2, "m": 2, "max_cluster": 4}),
    "disassociation, cover: cure": ("disassociation", {"k": 2, "m": 2, "max_cluster": 4, "cover": "cure"}),
}
MOST = 20_000


def main(releases: int) -> None:
    print("method                        releases  too large  originals  consistent  fixed present  fixed absent")
    for name, (method, options) in METHODS.items():
        tried = too_large = possible = consistent = hidden = present = absent = none = 0
        for seed in range(releases):
            chance = random.Random(seed)
            data = [sorted(chance.sample(ITEMS, chance.choice([1, 1, 2, 3]))) for _ in range(chance.choice([4, 5]))]
            try:
                release = decloak.anonymise(data, method, **options)
            except decloak.DecloakError:  # a constraint on an item that no record has
                continue
            try:
                found = minimality(release, method, most=MOST, **options)
            except decloak.DecloakError:
                too_large += 1
                continue
            tried += 1
            none += not found.consistent
            possible += found.possible
            consistent += found.consistent
            hidden += len(found.hidden)
            present += len(found.present)
            absent += len(found.absent)
        kept = 100 * consistent / max(1, possible)
        fixed, refuted = (100 * part / max(1, hidden) for part in (present, absent))
        line = f"{name:<29} {tried:>8}  {too_large:>9}  {possible:>9,}  {kept:>9.1f}%  {fixed:>12.1f}%"
        print(f"{line}  {refuted:>11.1f}%" + (f"  ({none} without any)" if none else ""), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
