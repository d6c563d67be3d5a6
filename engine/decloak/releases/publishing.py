"""Hand a release out: the file, a manifest beside it, and a check that neither leads back to the originals.

All of it is there at the end, or nothing.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from decloak.anonymisers.registry import published_parameters
from decloak.data.formats.delimited import join, records
from decloak.data.formats.lines import place, read_lines
from decloak.data.formats.manifest_file import Manifest, digest_of_file, manifest_path
from decloak.data.formats.writing import made_whole, told_unwritable, write_lines
from decloak.data.generalised import Generalised
from decloak.data.ordering import RECORDED
from decloak.errors import DecloakError, placed, shown
from decloak.releases.carriers import Carrier
from decloak.releases.form import Form, Publishing
from decloak.releases.handed_out import STORE, STORES, left_over
from decloak.releases.held import HeldRelease
from decloak.releases.registry import form_of
from decloak.releases.self_check import Secret, WayBack, links, words_told
from decloak.releases.shown import names_shown
from decloak.store.origins import original_ids

__all__ = ["HandedOut", "hand_out"]

ORIGINAL_IDS = "the original ids are in the file: whoever knows that of a person has the row of that person"
LEAVES_OUT = (
    "the original transactions, and which of them a row is of",
    "items that were suppressed, and how many there are",
    "the hierarchy beyond the labels that are shown, and what constraints list",
    "names of files, times, what was attacked and measured",
)


class HandedOut(NamedTuple):
    """The files that were written, and what whoever hands them out should know."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...]


def hand_out(connection: sqlite3.Connection, number: int, file: Path, wish: Publishing) -> HandedOut:
    """Write a release of the store to a file, and its manifest beside it; an error where one of them tells too much."""
    form = form_of(connection, number)
    held: HeldRelease = form.hold(connection, number)
    carrier = _carrier(form, file, wish)
    recorded = held.making.parameters.get("order") == "recorded"
    parameters = published_parameters(held.making.method, held.making.parameters)
    release = _arranged(held, carrier, recorded, wish.original_ids)
    # A store tells both, and a release file has a header of its own.
    release = replace(release, method=held.making.method, parameters=parameters)
    labels = [] if wish.cut is None else [wish.cut]
    goals = [file, *labels, manifest_path(file)]
    with told_unwritable(file), made_whole(*goals) as parts, placed(place(file)):
        written = dict(zip(("release", "labels") if labels else ("release",), parts, strict=False))
        carrier.write(release, written["release"], wish.original_ids)
        if labels:
            write_lines(["label,item", *_items_of_labels(form.labels(held))], written["labels"])
        manifest = _manifest(form, carrier, release, wish, recorded, parameters)
        manifest = replace(manifest, sha256={name: digest_of_file(part) for name, part in written.items()})
        parts[-1].write_text(manifest.text, encoding="utf-8")
        shutil.copymode(parts[-1], parts[0])  # a store is made for one's own eyes, and this one is to be handed out
        for link in _ways_back(carrier, release, Secret.of(held), manifest, written):
            raise DecloakError(f"not handed out: {link.message}", hint=link.remedy)
    return HandedOut(tuple(goals), manifest.warnings)


def _carrier(form: Form[Any], file: Path, wish: Publishing) -> Carrier:
    if file.suffix not in STORES:
        carrier = form.carrier(file, wish)
        if file.suffix.lower() in carrier.unfit:
            message = f"the name promises something else than {carrier.name}"
            raise DecloakError(message, place(file), carrier.remedy)
        return carrier
    if wish.text or wish.cut is not None:
        raise DecloakError("a store has no text, and the labels in it", hint="leave --text and --cut out")
    form.carrier(file, wish)  # refuses ids that there are not
    return STORE


def _arranged(held: HeldRelease, carrier: Carrier, recorded: bool, with_ids: bool) -> Any:
    """The release as the carrier shows it, in the order of what it shows unless another was asked for."""
    release = carrier.shaped(held.published)
    places: Sequence[int] = range(len(release.ids))
    ids = (original_ids(held.connection, held.number) or release.ids) if with_ids else None
    if not recorded:
        release, places, _ = release.arranged()
    return release.renumbered() if ids is None else release.called(tuple(ids[place] for place in places))


def _items_of_labels(release: Generalised) -> Iterator[str]:
    for label in release.cut:
        yield from (join([label, item]) for item in sorted(release.members[label]))


def _manifest(
    form: Form[Any],
    carrier: Carrier,
    release: Any,
    wish: Publishing,
    recorded: bool,
    parameters: Mapping[str, str | bool | int | float],
) -> Manifest:
    warnings = [
        *([RECORDED] if recorded and form.rows_in_order else []),
        *([ORIGINAL_IDS] if wish.original_ids else []),
    ]
    left_out = LEAVES_OUT if wish.original_ids else ("what the original transactions are called", *LEAVES_OUT)
    return Manifest(
        form=form.name,
        carrier=carrier.name,
        method=release.method,
        parameters=parameters,
        order="recorded" if recorded else "sorted",
        ids="original" if wish.original_ids else "none",
        counts=form.counts(release),
        contains=form.contains,
        leaves_out=left_out,
        warnings=tuple(warnings),
    )


def _ways_back(
    carrier: Carrier, release: Any, truth: Secret, manifest: Manifest, written: Mapping[str, Path]
) -> Iterator[WayBack]:
    """Read what was written, as somebody does who gets it."""
    recorded, with_ids = manifest.order == "recorded", manifest.ids == "original"
    back = release if carrier.read is None else carrier.read(written["release"], with_ids)
    yield from links(back, release, truth, recorded=recorded, with_ids=with_ids)
    yield from words_told(manifest)
    if carrier is STORE:
        yield from left_over(written["release"], names_shown(release))
    if "labels" in written:
        listed = {cell for _, cells in records(read_lines(written["labels"])) for cell in cells}
        if suppressed := truth.suppressed.intersection(listed):
            yield WayBack(f"the list of its labels names items that the release suppressed: {shown(min(suppressed))}")
