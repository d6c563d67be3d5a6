"""Logistic regression with calibration: the probability that a cell is of a class, learned from cells of known class.

X has a row per cell and a column per feature, in units of the feature's standard deviation in the training data; p = 1
/ (1 + exp(-(b + X w))). b and w maximise the likelihood times a normal prior of w with variance 1, which keeps them
finite where the features separate the classes. Newton's method; there are few features, so each step solves a small
system.
"""

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints

ROUNDS = 50
PARTS = 20
"""Points of the calibration curve."""
TRACE = 1e-4
"""Weight of the uncalibrated probability in a calibrated one."""


class Logistic(NamedTuple):
    """A trained classifier: the mean and the standard deviation of each feature, and the constant
    before the weights.
    """

    mean: Floats
    deviation: Floats
    weights: Floats

    def probability(self, features: Floats) -> Floats:
        """Return the probability of each row of `features`."""
        z = _design((features - self.mean) / self.deviation) @ self.weights
        return np.asarray(1 / (1 + np.exp(-np.clip(z, -500, 500))))


def learn(features: Floats, kind: Floats) -> Logistic:
    """Train on `features` of cells whose `kind` is 0 or 1; return the classifier."""
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    # A constant feature has no information, and its rounding error must not be a divisor.
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
    """Calibration curve: the share of cells of the class (`true`) at each predicted probability (`given`), both
    ascending.
    """

    given: Floats
    true: Floats

    def of(self, p: Floats) -> Floats:
        """Return the calibrated probability of each of `p`, in the same order."""
        # A trace of the given ones keeps those apart that lie beyond the curve, or on a level part of it.
        return np.asarray((1 - TRACE) * np.interp(p, self.given, self.true) + TRACE * p)


class Calibrated(NamedTuple):
    """A classifier, its calibration curve, and the calibrated probability of each training cell from the other half."""

    classifier: Logistic
    curve: Curve
    held_out: Floats

    def probability(self, features: Floats) -> Floats:
        """Return the calibrated probability of each row of `features`, in the order of the
        classifier's probabilities.
        """
        return self.curve.of(self.classifier.probability(features))


def learn_calibrated(features: Floats, kind: Floats, half: Floats, *, levelled: bool = False) -> Calibrated:
    """Train on all cells and calibrate with two-fold cross-validation; return the calibrated classifier.

    `features` and `kind` are as in `learn`. `half` (0 or 1) assigns each cell to a fold. `levelled` is passed to
    `curve`. Without calibration probabilities in the middle are too extreme, because a straight line in log odds fits
    no data exactly.
    """
    # Each half is judged by a classifier that was trained on the other: otherwise calibration would be too optimistic.
    given = np.empty(len(kind))
    for side in (0, 1):
        given[half == side] = learn(features[half != side], kind[half != side]).probability(features[half == side])
    calibration = curve(given, kind, levelled=levelled)
    return Calibrated(learn(features, kind), calibration, calibration.of(given))


def curve(given: Floats, kind: Floats, *, levelled: bool) -> Curve:
    """Compute the calibration curve of predictions `given` for cells of known `kind`; return it.

    The cells are sorted by prediction and divided into equal parts; each part gives the share of the class. The shares
    are made to rise: each becomes the highest share before it, or with `levelled` the mean of the shares that would
    fall. With few cells the highest share so far is soon 1 at random.
    """
    order = np.argsort(given, kind="stable")
    # Parts of equal size have about equal sampling errors.
    parts = np.array_split(order, min(PARTS, len(order)))
    shares, counts = np.array([kind[part].mean() for part in parts]), np.array([len(part) for part in parts])
    true = isotonic(shares, counts) if levelled else np.maximum.accumulate(shares)
    return Curve(np.array([given[part].mean() for part in parts]), np.asarray(true))


def isotonic(values: Floats, weights: Ints) -> Floats:
    """Return the non-decreasing values nearest to `values`, in squares with `weights`: falling neighbours become their
    mean.

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
