"""Cases of the decision table, at every bound: figures, and the decision they must lead to.

Each case builds its figures from a module, so that the cases judge a changed copy of the decision table as well.
"""

from dataclasses import replace

GREEN = "lower risk"


def green(v, **changes):
    """Figures that meet every criterion, with some replaced."""
    nobody = v.People(0, 500)
    within = v.Advantage(0.01, -0.01, 0.02)
    figures = v.Figures(
        people=1000,
        identifiers=v.People(0),
        row_order=v.People(0),
        singled_out={2: nobody, 3: nobody},
        exposed={2: nobody, 3: nobody},
        after_attack={2: nobody, 3: nobody},
        implied=nobody,
        certain_links=v.People(0),
        covered=v.People(0),
        inference=dict.fromkeys(v.MOST_INFERENCE, within),
        recoveries=(attack(v),),
        guarantees=(v.Guarantee("k = 5, m = 2", True),),
        comparisons=4,
    )
    return replace(figures, **changes)


def attack(v, name="rba", **changes):
    """An attack with full coverage that recovers nothing."""
    recovery = v.Recovery(name, 100, 50, 50, (0.5,), v.Advantage(0.0, -0.01, 0.01), 1.0)
    return replace(recovery, **changes)


def inferring(v, ending, *bounds):
    return green(v, inference=green(v).inference | {ending: v.Advantage(*bounds)})


def with_attack(v, **changes):
    return green(v, recoveries=(attack(v, **changes),))


def two(v, first, second):
    return green(v, recoveries=(attack(v, "tba", **first), attack(v, "rba", **second)))


