"""Plain transactions into a file that `decloak.data.formats.readers.read` reads back."""

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import FilePath, check_name, place
from decloak.data.formats.readers import find_format
from decloak.data.formats.record import Options, check_labels
from decloak.data.formats.writing import write_lines
from decloak.errors import DecloakError, placed

__all__ = ["write"]


def write(
    dataset: Dataset,
    path: FilePath,
    format: str,  # noqa: A002 (the word users write)
    *,
    ids: bool = False,
    separator: str | None = None,
    transaction: str = "tid",
    item: str = "item",
    within: str | None = None,
) -> None:
    """Write transactions; what the format cannot carry is an error, never lost.

    The options are those of `read`. Onehot keeps no order of the items within a transaction.
    """
    options = Options(ids, separator, transaction, item, within)
    chosen = find_format(format, options)
    if chosen.render is None:
        raise DecloakError(f"{format} is read, not written", place(path), "write long or jsonl")
    with placed(place(path)):
        _check(dataset)
        check_labels(dataset.labels, kept=ids or chosen.keeps_ids)
        lines = list(chosen.render(dataset, options))
    write_lines(lines, path)


def _check(dataset: object) -> None:
    if not isinstance(dataset, Dataset):
        writes = hasattr(dataset, "write")
        hint = "it writes itself: release.write(path)" if writes else "make one by decloak.Dataset.of(transactions)"
        raise DecloakError(f"a {type(dataset).__name__} is not a Dataset", hint=hint)
    if not dataset.transactions:
        raise DecloakError("no transactions to write")
    for item in dataset.items:
        check_name(item)
