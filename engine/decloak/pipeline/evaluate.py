"""Evaluation of a release from any method, in Python, with its ground truth."""

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.delimited import join
from decloak.data.formats.plain_files import write
from decloak.data.formats.writing import write_lines, write_text
from decloak.data.generalised import Generalised
from decloak.data.published import Published
from decloak.errors import DecloakError
from decloak.pipeline.run import Run, run

__all__ = ["evaluate"]


def evaluate(
    release: Disassociated | Generalised | Published,
    original: Dataset | Iterable[Iterable[str]],
    rows: Sequence[int],
    *,
    attack: str | Sequence[object] = "all",
    measure: Sequence[object] = ("exposure", "utility"),
    store: str | Path = "store.db",
    jobs: int = 1,
    **sections: object,
) -> Run:
    """Attack a release from any method, measure it against its ground truth, and return the results.

    - `original`: the records that were published.
    - `rows`: for each row of `release`, the place of its record in `original`, from 0.
    - `attack`, `measure`: the sections of a scenario with these names.
    - `sections`: further sections, such as `relate` or `attacker`.
    - `store`, `jobs`: as in `decloak.run`. The store then contains the original data.
    """
    data, ids = Dataset.of(original), release.ids
    if len(rows) != len(ids):
        raise DecloakError(f"{len(rows):,} records for {len(ids):,} rows", "rows", "name one record for every row")
    if wrong := [place for place in rows if not 0 <= place < len(data.labels)]:
        raise DecloakError(f"there is no record {wrong[0]}", "rows", f"name 0 to {len(data.labels) - 1}")
    with tempfile.TemporaryDirectory(prefix="decloak-") as folder:
        home = Path(folder)
        release.write(home / "release.jsonl")
        write(Dataset(data.transactions, tuple(map(str, range(1, len(data.labels) + 1)))), home / "data.jsonl", "jsonl")
        written = ids if isinstance(release, Disassociated) else range(1, len(ids) + 1)
        pairs = (join([str(row), str(place + 1)]) for row, place in zip(written, rows, strict=True))
        write_lines(["row,record", *pairs], home / "rows.csv")
        named = {"file": "data.jsonl", "format": "jsonl", "as_said": True, "repeats": True}
        parts = {
            "scenario": "a release with its ground truth",
            "data": {"release": "release.jsonl", "original": named, "rows": "rows.csv"},
            "attack": attack if isinstance(attack, str) else list(attack),
            "measure": list(measure),
            **sections,
        }
        write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in parts.items()), home / "release.yaml")
        return run(home / "release.yaml", store=store, jobs=jobs)