OUTCOMES = {
    "everything within its limit": (lambda v: green(v), GREEN),
    # identifiers and row order: nobody
    "one person by id": (lambda v: green(v, identifiers=v.People(1)), "ids re-identify people"),
    "a tenth of a person by id, on average": (lambda v: green(v, identifiers=v.People(0.1)), "ids re-identify people"),
    "ids that do not apply": (lambda v: green(v, identifiers=v.People(applies=False)), GREEN),
    "ids that nobody measured": (lambda v: green(v, identifiers=v.People()), "not measured"),
    "one person by row order": (lambda v: green(v, row_order=v.People(1)), "row order re-identifies people"),
    "row order that nobody measured": (lambda v: green(v, row_order=v.People()), "not measured"),
    "row order, and ids": (
        lambda v: green(v, identifiers=v.People(1), row_order=v.People(900)),
        "ids re-identify people",
    ),
    # order of members in brackets: nobody
    "one person by the order of members": (
        lambda v: green(v, member_order=v.People(1)),
        "the order of members reveals items",
    ),
    "nobody by the order of members": (lambda v: green(v, member_order=v.People(0)), GREEN),
    "order of members that nobody measured": (lambda v: green(v, member_order=v.People()), "not measured"),
    "row order before the order of members": (
        lambda v: green(v, row_order=v.People(1), member_order=v.People(900)),
        "row order re-identifies people",
    ),
    "order of members before singling out": (
        lambda v: green(v, member_order=v.People(1), singled_out={2: v.People(900), 3: v.People(900)}),
        "the order of members reveals items",
    ),
    # singled out: nobody
    "one person by two items": (
        lambda v: green(v, singled_out={2: v.People(1), 3: v.People(1)}),
        "people singled out",
    ),
    "one person by three items": (
        lambda v: green(v, singled_out={2: v.People(0), 3: v.People(1)}),
        "people singled out",
    ),
    "singling out with two items not measured": (lambda v: green(v, singled_out={3: v.People(0)}), "not measured"),
    "singling out with three items not measured": (lambda v: green(v, singled_out={2: v.People(0)}), "not measured"),
    "a sample of people in which nobody is singled out": (
        lambda v: green(v, singled_out={2: v.People(0, high=3.6), 3: v.People(0)}),
        "not measured",
    ),
    "row order before singling out": (
        lambda v: green(v, row_order=v.People(1), singled_out={2: v.People(900), 3: v.People(900)}),
        "row order re-identifies people",
    ),
    # exposed: one in a thousand by two items, ten by three
    "exposed by two: at the limit": (lambda v: green(v, exposed={2: v.People(1), 3: v.People(1)}), GREEN),
    "exposed by two: above": (lambda v: green(v, exposed={2: v.People(1.01), 3: v.People(2)}), "people exposed"),
    "exposed by three: at the limit": (lambda v: green(v, exposed={2: v.People(0), 3: v.People(10)}), GREEN),
    "exposed by three: above": (lambda v: green(v, exposed={2: v.People(0), 3: v.People(10.01)}), "people exposed"),
    "exposed by three: interval at the limit": (
        lambda v: green(v, exposed={2: v.People(0), 3: v.People(5, high=10)}),
        GREEN,
    ),
    "exposed by three: interval above": (
        lambda v: green(v, exposed={2: v.People(0), 3: v.People(5, high=10.01)}),
        "not measured",
    ),
    "exposed by three in a sample: at the limit": (
        lambda v: green(v, exposed={2: v.People(0), 3: v.People(2, of=200)}),
        GREEN,
    ),
    "exposed by three in a sample: above": (
        lambda v: green(v, exposed={2: v.People(0), 3: v.People(2.01, of=200)}),
        "people exposed",
    ),
    "exposed by two not measured": (lambda v: green(v, exposed={3: v.People(0)}), "not measured"),
    "exposed by three not measured": (lambda v: green(v, exposed={2: v.People(0)}), "not measured"),
    "singled out before exposed": (
        lambda v: green(v, singled_out={2: v.People(1), 3: v.People(1)}, exposed={2: v.People(900), 3: v.People(900)}),
        "people singled out",
    ),
    # implied, certain links, cover: nobody
    "an item implied for one person": (lambda v: green(v, implied=v.People(1)), "items implied"),
    "implied items not measured": (lambda v: green(v, implied=v.People()), "not measured"),
    "exposed before implied": (
        lambda v: green(v, exposed={2: v.People(2), 3: v.People(2)}, implied=v.People(900)),
        "people exposed",
    ),
    "one certain link": (lambda v: green(v, certain_links=v.People(1)), "links with certainty"),
    "certain links not measured": (lambda v: green(v, certain_links=v.People()), "not measured"),
    "certain links that do not apply": (lambda v: green(v, certain_links=v.People(applies=False)), GREEN),
    "one record with a cover problem": (lambda v: green(v, covered=v.People(1)), "links with certainty"),
    "cover problems not measured": (lambda v: green(v, covered=v.People()), "not measured"),
    "implied before links": (lambda v: green(v, implied=v.People(1), certain_links=v.People(900)), "items implied"),
    # singled out after an attack: nobody
    "one person by two items after an attack": (
        lambda v: green(v, after_attack={2: v.People(1), 3: v.People(1)}),
        "people singled out after an attack",
    ),
    "one person by three items after an attack": (
        lambda v: green(v, after_attack={2: v.People(0), 3: v.People(1)}),
        "people singled out after an attack",
    ),
    "after an attack, two items not measured": (lambda v: green(v, after_attack={3: v.People(0)}), "not measured"),
    "after an attack, three items not measured": (lambda v: green(v, after_attack={2: v.People(0)}), "not measured"),
    "certain links before singling out after an attack": (
        lambda v: green(v, certain_links=v.People(1), after_attack={2: v.People(9), 3: v.People(9)}),
        "links with certainty",
    ),
    "singling out after an attack before inference": (
        lambda v: replace(inferring(v, "", 0.5, 0.4, 0.6), after_attack={2: v.People(9), 3: v.People(9)}),
        "people singled out after an attack",
    ),
    # inference advantage
    "inference: upper bound at the limit": (lambda v: inferring(v, "", 0.02, 0.0, 0.05), GREEN),
    "inference: upper bound above": (lambda v: inferring(v, "", 0.02, 0.0, 0.05001), "recovery inconclusive"),
    "inference: lower bound at the limit": (lambda v: inferring(v, "", 0.06, 0.05, 0.07), "recovery inconclusive"),
    "inference: lower bound above": (lambda v: inferring(v, "", 0.06, 0.05001, 0.07), "items inferred"),
    "surest 5%: upper bound at the limit": (lambda v: inferring(v, "_at_5", 0.02, 0.0, 0.10), GREEN),
    "surest 5%: upper bound above": (lambda v: inferring(v, "_at_5", 0.02, 0.0, 0.1001), "recovery inconclusive"),
    "surest 1%: upper bound at the limit": (lambda v: inferring(v, "_at_1", 0.02, 0.0, 0.25), GREEN),
    "surest 1%: upper bound above": (lambda v: inferring(v, "_at_1", 0.02, 0.0, 0.2501), "recovery inconclusive"),
    "surest 1%: lower bound above": (lambda v: inferring(v, "_at_1", 0.5, 0.2501, 0.7), "items inferred"),
    "inference without bounds": (lambda v: inferring(v, "", 0.0, None, None), "recovery inconclusive"),
    "inference not measured": (lambda v: green(v, inference={}), "not measured"),
    "inference undefined": (lambda v: inferring(v, "_at_5"), "not measured"),
    "links before inference": (
        lambda v: replace(inferring(v, "", 0.5, 0.4, 0.6), certain_links=v.People(1)),
        "links with certainty",
    ),
    "inference before recovery": (
        lambda v: replace(
            inferring(v, "", 0.5, 0.4, 0.6), recoveries=(attack(v, advantage=v.Advantage(0.2, 0.1, 0.3)),)
        ),
        "items inferred",
    ),
    # recovery on this release: four comparisons, so .0125
    "this release: at the level": (
        lambda v: with_attack(v, p=(0.0125,), advantage=v.Advantage(0.2, -0.1, 0.4)),
        "items recovered",
    ),
    "this release: above the level": (
        lambda v: with_attack(v, p=(0.01251,), advantage=v.Advantage(0.2, -0.1, 0.4)),
        "recovery inconclusive",
    ),
    "this release: one comparison": (
        lambda v: replace(with_attack(v, p=(0.05,), advantage=v.Advantage(0.2, -0.1, 0.4)), comparisons=1),
        "items recovered",
    ),
    "these releases: two of four": (
        lambda v: with_attack(v, p=(0.01, 0.01, 0.5, 0.5), advantage=v.Advantage(0.2, -0.1, 0.4)),
        "recovery inconclusive",
    ),
    "these releases: three of four": (
        lambda v: with_attack(v, p=(0.01, 0.01, 0.01, 0.5), advantage=v.Advantage(0.2, -0.1, 0.4)),
        "items recovered",
    ),
    "these releases: 51 of 101": (
        lambda v: with_attack(v, p=(0.01,) * 51 + (0.5,) * 50, advantage=v.Advantage(0.2, -0.1, 0.4)),
        "items recovered",
    ),
    "these releases: one of one known": (
        lambda v: with_attack(v, p=(0.01, None), advantage=v.Advantage(0.2, -0.1, 0.4)),
        "items recovered",
    ),
    "this release: unknown": (
        lambda v: with_attack(v, p=(None,), advantage=v.Advantage(0.2, -0.1, 0.4)),
        "recovery inconclusive",
    ),
    # recovery on other data
    "other data: lower bound at 0": (
        lambda v: with_attack(v, advantage=v.Advantage(0.2, 0.0, 0.4)),
        "recovery inconclusive",
    ),
    "other data: lower bound above 0": (
        lambda v: with_attack(v, advantage=v.Advantage(0.2, 0.001, 0.4)),
        "items recovered",
    ),
    "other data: upper bound at the limit": (lambda v: with_attack(v, advantage=v.Advantage(0.0, -0.1, 0.02)), GREEN),
    "other data: upper bound above": (
        lambda v: with_attack(v, advantage=v.Advantage(0.0, -0.1, 0.02001)),
        "recovery inconclusive",
    ),
    "other data: above 0 and within the limit": (
        lambda v: with_attack(v, p=(1e-9,), advantage=v.Advantage(0.015, 0.01, 0.02)),
        GREEN,
    ),
    "other data: no interval": (
        lambda v: with_attack(v, advantage=v.Advantage(0.0, None, None)),
        "recovery inconclusive",
    ),
    "other data: a negative control does as well": (
        lambda v: with_attack(v, advantage=v.Advantage(0.2, 0.1, 0.3), controls=("labels",)),
        "recovery inconclusive",
    ),
    "one attack of two recovers": (
        lambda v: two(v, {}, {"advantage": v.Advantage(0.2, 0.1, 0.3)}),
        "items recovered",
    ),
    "one attack of two is inconclusive": (
        lambda v: two(v, {}, {"advantage": v.Advantage(0.0, -0.1, 0.1)}),
        "recovery inconclusive",
    ),
    # coverage
    "coverage at the least": (lambda v: with_attack(v, coverage=0.2), GREEN),
    "coverage below the least": (lambda v: with_attack(v, coverage=0.1999), "not tested"),
    "coverage at a least of its own": (lambda v: with_attack(v, coverage=0.5, least=0.5), GREEN),
    "coverage below a least of its own": (lambda v: with_attack(v, coverage=0.4999, least=0.5), "not tested"),
    "coverage of no pair": (lambda v: with_attack(v, coverage=0.0), "not tested"),
    "coverage not known": (lambda v: with_attack(v, coverage=None), "not tested"),
    "an attack that claims nothing": (lambda v: with_attack(v, tried=0), "not tested"),
    "no attack": (lambda v: green(v, recoveries=()), "not tested"),
    "one attack of two was not tested": (lambda v: two(v, {"coverage": 0.1}, {}), "not tested"),
    "not tested before inconclusive": (
        lambda v: two(v, {"coverage": 0.1}, {"advantage": v.Advantage(0.0, -0.1, 0.1)}),
        "not tested",
    ),
    "little coverage, and recovers all the same": (
        lambda v: with_attack(v, coverage=0.1, advantage=v.Advantage(0.2, 0.1, 0.3)),
        "items recovered",
    ),
    # guarantees
    "guarantee violated": (lambda v: green(v, guarantees=(v.Guarantee("k", False),)), "guarantee violated"),
    "one of two guarantees violated": (
        lambda v: green(v, guarantees=(v.Guarantee("k", True), v.Guarantee("l", False))),
        "guarantee violated",
    ),
    "guarantee not checked": (lambda v: green(v, guarantees=(v.Guarantee("k", None),)), "not measured"),
    "no guarantee": (lambda v: green(v, guarantees=()), GREEN),
    "recovery before the guarantee": (
        lambda v: replace(with_attack(v, advantage=v.Advantage(0.2, 0.1, 0.3)), guarantees=(v.Guarantee("k", False),)),
        "items recovered",
    ),
    "guarantee before what was not measured": (
        lambda v: green(v, guarantees=(v.Guarantee("k", False),), implied=v.People()),
        "guarantee violated",
    ),
    # nothing known is never green, and never hides what is known
    "originals not given": (
        lambda v: v.Figures(1000, recoveries=(v.Recovery("rba", 100, 0, 0),)),
        "not measured",
    ),
    "no figure at all": (lambda v: v.Figures(1000), "not measured"),
    "one figure known, and exceeded": (lambda v: v.Figures(1000, implied=v.People(3)), "items implied"),
}
"""By name: figures, and the outcome."""

