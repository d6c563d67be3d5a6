"""Logistic regression: how likely a cell is of a kind by its features, learned from cells whose kind is known.

X has a row per cell and a column per feature, in units of the standard deviation it has in what is learned from;
p = 1 / (1 + exp(-(b + X w))). b and w maximise the likelihood times a normal prior of w with variance 1, which keeps
them finite where the features tell all. Newton's method; few features, so each step solves a small system.
"""

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints

__all__ = ["Calibrated", "Curve", "Logistic", "curve", "isotonic", "learn", "learn_calibrated"]

ROUNDS = 50
PARTS = 20
"""Points of the curve of calibration."""
TRACE = 1e-4
"""How much of what the classifier gives stays in a calibrated probability."""


class Logistic(NamedTuple):
    """What was learned: the mean and the deviation of each feature, and the constant before the weights."""

    mean: Floats
    deviation: Floats
    weights: Floats

    def probability(self, features: Floats) -> Floats:
        z = _design((features - self.mean) / self.deviation) @ self.weights
        return np.asarray(1 / (1 + np.exp(-np.clip(z, -500, 500))))


def learn(features: Floats, kind: Floats) -> Logistic:
    """Learn from cells of kind 0 and 1."""
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    # A feature that is the same everywhere tells nothing, and must not divide by the dust that rounding leaves.
    deviation = np.where(deviation > 1e-12 * (1 + np.abs(mean)), deviation, np.inf)
    x = _design((features - mean) / deviation)
    prior = np.append(0.0, np.ones(features.shape[1]))
    weights = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -500, 500)))
        gradient = x.T @ (kind - p) - prior * weights
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(prior + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))  # no step may overshoot
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return Logistic(mean, deviation, weights)


class Curve(NamedTuple):
    """How often cells of each given probability turned out to be of the kind: ascending both."""

    given: Floats
    true: Floats

    def of(self, p: Floats) -> Floats:
        """The probability that the curve has for each given one, in the same order."""
        # A trace of the given ones keeps those apart that lie beyond the curve, or on a level part of it.
        return np.asarray((1 - TRACE) * np.interp(p, self.given, self.true) + TRACE * p)


class Calibrated(NamedTuple):
    """A classifier, its curve, and the probability of each cell learned from, as the other half has it."""

    classifier: Logistic
    curve: Curve
    held_out: Floats

    def probability(self, features: Floats) -> Floats:
        """The probability of each cell, in the order in which the classifier has them."""
        return self.curve.of(self.classifier.probability(features))


def learn_calibrated(features: Floats, kind: Floats, half: Floats, *, levelled: bool = False) -> Calibrated:
    """Learn from all cells; calibrate by those of each half (0 or 1) judged by what the other half teaches.

    A straight line in the logs of odds fits no data exactly: cells are judged too surely in the middle.
    """
    given = np.empty(len(kind))
    for side in (0, 1):
        given[half == side] = learn(features[half != side], kind[half != side]).probability(features[half == side])
    calibration = curve(given, kind, levelled=levelled)
    return Calibrated(learn(features, kind), calibration, calibration.of(given))


def curve(given: Floats, kind: Floats, *, levelled: bool) -> Curve:
    """Measure how often cells of each given probability are of the kind.

    The curve is the share of the kind in each of as many equal parts of the cells, by what is given to them, made to
    rise: each is raised to the highest before it, or `levelled` with those before it that are higher. Of few cells the
    highest so far is soon one by chance.
    """
    order = np.argsort(given, kind="stable")
    parts = np.array_split(order, min(PARTS, len(order)))
    shares, counts = np.array([kind[part].mean() for part in parts]), np.array([len(part) for part in parts])
    true = isotonic(shares, counts) if levelled else np.maximum.accumulate(shares)
    return Curve(np.array([given[part].mean() for part in parts]), np.asarray(true))


def isotonic(values: Floats, weights: Ints) -> Floats:
    """The values that never fall and are nearest to these in weighted squares: neighbours that fall become their mean.

    >>> isotonic(np.array([0.2, 0.9, 0.5, 1.0]), np.array([1, 1, 3, 1])).round(3).tolist()
    [0.2, 0.6, 0.6, 1.0]
    """
    levels: list[tuple[float, int, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, whole, count = value, weight, 1
        while levels and levels[-1][0] >= mean:
            before, size, many = levels.pop()
            mean, whole, count = (before * size + mean * whole) / (size + whole), size + whole, many + count
        levels.append((mean, whole, count))
    return np.repeat([mean for mean, _, _ in levels], [count for _, _, count in levels])


def _design(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])
