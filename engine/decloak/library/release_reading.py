"""The reading of what `check` checks: a release of any kind, or data whose items are labels of their own."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from decloak.attacker.written_order import order_notes
from decloak.data.formats.lines import FilePath
from decloak.data.formats.record import Options
from decloak.errors import DecloakError

if TYPE_CHECKING:
    from decloak.data.dataset import Dataset
    from decloak.data.disassociated import Disassociated
    from decloak.data.generalised import Generalised
    from decloak.data.published import Published

    AnyRelease = Disassociated | Generalised

__all__ = ["HEADED", "RELEASES", "STORE_KIND", "Warn", "as_labels", "read_any_release"]

Warn = Callable[[str], None]
"""A function that receives a line for each warning."""
HEADED = ("disassociated", "generalised")
"""The formats of release files, which name their own format."""
STORE_KIND = "store"
RELEASES = ("release", STORE_KIND, *HEADED)
"""The kinds of files that say themselves how they are written."""


def read_any_release(file: FilePath, kind: str, options: Options, warn: Warn, *, as_said: bool) -> "AnyRelease":
    """Return the release in `file`: plain items are labels of their own, and so are sets in brackets."""
    if kind == STORE_KIND:
        return _read_store(file)
    if options.separator is not None and kind in (*RELEASES, "published"):
        raise DecloakError("a release has no separator to choose", hint="leave --separator out")
    if kind in RELEASES:
        return _read_release(file, options)
    if kind == "published":
        return _read_published(file, options, warn, as_said)
    return _read_plain(file, kind, options, warn, as_said)


def as_labels(data: "Dataset | Published") -> "Generalised":
    """Return plain or set-generalised transactions as a release, whose items and sets in brackets are labels."""
    from decloak.data.generalised import Generalised
    from decloak.data.published import Published

    if isinstance(data, Published):
        rows = tuple(tuple(map(_sorted, row)) for row in data.transactions)
        return Generalised.of(replace(data, transactions=rows), *data.guarantee_bounds)
    return Generalised(data.transactions, {item: (item,) for item in data.items}, data.labels)


def _read_release(file: FilePath, options: Options) -> "AnyRelease":
    from decloak.data.release_files import read_release

    if options.ids:
        raise DecloakError("a release file has no ids", hint="leave --ids out")
    try:
        return read_release(file)
    except DecloakError as error:
        if re.search(r":1(:\d+)?$", error.place or ""):  # no header: likelier another kind of file than a broken one
            raise DecloakError(error.message, error.place, f"{error.hint}, or say with --input what it is") from None
        raise


def _read_store(file: FilePath) -> "AnyRelease":
    from decloak.data.generalised import Generalised
    from decloak.data.published import Published
    from decloak.releases.public_store import read_store

    release = read_store(file)
    return Generalised.of(release, *release.guarantee_bounds) if isinstance(release, Published) else release


def _read_published(file: FilePath, options: Options, warn: Warn, as_said: bool) -> "AnyRelease":
    from decloak.data.formats.look_check import check_enough_items, check_ids
    from decloak.data.published import read_published

    release = read_published(file, ids=options.ids, repeats=options.repeats)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    check_enough_items(file, release.transactions, as_said=as_said)
    for warning in order_notes(release):  # the order of members is lost below
        warn(warning)
    return as_labels(release)


def _read_plain(file: FilePath, kind: str, options: Options, warn: Warn, as_said: bool) -> "AnyRelease":
    from decloak.data.formats.look_check import check_enough_items, read_fitting

    data = read_fitting(file, kind, options, as_said=as_said)
    for warning in data.warnings:
        warn(f"WARNING: {warning}")
    check_enough_items(file, data.transactions, as_said=as_said)
    return as_labels(data)


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))
