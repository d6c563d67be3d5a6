"""Leads over chance and their intervals from the definitions, each table left out in turn."""

import math
import statistics

from scipy import stats


def independent(tried, few):
    return tried * (1 + tried / few)


def wilson(share, quantile_squared_over_n):
    """The shares p with (share - p)^2 <= k p (1 - p): the roots of a quadratic equation."""
    k = quantile_squared_over_n
    a, b, c = 1 + k, -(2 * share + k), share * share
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def resampled(units, level):
    eliminated = [unit for unit in units if unit[0]]
    tried, right, chance = (sum(column) for column in zip(*eliminated, strict=True))
    leads = []
    for place in range(len(eliminated)):
        rest = [sum(column) for column in zip(*(eliminated[:place] + eliminated[place + 1 :]), strict=True)]
        leads.append((rest[1] - rest[2]) / rest[0])
    lead, share = (right - chance) / tried, right / tried
    variance = sum((other - lead) ** 2 for other in leads) * (len(leads) - 1) / len(leads)
    k = stats.norm.ppf((1 + level) / 2) ** 2 / independent(tried, 50)
    if 0 < right < tried:
        k = max(k, stats.t.ppf((1 + level) / 2, len(leads) - 1) ** 2 * variance / (share * (1 - share)))
    return lead, *(bound - chance / tried for bound in wilson(share, k))


def repeated(repetitions, level):
    leads = [(right - chance) / tried for tried, right, chance in repetitions]
    levels = [chance / tried for tried, _, chance in repetitions]
    lead, by_chance, n = statistics.mean(leads), statistics.mean(levels), len(leads)
    tried, right = (sum(column) for column in list(zip(*repetitions, strict=True))[:2])
    share = (right + 2) / (tried + 4)
    least = stats.norm.ppf((1 + level) / 2) * math.sqrt(share * (1 - share) / independent(tried, 20))
    half = max(stats.t.ppf((1 + level) / 2, n - 1) * statistics.stdev(leads) / math.sqrt(n), least)
    precision = lead + by_chance
    if min(precision, 1 - precision) < 1e-9:
        return lead, *(bound - by_chance for bound in wilson(precision, half * half / (share * (1 - share))))
    width = half / (precision * (1 - precision))
    odds = math.log(precision / (1 - precision))
    return lead, *((1 + math.tanh((odds + way * width) / 2)) / 2 - by_chance for way in (-1, 1))


def between(mean, half):
    """Around a mean between -1 and 1, else -2 and 2, made on the scale of the logarithm of its odds."""
    most = 1 if abs(mean) < 1 else 2
    place = (mean + most) / most / 2
    odds, width = math.log(place / (1 - place)), half / 2 / most / (place * (1 - place))
    return tuple(most * math.tanh((odds + way * width) / 2) for way in (-1, 1))


def difference_over_repetitions(pairs, level):
    ahead = [a / h - b / g for (a, h), (b, g) in pairs]
    mean, n = statistics.mean(ahead), len(ahead)
    return mean, *between(mean, stats.t.ppf((1 + level) / 2, n - 1) * statistics.stdev(ahead) / math.sqrt(n))


def jackknife_difference(pairs, level):
    units = [(a - b, h) for (a, h), (b, _) in pairs if h]
    share = sum(d for d, _ in units) / sum(h for _, h in units)
    apart = 0.0
    for place in range(len(units)):
        rest = units[:place] + units[place + 1 :]
        apart += (sum(d for d, _ in rest) / sum(h for _, h in rest) - share) ** 2
    variance = apart * (len(units) - 1) / len(units)
    return share, *between(share, stats.t.ppf((1 + level) / 2, len(units) - 1) * math.sqrt(variance))
