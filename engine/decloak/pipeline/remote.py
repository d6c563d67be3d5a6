"""Heavy functions of stages, called here or on a cluster with values only: never the store, nor more than they need.

Records go without their ids to be anonymised. Attacks take what is published. Attacks that query the store with SQL run
here, and so does every measure, because it takes the truth.
"""

from collections.abc import Mapping

from decloak.anonymisers.method import Method, NewRelease, Stopwatch, StoredContent
from decloak.data.dataset import Dataset
from decloak.data.formats.blocks import PartedData
from decloak.data.formats.folder import Folder
from decloak.data.rows import RowLabels
from decloak.parallel import tasks_on
from decloak.pipeline.workspace import Workspace
from decloak.relate.relatedness import Relatedness
from decloak.rules.model import Settings
from decloak.rules.operators.attacker_view import AttackerView, PortableInputs
from decloak.rules.operators.operator import Result, Rule

__all__ = ["attack_on_cluster", "publish_on_cluster"]

Took = Mapping[str, float]


def publish_on_cluster(
    method: Method, data: Dataset, seed: int, workspace: Workspace, keys: tuple[str, str]
) -> NewRelease[StoredContent]:
    """Return what `method` makes of `data`, on the cluster of `workspace` where there is one.

    `keys` are those of the data and of the release.
    """
    folder, cluster = workspace.inputs.folder, workspace.cluster
    if isinstance(data, PartedData):
        with tasks_on(cluster):
            return method.publish_parts(data, folder, seed, workspace.store.path.resolve(), *keys)
    needs_counts = any(isinstance(part, Relatedness) for part in method.nested())  # the store keeps them
    content = None if cluster is None or needs_counts or method.splits_work else folder.with_files(method.file_names())
    if cluster is not None and content is not None:
        records = Dataset(data.rows, RowLabels(len(data.rows)))
        release: NewRelease[StoredContent] = cluster.call(_publish, method, records, content, seed)
        return release
    with tasks_on(None if needs_counts else cluster):
        return method.publish(data, folder, seed, workspace.counts)


def _publish(method: Method, data: Dataset, folder: Folder, seed: int) -> NewRelease[StoredContent]:
    return method.publish(data, folder, seed)


def attack_on_cluster(rule: Rule, view: AttackerView, settings: Settings, workspace: Workspace) -> tuple[Result, Took]:
    """Return what `rule` finds, and how long that took."""
    values = None if workspace.cluster is None else rule.operator.portable_inputs(rule, view)
    if workspace.cluster is None or values is None:
        clock = Stopwatch()
        return rule.operator.run(rule, view, settings), clock.seconds
    result: tuple[Result, Took] = workspace.cluster.call(_attack, rule, values, settings)
    return result


def _attack(rule: Rule, values: PortableInputs, settings: Settings) -> tuple[Result, Took]:
    clock = Stopwatch()
    return rule.operator.run(rule, AttackerView.from_inputs(values), settings), clock.seconds