DETAILS = {
    "the criterion is the first that is exceeded": (
        lambda v: green(v, singled_out={2: v.People(0), 3: v.People(7)}),
        lambda d: (d.criterion.known, len(d.exceeded)),
        (3, 1),
    ),
    "two items before three": (
        lambda v: green(v, singled_out={2: v.People(5), 3: v.People(7)}),
        lambda d: (d.criterion.known, len(d.exceeded)),
        (2, 2),
    ),
    "no criterion where the outcome is no number of people": (
        lambda v: with_attack(v, advantage=v.Advantage(0.2, 0.1, 0.3)),
        lambda d: d.criterion,
        None,
    ),
    "what is unknown is listed": (
        lambda v: green(v, implied=v.People(), exposed={}),
        lambda d: [(c.outcome, c.known) for c in d.unknown],
        [("people exposed", 2), ("people exposed", 3), ("items implied", 2)],
    ),
    "the strongest attack is that with the most right beyond the baseline": (
        lambda v: two(v, {"tried": 3, "right": 3, "expected": 2}, {"tried": 300, "right": 260, "expected": 200}),
        lambda d: d.strongest.attack,
        "rba",
    ),
    "an attack that recovers before one that does not": (
        lambda v: two(
            v,
            {"right": 60, "advantage": v.Advantage(0.1, 0.05, 0.2)},
            {"right": 90, "advantage": v.Advantage(0.4, -0.1, 0.8)},
        ),
        lambda d: d.strongest.attack,
        "tba",
    ),
    "a tested attack before one that was not": (
        lambda v: two(v, {"right": 51}, {"right": 90, "coverage": 0.1}),
        lambda d: d.strongest.attack,
        "tba",
    ),
    "attacks that were not tested": (
        lambda v: two(v, {"coverage": 0.1}, {"tried": 0}),
        lambda d: d.untested,
        ("tba", "rba"),
    ),
    "one whose coverage is not known is not called untested": (
        lambda v: with_attack(v, coverage=None),
        lambda d: d.untested,
        (),
    ),
    "one that recovers with little coverage is not called untested": (
        lambda v: with_attack(v, coverage=0.1, advantage=v.Advantage(0.2, 0.1, 0.3)),
        lambda d: d.untested,
        (),
    ),
    "no strongest of none": (lambda v: green(v, recoveries=()), lambda d: d.strongest, None),
}
"""By name: figures, a part of the decision, and what it must be."""

