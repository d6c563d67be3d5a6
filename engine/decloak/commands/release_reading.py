"""How `check` reads what it checks: a release of any kind, or data whose items are labels of their own."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from decloak.attacker.written_order import order_notes
from decloak.commands.reading import HEADED, read_plain
from decloak.data.formats.lines import FilePath
from decloak.data.formats.record import Options
from decloak.errors import DecloakError
from decloak.report.terminal import say

if TYPE_CHECKING:
    from decloak.data.disassociated import Disassociated
    from decloak.data.generalised import Generalised

    AnyRelease = Disassociated | Generalised

__all__ = ["RELEASES", "STORE_KIND", "read_any_release"]

STORE_KIND = "store"
RELEASES = ("release", STORE_KIND, *HEADED)
"""The kinds of files that say themselves how they are written."""


def read_any_release(file: FilePath, kind: str, options: Options, *, as_said: bool) -> "AnyRelease":
    """Read the file as a release: a plain item is a label of its own, and so is a set in brackets."""
    if kind == STORE_KIND:
        return _read_store(file)
    if options.separator is not None and kind in (*RELEASES, "published"):
        raise DecloakError("a release has no separator to choose", hint="leave --separator out")
    if kind in RELEASES:
        return _read_release(file, options)
    return _read_published(file, options, as_said) if kind == "published" else _read_plain(file, kind, options, as_said)


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


def _read_published(file: FilePath, options: Options, as_said: bool) -> "AnyRelease":
    from decloak.data.formats.look_check import check_enough_items, check_ids
    from decloak.data.generalised import Generalised
    from decloak.data.published import read_published

    release = read_published(file, ids=options.ids, repeats=options.repeats)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    check_enough_items(file, release.transactions, as_said=as_said)
    for warning in order_notes(release):  # the order of members is lost below
        say(warning, err=True)
    rows = tuple(tuple(map(_sorted, row)) for row in release.transactions)
    return Generalised.of(replace(release, transactions=rows))


def _read_plain(file: FilePath, kind: str, options: Options, as_said: bool) -> "AnyRelease":
    from decloak.data.formats.look_check import check_enough_items
    from decloak.data.generalised import Generalised

    data = read_plain(file, kind, options, as_said=as_said)
    check_enough_items(file, data.transactions, as_said=as_said)
    return Generalised(data.transactions, {item: (item,) for item in data.items}, data.labels)


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))
