"""Intervals of advantages: a case that fails for every changed token of their module."""

import inspect
import math
import random

import pytest
from scipy import stats

import naive_lead as naive
from decloak.measure.kernels import advantage
from mutants import loaded, mutants

EQUIVALENT = {
    ("1e-9", ""),  # how near to 0 or 1 a precision is taken to be there
    ("n < 2", "2 -> 1"),  # one repetition does not differ from itself
    ("_bounds_around(mean or 0.0)", "0.0 -> "),  # the bounds are those of a mean below 1
    ("max(0.0, middle - half)", "0.0 -> -0.001"),  # rounding alone would be below 0, and does not come so far
    ("zip(*claims, strict=True)", "True -> False"),  # all are triples
}
"""Changes that no figure shows: a part of the line, and a part of the change."""
LEVELS = (0.9, 0.95, 0.99)


def drawn(number):
    """Return counts of three to six tables, and a level."""
    rng = random.Random(number)
    counts = []
    for _ in range(rng.randrange(2, 7)):
        tried = rng.choice((1, 2, 5, 40, 200))
        counts.append((tried, rng.randrange(tried + 1), rng.uniform(0.05, 0.95) * tried))
    return counts, rng.choice(LEVELS)


def drawn_pairs(number):
    """Return what two attacks recover beyond the baseline in each of some tables, and a level."""
    rng = random.Random(number)
    pairs = []
    for _ in range(rng.randrange(2, 7)):
        hidden = rng.randrange(1, 200)
        pairs.append(tuple((rng.uniform(-0.9, 0.9) * hidden, hidden) for _ in range(2)))
    return pairs, rng.choice(LEVELS)


def close(found, expected):
    """Tell whether numbers agree, with None at the same places."""
    return len(found) == len(expected) and all(
        one is other if one is None or other is None else math.isclose(one, other, abs_tol=1e-9)
        for one, other in zip(found, expected, strict=True)
    )


def cases(a):
    """Yield for each case whether the module `a` is right."""
    for number in range(25):
        counts, level = drawn(number)
        made = [a.ClaimCounts(*one) for one in counts]
        yield close(a.jackknife_advantage(made, level)[:3], naive.resampled(counts, level))
        yield close(a.advantage_over_repetitions(made, level)[:3], naive.repeated(counts, level))
        pairs, level = drawn_pairs(number)
        won = [[a.Advantage(*pair[side]) for pair in pairs] for side in (0, 1)]
        yield close(a.jackknife_difference(*won, level)[:3], naive.jackknife_difference(pairs, level))
        yield close(a.difference_over_repetitions(*won, level)[:3], naive.difference_over_repetitions(pairs, level))
    yield from edges(a)
    yield from defaults(a)
    yield from needed(a)


def edges(a):
    """Yield whether few, equal and missing tables are right."""
    nothing, some = a.ClaimCounts(0, 0, 0), a.ClaimCounts(4, 3, 2)
    yield (nothing.advantage, some.advantage, a.total([])) == (None, 0.25, (0, 0, 0))
    yield a.total([some, some, nothing]) == (8, 6, 4)
    for function in (a.jackknife_advantage, a.advantage_over_repetitions):
        yield function([nothing, some]) == (0.25, None, None, 1, 1)
        yield function([nothing, nothing]) == (None, None, None, 0, 2)
        yield function([nothing, some, a.ClaimCounts(5, 3, 2)])[3:] == (2, 1)
    yield a.advantage_over_repetitions([some] * 3) == (0.25, None, None, 3, 0)
    for counts in ([(30, 30, 20), (30, 30, 21)], [(30, 0, 20), (30, 0, 21)], [(1, 1, 0.7), (2, 2, 1.5)]):
        made = [a.ClaimCounts(*one) for one in counts]
        yield close(a.jackknife_advantage(made, 0.95)[:3], naive.resampled(counts, 0.95))
        yield close(a.advantage_over_repetitions(made, 0.95)[:3], naive.repeated(counts, 0.95))
    yield (a.Advantage(3, 0).share, a.Advantage(3, 4).share) == (None, 0.75)
    no = a.Advantage(0, 0)
    yield a.jackknife_difference([no], [no]) == (None, None, None, 0, 1)
    yield a.jackknife_difference([no, a.Advantage(3, 4)], [no, a.Advantage(1, 4)]) == (0.5, None, None, 1, 1)
    both = [a.Advantage(3, 10), a.Advantage(4, 10)]
    yield a.jackknife_difference(both, both) == (0.0, None, None, 2, 0)
    far = ([a.Advantage(0, 1), a.Advantage(0.75, 1)], [a.Advantage(-0.75, 1)] * 2)
    pairs = [((0, 1), (-0.75, 1)), ((0.75, 1), (-0.75, 1))]
    yield close(a.jackknife_difference(*far, 0.95)[:3], naive.jackknife_difference(pairs, 0.95))
    yield close(a.difference_over_repetitions(*far, 0.95)[:3], naive.difference_over_repetitions(pairs, 0.95))
    one = ([a.Advantage(0.5, 1), a.Advantage(0.75, 1)], [a.Advantage(-0.5, 1), a.Advantage(-0.25, 1)])  # exactly 1
    pairs = [((0.5, 1), (-0.5, 1)), ((0.75, 1), (-0.25, 1))]
    yield a.difference_over_repetitions(*one)[:3] == (1.0, None, None)
    yield a._bounds_around(1.0) == (-2.0, 2.0) != a._bounds_around(0.999)
    yield a._bounds_around(-0.999) == (-1.0, 1.0)
    yield close(a.wilson(0.3, 0.1), naive.wilson(0.3, 0.1))
    yield raises(a.jackknife_difference, both, both[:1])
    yield all(
        0 <= bound <= 1
        for share in (0, 1)
        for k in (0.1, 0.3, 1e-9, 9.229469980970446e-06)
        for bound in a.wilson(share, k)
    )
    yield a.effective_sample_size(10, 20) == 15


