"""Publication of a release: the file, a manifest, and a check that neither leads back to the original data.

decloak writes all of these files, or none.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.registry import published_parameters
from decloak.arrays import Ints
from decloak.data.content import LabelContent
from decloak.data.disassociated import Disassociated
from decloak.data.formats.delimited import join, records
from decloak.data.formats.lines import location, read_lines
from decloak.data.formats.manifest_file import Manifest, digest_of_file, manifest_path
from decloak.data.formats.writing import atomic_paths, check_new, report_write_errors, write_lines
from decloak.data.itemset_table import ItemsetTable
from decloak.data.ordering import RECORDED
from decloak.errors import DecloakError, at_location, quote
from decloak.releases.file_formats import (
    AnyRelease,
    ReleaseFileFormat,
    codebook_lines,
    codebook_path,
    published_items,
)
from decloak.releases.form import AnyForm, Publishing
from decloak.releases.public_store import STORE, STORES, HiddenFacts, Leak, find_leaks, manifest_leaks, store_leaks
from decloak.releases.registry import form_of
from decloak.releases.stored import Making, PartedSets, PartedStored, StoredRelease
from decloak.store.records import original_ids

ORIGINAL_IDS = (
    "WARNING: the file contains the original ids. Anyone who knows the id of a person re-identifies that person"
)
LEFT_OUT = (
    "the original records, and the links between them and the rows",
    "items that were suppressed, and how many there are",
    "the hierarchy without its published labels, and the items of constraints",
    "names of files, times, attacks and figures",
)


class PublishedFiles(NamedTuple):
    """The written files, and warnings for the publisher."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...]


def publish_release(connection: sqlite3.Connection, number: int, file: Path, wish: Publishing) -> PublishedFiles:
    """Write the release `number` of the store to `file`, and its manifest next to it; return the files.

    `connection` reads the store, and `wish` has the options. Raise an error if a file would reveal too much.
    """
    _check_goals(file, wish.cut)
    form = form_of(connection, number)
    held: StoredRelease = form.load(connection, number)
    if isinstance(held, PartedStored):
        return _publish_parts(held, form, file, wish)
    file_format = _choose_format(form, file, wish)
    recorded = held.making.parameters.get("order") == "recorded"
    parameters = published_parameters(held.making.method, held.making.parameters)
    release = _release_to_write(held, file_format, recorded, wish.original_ids)
    # A store contains both, and a release file has its own header.
    release = replace(release, method=held.making.method, parameters=parameters)
    labels = [] if wish.cut is None else [wish.cut]
    codebook = [codebook_path(file)] if file_format.has_codebook else []
    goals = [file, *labels, *codebook, manifest_path(file)]
    # All files appear together, or none: a release without its manifest would look complete.
    with report_write_errors(file), atomic_paths(*goals) as parts, at_location(location(file)):
        names = ("release", *(("labels",) if labels else ()), *(("codebook",) if codebook else ()))
        written = dict(zip(names, parts, strict=False))
        file_format.write(release, written["release"], wish.original_ids)
        if labels:
            members = form.labels(held).members
            _write_labels(((label, item) for label, items in members.items() for item in items), written["labels"])
        if codebook:
            assert isinstance(release, LabelContent | Disassociated)  # other forms have no codebook
            lines = codebook_lines(release, {"method": release.method, **parameters, **form.counts(release)})
            write_lines(lines, written["codebook"])
        order = "recorded" if recorded else "sorted"
        manifest = _manifest(form, held.making, file_format.name, order, form.counts(release))
        warnings = [RECORDED] if recorded and form.rows_in_order else []
        if wish.original_ids:
            manifest, warnings = replace(manifest, ids="original", leaves_out=LEFT_OUT), [*warnings, ORIGINAL_IDS]
        digests = {name: digest_of_file(part) for name, part in written.items()}
        manifest = replace(manifest, warnings=tuple(warnings), sha256=digests)
        parts[-1].write_text(manifest.text, encoding="utf-8")
        # Stores are made private, and this one is to be shared.
        shutil.copymode(parts[-1], parts[0])
        # Before the block ends: an error here removes all files, so that none is ever seen.
        for leak in _leaks(file_format, release, HiddenFacts.of(held), manifest, written):
            raise DecloakError(f"not published: {leak.message}", hint=leak.remedy)
    return PublishedFiles(tuple(goals), manifest.warnings)


def _check_goals(file: Path, cut: Path | None) -> None:
    """Raise an error if a file of the release is there already, or if two of them are one."""
    codebook = codebook_path(file) if file.suffix.lower() == ".csv" else None
    goals = [path for path in (file, cut, codebook, manifest_path(file)) if path is not None]
    for path in goals:
        check_new(path)
    if len({path.resolve() for path in goals}) < len(goals):
        message = "the release and its labels go to the same file"
        raise DecloakError(message, location(cut or file), "choose another name for one")


