"""The utility of a release for its readers: counts of itemsets, frequent itemsets, and remaining items."""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from decloak.data.forms import FormName
from decloak.figures import metrics_of
from decloak.measure.estimates import Published, published_by
from decloak.measure.family import POOLED, AttackResult, Family, MetricResult, MetricValue
from decloak.releases.stored import UNKNOWN, StoredDisassociation, StoredRelease
from decloak.yaml.section import ConfigSection

__all__ = ["FAMILY", "UtilitySettings"]

SIZES = range(1, 4)
NO_TABLES = "distance tables contain no records, so their utility cannot be measured"


class UtilitySettings(ConfigSection):
    """The utility of a release for its readers."""

    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared as counted in the chunks of a disassociated release."""
    queries: int = Field(1_000, ge=1)
    """How many random itemsets of each size are counted."""
    itemsets: int = Field(1_000, ge=1)
    """How many of the most frequent itemsets are compared by their estimates."""
    bound: float = Field(0.001, ge=0, le=1)
    """The share of the records below which the count of an itemset counts as this share, so that errors at rare
    itemsets do not outweigh all others."""
    seed: int = Field(0, ge=0)
    """The seed of random itemsets."""


def _measure(
    attacked: AttackResult[StoredRelease], *, top: int, queries: int, itemsets: int, bound: float, seed: int
) -> MetricResult:
    held = attacked.release
    if held.making.method == FormName.DISTANCES:
        return [], NO_TABLES
    if held.original is None:
        return [], UNKNOWN.format("utility")
    figures = list(_of_estimates(held, published_by(held), queries, itemsets, bound, seed))
    if isinstance(held, StoredDisassociation) and held.rows is not None:
        figures += _of_chunks(held, top)
    return figures, None


def _of_estimates(
    held: StoredRelease, published: Published, queries: int, itemsets: int, bound: float, seed: int
) -> Iterator[MetricValue]:
    """Yield the errors of counts by size and over all sizes, and the share of frequent itemsets that remain."""
    from decloak.counting.itemsets import coded_items
    from decloak.measure.kernels.estimate import counts
    from decloak.measure.kernels.estimate.known import signatures

    assert held.original is not None
    records, names = coded_items(held.original.rows)
    whole = counts.plain_records(records)
    number = np.array([published.number.get(name, -1) for name in names], np.int64)
    least, errors = bound * records.shape[0], []
    for size in SIZES:
        drawn = counts.drawn_queries(records, signatures(records), size, queries, seed)
        if drawn.shape[1]:
            true, estimates = counts.estimates_of(whole, drawn), counts.estimates_of(published.estimator, number[drawn])
            errors.append(counts.count_errors(estimates, true, max(least, np.finfo(float).tiny)))
            yield POOLED, f"count_error_{size}", float(errors[-1].mean()), None, None
    if errors:
        every = np.concatenate(errors)
        yield POOLED, "count_error", float(np.mean([one.mean() for one in errors])), None, None
        yield POOLED, "count_error_median", float(np.median(every)), None, None
        yield POOLED, "count_error_95", float(np.percentile(every, 95)), None, None
    frequent = counts.frequent_itemsets(records, counts.WIDER * itemsets)
    places = np.concatenate([one.places for one in frequent])
    estimates = np.concatenate([counts.estimates_of(published.estimator, number[one.itemsets]) for one in frequent])
    order = np.argsort(places)
    kept = counts.kept_itemsets(estimates[order], np.concatenate([one.counts for one in frequent])[order], itemsets)
    if kept is not None:
        yield POOLED, "itemsets_lost", kept.lost, None, None
        yield POOLED, "itemsets_f1", kept.f1, None, None


def _of_chunks(held: StoredDisassociation, top: int) -> Iterator[MetricValue]:
    """Yield the figures of the papers, which count the sub-records of chunks as records."""
    from decloak.measure.kernels.utility import re_chunks, tkd_chunks, tlost

    assert held.rows is not None
    release, records = held.published, held.rows.records
    yield POOLED, "tkd", tkd_chunks(release, records, top), None, None
    yield POOLED, "re", re_chunks(release, records), None, None
    yield POOLED, "tlost", tlost(release, records, release.k or 1), None, None


FAMILY = Family(
    name="utility",
    about="Information loss of a release for its readers",
    metrics=metrics_of("utility"),
    measure=_measure,
    fits=frozenset(FormName),
    settings=UtilitySettings,
    of_release=True,
)
