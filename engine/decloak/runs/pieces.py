"""The heavy pieces of stages, worked on here or sent to a cluster as values: never the store, nor more than they need.

Records go without their ids to be anonymised. Attacks take what is published; those that ask the store with SQL are
made here, and so is whatever is measured, as it takes the truth.
"""

from collections.abc import Mapping
from typing import Any

from decloak.anonymisers.method import Method, NewRelease, Stopwatch
from decloak.cells.spreading import spreading
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.rows import Numbers
from decloak.relate.relatedness import Relatedness
from decloak.rules.load import Rule
from decloak.rules.model import Settings
from decloak.rules.operators.operator import Result, Sight
from decloak.runs.session import Session

__all__ = ["attacked", "published"]

Took = Mapping[str, float]


def published(method: Method, data: Dataset, folder: Folder, seed: int, session: Session) -> NewRelease:
    """What a method makes of records."""
    cluster = session.cluster
    asks = any(isinstance(part, Relatedness) for part in method.nested())  # it goes by counts that the store keeps
    if cluster is None or asks:
        return method.publish(data, folder, seed, session.counts)
    if method.cut_apart:
        with spreading(cluster.map):
            return method.publish(data, folder, seed, session.counts)
    held = folder.holding(method.named())
    if held is None:
        return method.publish(data, folder, seed, session.counts)
    records = Dataset(data.rows, Numbers(len(data.rows)))
    release: NewRelease = cluster.call(_published, method, records, held, seed)
    return release


def _published(method: Method, data: Dataset, folder: Folder, seed: int) -> NewRelease:
    return method.publish(data, folder, seed)


def attacked(rule: Rule, sight: Sight, settings: Settings, session: Session) -> tuple[Result, Took]:
    """What a rule finds, and what finding it took."""
    values = None if session.cluster is None else rule.operator.carried(rule, sight)
    if session.cluster is None or values is None:
        clock = Stopwatch()
        return rule.operator.run(rule, sight, settings), clock.seconds
    result: tuple[Result, Took] = session.cluster.call(_attacked, rule, values, settings)
    return result


def _attacked(rule: Rule, values: Mapping[str, Any], settings: Settings) -> tuple[Result, Took]:
    clock = Stopwatch()
    return rule.operator.run_on(rule, values, settings), clock.seconds
