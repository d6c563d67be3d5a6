"""The check of a guarantee: of a release or records in memory, or of a file of any kind."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from decloak.attacker.written_order import order_notes
from decloak.counting.guarantees import (
    ZEROS,
    AnyGuarantee,
    CellSupports,
    Disassociation,
    FirstViolations,
    KAnonymity,
    KmAnonymity,
    NegativeKnowledge,
)
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.formats.lines import FilePath, location
from decloak.data.formats.look import look
from decloak.data.formats.look_check import check_enough_items, check_ids, read_fitting
from decloak.data.formats.manifest_file import manifest_path, read_manifest
from decloak.data.formats.record import Options
from decloak.data.forms import FormName, Release
from decloak.data.frames import is_frame
from decloak.data.generalised import Generalised
from decloak.data.itemset_table import ItemsetTable
from decloak.data.published import Published, read_published
from decloak.data.representation import Table, shorten
from decloak.errors import DecloakError, at_location, escape_control
from decloak.releases.file_formats import ReleaseOfFile, read_release
from decloak.store.opening import is_store

Warn = Callable[[str], None]
"""A function that receives a line for each warning."""
STORE_KIND = "store"
RELEASES = ("release", STORE_KIND, "disassociated", "generalised", "itemset-table")
"""The kinds of files that say themselves how they are written."""
MOST = 20
"""Violations that a check lists."""
Kind = Literal["whole", "links", "negative"]
KINDS = get_args(Kind)
Zeros = Literal["refuse", "allow"]


@dataclass(frozen=True, repr=False, eq=False)
class Check:
    """The result of a check; it is true if the release meets the guarantee.

    `statement` is the guarantee in one line. `warnings` are doubts about the data.
    """

    statement: str
    warnings: tuple[str, ...]
    _columns: tuple[str, ...]
    _first: FirstViolations

    @property
    def holds(self) -> bool:
        """True if the release meets the guarantee."""
        return not self._first.rows

    @property
    def violations(self) -> Table:
        """The first violations, as many as were asked for."""
        return Table(self.verdict, self._columns, tuple(self._first.rows))

    @cached_property
    def number(self) -> int | None:
        """The number of all violations, None if there are too many to count."""
        # On demand and once, because raw data have millions of violations.
        return self._first.total() if self._first.rows else 0

    @property
    def verdict(self) -> str:
        """The result in one line."""
        if self.holds:
            return f"the guarantee holds: {self.statement}"
        return f"the guarantee fails: {self.statement}; {len(self._first.rows)} or more violations"

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        """Return the result in one line."""
        return shorten(f"<{escape_control(self.verdict)}>")

    def _repr_html_(self) -> str:
        return self.violations._repr_html_()


def check(
    release: Release | Dataset | FilePath | Iterable[Iterable[str]],
    k: int | None = None,
    m: int | None = None,
    *,
    kind: Kind | None = None,
    constraints: str | Path | None = None,
    zeros: Zeros | None = None,
    parts: bool = False,
    most: int = MOST,
) -> Check:
    """Check the guarantee of a `release`, of records, or of a file of either, and return the result.

    - `k`, `m`: the guarantee. By default the release states it.
    - `kind`: `whole` compares complete records. `negative` includes absent items. `links` looks for pairs of items
      that find a record with a probability above 1/k.
    - `constraints`: a file with the guarantee of another method, as for `decloak check`.
    - `zeros`: `allow` accepts empty cells in an itemset table. By default the release states it, else they are refused.
    - `parts`: read the records of a file in blocks, for files larger than memory: `m` up to 2.
    - `most`: the largest number of violations to list.
    """
    warnings: list[str] = []
    file = release if isinstance(release, str | Path) else None
    alone = kind is None and constraints is None and zeros is None
    if parts:
        if file is None:
            raise DecloakError("only a file is read in parts", hint="leave parts out, or give the path of a file")
        path, form, options = Path(file), "parquet", Options()
        if needs_look(path):
            reading = look(path, contents=False).sure_reading("decloak.read(path, format=...)")
            form, options = reading.format, reading.options
        parted, first = check_parts(path, form, options, k, m, most, alone=alone, flag="")
        return Check(parted.statement, (), parted.columns, first)
    found = release_of(release, warnings.append)
    if kind is not None and kind not in KINDS:
        raise DecloakError(f"no check {kind!r}", hint=f"use {', '.join(KINDS)}")
    # A release in memory knows its method, which states the guarantee more exactly than k and m.
    made_here = file is None and alone and isinstance(release, Release)
    guarantee = _stated(release, k, m) if made_here else None  # type: ignore[arg-type]
    if guarantee is None or guarantee.form != found.form:
        guarantee = fitting_guarantee(found, file, kind, constraints, flag="", zeros=zeros, k=k, m=m)
    warnings += [*guarantee.notes(found), *order_notes(found)]
    return Check(guarantee.statement, tuple(warnings), guarantee.columns, guarantee.first(found, most))


def release_of(release: object, warn: Warn = lambda line: None) -> ReleaseOfFile:
    """Return a `release` or records in memory, or the content of a file, as the release to check."""
    if isinstance(release, str | Path):
        if is_store(release):
            return read_any_release(release, STORE_KIND, Options(), warn, as_said=False)
        # Without the contents, which are read once, below.
        reading = look(release, contents=False).sure_reading("decloak.read(path, format=...)")
        return read_any_release(release, reading.format, reading.options, warn, as_said=False)
    if isinstance(release, Disassociated | Generalised | ItemsetTable):
        return release
    published = getattr(release, "published", release)  # of COAT
    if isinstance(published, Published):
        return as_labels(published)
    if is_frame(release) or isinstance(release, Dataset | Iterable):
        return as_labels(Dataset.of(release))  # type: ignore[arg-type]
    hint = "give a release, records, or the path of a file"
    raise DecloakError(f"a {type(release).__name__} is no release", hint=hint)


def _stated(release: Release, k: int | None, m: int | None) -> AnyGuarantee | None:
    """Return the guarantee of the method that made `release`; None if the release alone does not determine it."""
    from decloak.anonymisers.registry import guarantee_of

    given = {name: bound for name, bound in (("k", k), ("m", m)) if bound is not None}
    # An unknown method, or one whose protected items are not stated: k and m decide then.
    with suppress(DecloakError, KeyError):
        return guarantee_of(release.method, {**release.parameters, **given})
    return None


def fitting_guarantee(
    release: ReleaseOfFile,
    file: FilePath | None,
    kind: str | None,
    constraints: str | Path | None,
    *,
    flag: str = "--",
    zeros: str | None = None,
    **bounds: int | None,
) -> AnyGuarantee:
    """Return the guarantee to check in `release`, which was read from `file`; raise an error if it does not fit.

    It is that of a file of `constraints`, or of `bounds` k and m, given or stated by the release, or of the manifest
    beside the file. `kind` is the check that was asked for, if any. `flag` is what errors put before k and m. `zeros`
    replaces the treatment of empty cells that an itemset table states.
    """
    if zeros is not None and (release.form != FormName.ITEMSETS or constraints is not None or kind is not None):
        raise DecloakError(f"{flag}zeros is only for the cells of an itemset table", hint=f"leave {flag}zeros out")
    guarantee = _guarantee(release, file, kind, constraints, flag, zeros, bounds)
    with nullcontext() if file is None else at_location(location(file)):
        guarantee.check_fits(release)
    return guarantee


def _guarantee(
    release: ReleaseOfFile,
    file: FilePath | None,
    kind: str | None,
    constraints: str | Path | None,
    flag: str,
    zeros: str | None,
    bounds: Mapping[str, int | None],
) -> AnyGuarantee:
    # The methods and their settings take a third of the time of a short check, which needs neither.
    if constraints is not None:
        from decloak.scenario.guarantee_file import guarantee_in

        return guarantee_in(Path(constraints), **bounds)
    stated = {name: getattr(release, name) if bound is None else bound for name, bound in bounds.items()}
    if release.form == FormName.ITEMSETS and kind is None:
        return _of_table(release, file, stated["k"], zeros, flag)
    manifest = None
    # Stated bounds come first, so that the manifest is read for missing ones only.
    if file is not None and kind is None and None in stated.values():
        manifest = read_manifest(file)
    if file is not None and manifest is not None:
        from decloak.anonymisers.registry import guarantee_of

        with at_location(location(manifest_path(file))):
            given = {name: bound for name, bound in bounds.items() if bound is not None}
            return guarantee_of(manifest.method, {**manifest.parameters, **given})
    if stated["k"] is None or (stated["m"] is None and kind != "whole"):
        raise _unknown_bounds(release, flag, kind == "whole")
    if kind == "whole":
        return KAnonymity(stated["k"])
    km = {"k": stated["k"], "m": stated["m"] or 0}
    if kind == "links":
        from decloak.measure.pair_links import PairLinks

        return PairLinks(**km)
    if kind == "negative":
        return NegativeKnowledge(**km)
    return (Disassociation if release.form == FormName.DISASSOCIATED else KmAnonymity)(**km)


def _of_table(
    release: ReleaseOfFile, file: FilePath | None, k: int | None, zeros: str | None, flag: str
) -> CellSupports:
    """Return the guarantee of an itemset table; its manifest says how it treats empty cells, unless `zeros` does."""
    if k is None:
        raise _unknown_bounds(release, flag, whole=True)
    manifest = None if file is None else read_manifest(file)
    stated = release.parameters if manifest is None else manifest.parameters
    return CellSupports(k, str(zeros or stated.get("zeros", ZEROS[0])))


def needs_look(file: Path) -> bool:
    """Return True if `file` is read in parts in a format that must be detected: it is no folder and no Parquet file."""
    return not file.is_dir() and file.suffix != ".parquet"


def check_parts(
    file: Path, form: str, options: Options, k: int | None, m: int | None, most: int, *, alone: bool, flag: str = "--"
) -> tuple[KmAnonymity | Disassociation, FirstViolations]:
    """Return the guarantee, and the first `most` violations in the records or clusters of `file`, read in blocks.

    `form` and `options` say how the file is read. It is an error if the check is not `alone`, or has no `k` and `m`.
    """
    from decloak.counting.blocks import faults_in_parts, rare_in_parts
    from decloak.data.formats.blocks import Blocks, PartedData

    if not alone or k is None or m is None:
        hint = f"give {flag}k and {flag}m, and no other check"
        raise DecloakError(f"{flag}parts checks sets of up to 2 items", hint=hint)
    if form == "parquet" and (clusters := Blocks.of_clusters(file)) is not None:
        return Disassociation(k, m), faults_in_parts(clusters, str(file), k, m, most)
    data = PartedData.of_blocks(Blocks.of(file, form, options), str(file))
    return KmAnonymity(k, m), rare_in_parts(data, k, m, most)


def _unknown_bounds(release: ReleaseOfFile, flag: str, whole: bool) -> DecloakError:
    where, what = (None, "a data file") if release.origin == "memory" else (release.origin, "the release")
    what = what if flag else "the release"
    names = ("k",) if whole else ("k", "m")
    remedy = " and ".join(f"{flag}{name}" for name in names)
    return DecloakError(f"{what} does not say its {' and '.join(names)}", where, f"give {remedy}")


def read_any_release(file: FilePath, kind: str, options: Options, warn: Warn, *, as_said: bool) -> ReleaseOfFile:
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


def as_labels(data: Dataset | Published) -> "Generalised":
    """Return plain or set-generalised transactions as a release, whose items and sets in brackets are labels."""
    if isinstance(data, Published):
        rows = tuple(tuple(map(_sorted, row)) for row in data.transactions)
        return Generalised.of(replace(data, transactions=rows), *data.guarantee_bounds)
    return Generalised(data.transactions, {item: (item,) for item in data.items}, data.labels)


def _read_release(file: FilePath, options: Options) -> ReleaseOfFile:
    if options.ids:
        raise DecloakError("a release file has no ids", hint="leave --ids out")
    try:
        return read_release(file)
    except DecloakError as error:
        if re.search(r":1(:\d+)?$", error.place or ""):  # no header: likelier another kind of file than a broken one
            raise DecloakError(error.message, error.place, f"{error.hint}, or say with --input what it is") from None
        raise


def _read_store(file: FilePath) -> ReleaseOfFile:
    from decloak.releases.public_store import read_store  # 0.1 s that data files need not pay

    release = read_store(file)
    return Generalised.of(release, *release.guarantee_bounds) if isinstance(release, Published) else release


def _read_published(file: FilePath, options: Options, warn: Warn, as_said: bool) -> ReleaseOfFile:
    release = read_published(file, ids=options.ids, repeats=options.repeats)
    if not as_said:
        check_ids(file, release.transactions, options.ids)
    check_enough_items(file, release.transactions, as_said=as_said)
    for warning in order_notes(release):  # the order of members is lost below
        warn(warning)
    return as_labels(release)


def _read_plain(file: FilePath, kind: str, options: Options, warn: Warn, as_said: bool) -> ReleaseOfFile:
    data = read_fitting(file, kind, options, as_said=as_said)
    for warning in data.warnings:
        warn(f"WARNING: {warning}")
    check_enough_items(file, data.rows, as_said=as_said)
    return as_labels(data)


def _sorted(element: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return element if isinstance(element, str) else tuple(sorted(element))
