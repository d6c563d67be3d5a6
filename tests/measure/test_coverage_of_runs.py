"""How often the intervals that runs print hold what they are about: every figure of 400 repetitions of small clinics.

The repetitions stand for all there could be: their mean is what an interval should hold. 2,000 experiments take a few
of them at random, and make the interval as a run does, with the bounds that it knows. Data sets of a kind likewise.
"""

import random
from contextlib import closing
from functools import partial
from itertools import combinations
from statistics import fmean

import pytest

import decloak
from decloak.measure.kernels.advantage import Advantage, difference_over_repetitions
from decloak.measure.kernels.statistics import all_equal, interval
from decloak.measure.registry import family_named, metrics_by_key
from decloak.report.risk_card import people_interval
from decloak.store.opening import connect_readonly
from decloak.store.results import recovered_by

pytestmark = pytest.mark.slow
REPEATED, EXPERIMENTS = 400, 2000
LOW, HIGH = 0.93, 0.97
COARSE = 20
"""Values that a figure takes at least for its mean to be anywhere: one that is 3 or 4 has intervals that hold it more
often than need be, or none where all are equal."""
PEOPLE = 120
CLINIC = (
    f"scenario: s\ndata: {{generate: clinic, transactions: {PEOPLE}, seed: 7}}\n"
    "relate: {measure: ngd, source: clinic-counts}\n"
)
SCENARIOS = {
    "sets": (
        "anonymise: {method: sets, size: 3, share: 0.3}\nattack: [ra, mda, tba, wba, rba]\n"
        "measure: [recovery, {coverage: {least: 0.3}}]\n"
    ),
    "disassociation": (
        "anonymise: {method: disassociation, k: 3, m: 2, max_cluster: 15}\nattack: [random, aba, mra, cover]\n"
        "attacker: {model: moderate, share: 0.3}\nmeasure: [accuracy, breakage, breach]\n"
    ),
}
REPEAT = f"repeat: {{times: {REPEATED}, seed: 1}}\n"
VARY = f"vary: {{data.seed: {list(range(1, REPEATED + 1))}}}\n"
KINDS = {kind: f"{CLINIC}{text}{REPEAT}" for kind, text in SCENARIOS.items()} | {
    f"{kind}, data sets": f"{CLINIC}{text}{VARY}" for kind, text in SCENARIOS.items()
}


def printed(name: str) -> bool:
    """Whether a table or a card shows an interval of it."""
    return metrics_by_key()[name].column or on_card(name)


def on_card(name: str) -> bool:
    card = {metric.key for metric in family_named("exposure").metrics}
    return name in card and not name.endswith(("_chance", "_raw", "hidden", "people"))


def interval_of(name: str, bounds):
    """How the interval of a figure is made."""
    if on_card(name) and not metrics_by_key()[name].column:
        return partial(people_interval, of=PEOPLE)
    return partial(interval, bounds=bounds)


@pytest.fixture(scope="module", params=KINDS)
def done(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    path = folder / "s.yaml"
    path.write_text(KINDS[request.param])
    return decloak.run(path, store=folder / "s.db")


def test_every_interval_that_a_run_prints_holds_what_it_is_about(done):
    runs = done.variants
    tried, outside = 0, {}
    for name, attack in runs[0].figures:
        figures = [run.figures[name, attack] for run in runs]
        values = [figure.value for figure in figures if figure.value is not None]
        if not printed(name) or len(set(values)) < 2:
            continue
        chances = [run.figures["baseline", attack].value for run in runs if ("baseline", attack) in run.figures]
        wholes = {figure.whole for figure in figures}
        bounds = metrics_by_key()[name].bounds_of(wholes.pop() if len(wholes) == 1 else None, chances)
        highest = HIGH if len(set(values)) >= COARSE else 1.0
        for n in (3, 5, 10):
            share = coverage(values, n, interval_of(name, bounds), fmean(values))
            tried += 1
            if not LOW - 0.01 * (highest == 1.0) <= share <= highest:
                outside[f"{name}({attack}), {n}"] = share
    assert tried >= 30
    assert outside == {}


def test_every_difference_of_two_attacks_that_a_run_prints_holds_what_it_is_about(done):
    won: dict[str, list[Advantage]] = {}
    with closing(connect_readonly(done.store)) as connection:
        for run in done.variants:
            for attack, scopes in recovered_by(connection, run.run).items():
                right, expected, hidden = scopes[-1]
                won.setdefault(attack, []).append(Advantage(right - expected, hidden))
    shares, pairs = {}, list(combinations(sorted({*won} - {"ra", "random"}), 2))
    for first, second in pairs:
        both = list(zip(won[first], won[second], strict=True))
        ahead = [one.share - other.share for one, other in both]
        if all_equal(ahead):
            continue
        mean = fmean(ahead)
        for n in (3, 5, 10):
            shares[first, second, n] = coverage(
                both, n, lambda taken: difference_over_repetitions(*zip(*taken, strict=True)), mean
            )
    if not shares:
        pytest.skip("no repetition differs: nothing is printed over them")
    assert len(shares) == 3 * len(pairs)
    assert {pair: share for pair, share in shares.items() if not LOW <= share <= HIGH} == {}


def coverage(values, n: int, made_of, mean: float) -> float:
    rng = random.Random(1)
    made = (made_of([rng.choice(values) for _ in range(n)]) for _ in range(EXPERIMENTS))
    return fmean(one.low <= mean <= one.high for one in made if one.low is not None)