def _publish_parts(held: PartedStored, form: AnyForm, folder: Path, wish: Publishing) -> PublishedFiles:
    """Copy the files of `held` into a new `folder`, with a list of any labels, and write the manifest beside it."""
    if folder.suffix or wish != Publishing():
        hint = "name a new folder, such as release, and leave the options out"
        raise DecloakError("this release is a folder of Parquet files", location(folder), hint)
    parts, manifest_file = held.parts, manifest_path(folder)
    files = held.blocks.files
    with report_write_errors(folder), atomic_paths(manifest_file) as (beside,), at_location(location(folder)):
        # Hidden and beside its goal, so that one rename shows the complete folder.
        making = folder.with_name(f".{folder.name}.{os.getpid()}")
        making.mkdir()
        try:
            digests = {}
            for part, file in zip(parts, files, strict=True):
                copy = making / Path(file).name
                shutil.copyfile(file, copy)
                digests[copy.name] = digest_of_file(copy)
                # The figures were measured on other bytes than these.
                if digests[copy.name] != part.digest:
                    hint = "run the scenario into another store"
                    raise DecloakError(f"{copy.name} is not as it was counted", hint=hint)
            what, rows = "clusters", "records"
            if isinstance(held, PartedSets):
                what, rows = "the labels of each record", "transactions"
                names = held.published.names
                _write_labels(
                    ((label, item) for items, label in names.items() for item in items), making / "labels.csv"
                )
                digests["labels.csv"] = digest_of_file(making / "labels.csv")
            counts = {rows: sum(part.records for part in parts), "files": len(parts)}
            carrier = f"parquet: a folder of files with {what}"
            manifest = replace(_manifest(form, held.making, carrier, "random", counts), sha256=digests)
            for leak in manifest_leaks(manifest):
                raise DecloakError(f"not published: {leak.message}", hint=leak.remedy)
            beside.write_text(manifest.text, encoding="utf-8")
            making.replace(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return PublishedFiles((folder, manifest_file), ())


def _choose_format(form: AnyForm, file: Path, wish: Publishing) -> ReleaseFileFormat:
    if file.suffix.lower() not in STORES:
        file_format = form.file_format(file, wish)
        if file.suffix.lower() in file_format.wrong_suffixes:
            message = f"cannot write {quote(file.suffix)[1:-1]} for this release"
            raise DecloakError(message, location(file), file_format.remedy)
        return file_format
    if wish.text or wish.cut is not None:
        raise DecloakError("a store has no text, and the labels in it", hint="leave --text and --cut out")
    # Asked only for its errors: a form without ids refuses them.
    form.file_format(file, wish)
    return STORE


def _release_to_write(
    held: StoredRelease, file_format: ReleaseFileFormat, recorded: bool, with_ids: bool
) -> AnyRelease:
    """Return the release as the format shows it, in the order of its content unless the recorded
    order was asked for.
    """
    release: AnyRelease = file_format.content(held.published)
    places: Ints = np.arange(len(release.ids))
    ids = (original_ids(held.connection, held.number) or release.ids) if with_ids else None
    # The recorded order could match the order of the original file, so that it is only kept on request.
    if not recorded:
        release, places, _ = release.sorted_by_content()
    if ids is None:
        return release.renumbered()
    assert not isinstance(release, Disassociated | ItemsetTable)  # its rows have no ids: the form refuses them
    return release.with_ids(tuple(ids[place] for place in places.tolist()))


def _write_labels(pairs: Iterable[tuple[str, str]], path: Path) -> None:
    """Write `pairs` of a label and an item to `path`, sorted: their own order could be that of the hierarchy."""
    write_lines(["label,item", *map(join, sorted(pairs))], path)


def _manifest(form: AnyForm, making: Making, carrier: str, order: str, counts: Mapping[str, int]) -> Manifest:
    """Return the manifest of a release without ids, before its files are written."""
    return Manifest(
        form=form.name,
        carrier=carrier,
        method=making.method,
        parameters=published_parameters(making.method, making.parameters),
        order=order,
        ids="none",
        counts=counts,
        contains=form.contains,
        leaves_out=("the ids of the original records", *LEFT_OUT),
    )


def _leaks(
    file_format: ReleaseFileFormat,
    release: AnyRelease,
    truth: HiddenFacts,
    manifest: Manifest,
    written: Mapping[str, Path],
) -> Iterator[Leak]:
    """Read the written files as a recipient does, and yield every leak."""
    recorded, with_ids = manifest.order == "recorded", manifest.ids == "original"
    back = release if file_format.read is None else file_format.read(written["release"], with_ids)
    yield from find_leaks(back, release, truth, recorded=recorded, with_ids=with_ids)
    yield from manifest_leaks(manifest)
    if file_format is STORE:
        yield from store_leaks(written["release"], published_items(release))
    for name, part in written.items():
        if name == "release" and not file_format.has_codebook:
            continue
        listed = {cell for _, cells in records(read_lines(part)) for cell in cells}
        if suppressed := truth.suppressed.intersection(listed):
            what = "the list of its labels" if name == "labels" else f"the table of the {name}"
            yield Leak(f"{what} names items that the release suppressed: {quote(min(suppressed))}")
