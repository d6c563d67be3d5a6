"""Logistic regression: how likely a cell is of a kind by its features, learned from cells whose kind is known.

X has a row per cell and a column per feature, in units of the standard deviation it has in what is learned from;
p = 1 / (1 + exp(-(b + X w))). b and w maximise the likelihood times a normal prior of w with variance 1, which keeps
them finite where the features tell all. Newton's method; few features, so each step solves a small system.
"""

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats

__all__ = ["Calibrated", "Logistic", "learn", "learn_calibrated"]

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


class Calibrated(NamedTuple):
    """A classifier, and how often cells of each probability it gives turned out to be of the kind: ascending both."""

    classifier: Logistic
    given: Floats
    true: Floats

    def probability(self, features: Floats) -> Floats:
        """The probability of each cell, in the order in which the classifier has them."""
        p = self.classifier.probability(features)
        # A trace of the classifier's own keeps those apart that lie beyond the curve, or on a level part of it.
        return np.asarray((1 - TRACE) * np.interp(p, self.given, self.true) + TRACE * p)


def learn_calibrated(features: Floats, kind: Floats, half: Floats) -> Calibrated:
    """Learn from all cells; calibrate by those of each half (0 or 1) judged by what the other half teaches.

    A straight line in the logs of odds fits no data exactly: cells are judged too surely in the middle. So the curve is
    the share of the kind in each of as many equal parts of the cells, by what is given to them, made to rise.
    """
    given = np.empty(len(kind))
    for side in (0, 1):
        given[half == side] = learn(features[half != side], kind[half != side]).probability(features[half == side])
    order = np.argsort(given, kind="stable")
    parts = np.array_split(order, min(PARTS, len(order)))
    true = np.maximum.accumulate([kind[part].mean() for part in parts])
    return Calibrated(learn(features, kind), np.array([given[part].mean() for part in parts]), np.asarray(true))


def _design(x: Floats) -> Floats:
    return np.column_stack([np.ones(len(x)), x])