def raises(function, *arguments):
    try:
        function(*arguments)
    except ValueError:
        return True
    return False


def defaults(a):
    """Yield whether the level of an interval is 95% by default."""
    made = [a.ClaimCounts(50, right, 30) for right in (40, 33, 46)]
    won = [[a.Advantage(b, 10) for b in side] for side in ((8, 7, 3), (5, 5, 4))]
    for function, arguments in (
        (a.jackknife_advantage, [made]),
        (a.advantage_over_repetitions, [made]),
        (a.jackknife_difference, won),
        (a.difference_over_repetitions, won),
    ):
        yield function(*arguments) == function(*arguments, 0.95)


def needed(a):
    """Yield whether as many repetitions are said to be needed as first decide."""
    counts = [(50, 40, 30), (50, 33, 30), (50, 46, 30)]
    made = [a.ClaimCounts(*one) for one in counts]
    yield a.repetitions_needed(made, 0.95, above=0.0) == 6
    yield a.repetitions_needed(made[:1], 0.95, above=0.0) is None
    yield a.repetitions_needed([*made[:1], a.ClaimCounts(0, 0, 0)], 0.95, above=0.0) is None
    yield a.repetitions_needed(made, 0.95) is None
    yield a.repetitions_needed(made, 0.95, below=0.02) is None
    yield a.repetitions_needed([a.ClaimCounts(50, 50 - right, 30) for _, right, _ in counts], 0.95, above=0.5) is None
    yield a.repetitions_needed(made[:2], 0.95, above=-0.9) == 3
    weak = [a.ClaimCounts(500, right, 300) for right in (301, 299, 280)]
    yield a.repetitions_needed(weak, 0.95, below=0.02) == 5
    # At the bound itself nothing is decided yet.
    low, high = _after(counts, 6, a)
    yield a.repetitions_needed(made, 0.95, above=low) == 7
    yield a.repetitions_needed(made, 0.95, above=low - 1e-9) == 6
    yield a.repetitions_needed(made, 0.95, below=high) == 7
    yield a.repetitions_needed(made, 0.95, below=high + 1e-9) == 6
    for few in ([(3, 2, 1.5), (4, 3, 2.5), (5, 2, 2.0)], counts):
        yield close(_after(few, 6, a), _expected_after(few, 6))
    yield a.MOST_REPETITIONS == 1000
    yield searched(a) == [*range(4, 1001)]


def _spread(counts):
    """Return the mean advantage of repetitions, and its standard deviation."""
    leads = [(right - expected) / tried for tried, right, expected in counts]
    mean = math.fsum(leads) / len(leads)
    return mean, math.sqrt(math.fsum((lead - mean) ** 2 for lead in leads) / (len(leads) - 1))


def _after(counts, n, a):
    """Return the bounds that the module gives `n` repetitions that are like `counts`."""
    made = [a.ClaimCounts(*one) for one in counts]
    return a._bounds_of_mean(made, *_spread(counts), n, advantage.tail_of(0.95))


def _expected_after(counts, n):
    """Return the bounds of `n` repetitions that are like `counts`, from the definition."""
    mean, s = _spread(counts)
    chance = sum(expected / tried for tried, _, expected in counts) / len(counts)
    tried, right = (sum(one[at] for one in counts) * n / len(counts) for at in (0, 1))
    share = (right + 2) / (tried + 4)
    least = stats.norm.ppf(0.975) * math.sqrt(share * (1 - share) / naive.independent(tried, 20))
    half = max(stats.t.ppf(0.975, n - 1) * s / math.sqrt(n), least)
    precision = mean + chance
    odds, width = math.log(precision / (1 - precision)), half / (precision * (1 - precision))
    return tuple((1 + math.tanh((odds + way * width) / 2)) / 2 - chance for way in (-1, 1))


def searched(a):
    """Return the numbers of repetitions that are tried where none decides."""
    made, tried = [a.ClaimCounts(50, right, 30) for right in (40, 33, 46)], []
    kept = a._bounds_of_mean
    a._bounds_of_mean = lambda made, mean, s, n, tail: tried.append(n) or (-1.0, 1.0)
    try:
        a.repetitions_needed(made, 0.95, above=0.5)
    finally:
        a._bounds_of_mean = kept
    return tried


def right(module):
    try:
        return all(cases(module))
    except Exception:  # a changed copy may fail in any way
        return False


def test_every_case_is_right():
    assert [number for number, good in enumerate(cases(advantage)) if not good] == []


@pytest.mark.slow
def test_a_case_fails_for_every_changed_token():
    source, alive = inspect.getsource(advantage), []
    lines = source.splitlines()
    for line, change, tree in mutants(source):
        try:
            module = loaded(tree)
        except Exception:  # a copy that cannot be loaded is found at once
            continue
        shown = any(part in lines[line - 1] and said in change for part, said in EQUIVALENT)
        if not shown and right(module):
            alive.append(f"line {line}: {change}")
    assert not alive, "\n".join(alive)