DEFAULTS = {
    "nothing is known of people by default": (
        lambda v: [getattr(v.People(), name) for name in ("count", "original", "high", "applies", "of")],
        [None, None, None, True, None],
    ),
    "nothing is known of an advantage by default": (
        lambda v: [getattr(v.Advantage(), name) for name in ("mean", "low", "high")],
        [None, None, None],
    ),
    "an attack that needs no knowledge is covered": (lambda v: v.Recovery("random", 1, 1, 1).coverage, 1.0),
    "one attack is one comparison": (lambda v: v.Figures(1).comparisons, 1),
    "right above the baseline": (lambda v: attack(v, right=60).beyond, 10),
    "coverage that is not known says neither": (lambda v: v.tested(attack(v, coverage=None)), None),
    "without a probability nothing is said of this release": (lambda v: v.beats_random(attack(v, p=(None,)), 1), None),
    "known items": (lambda v: [c.known for c in v.CRITERIA], [0, 0, 0, 2, 3, 2, 3, 2, 0, 0, 2, 3]),
    "limits": (lambda v: [c.limit for c in v.CRITERIA], [0, 0, 0, 0, 0, 0.001, 0.01, 0, 0, 0, 0, 0]),
}
"""By name: something of the module, and what it must be."""


def failures(v):
    """Return the names of the cases that a decision table gets wrong."""
    for name, (figures, outcome) in OUTCOMES.items():
        if not _is(lambda figures=figures: str(v.decide(figures(v)).outcome), outcome):
            yield name
    for name, (figures, part, expected) in DETAILS.items():
        if not _is(lambda figures=figures, part=part: part(v.decide(figures(v))), expected):
            yield name
    for name, (part, expected) in DEFAULTS.items():
        if not _is(lambda part=part: part(v), expected):
            yield name


def _is(work, expected):
    try:
        return work() == expected
    except Exception:  # a changed copy may fail in any way
        return False
