"""Splitting of a scenario whose variants publish in several forms: attacks, measures and expectations per form.

A release gets the attacks and measures that apply to its form. An entry that applies to no variant stays everywhere, so
that its error is reported.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from pydantic import ConfigDict

from decloak.anonymisers.registry import AnyMethod
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.errors import DecloakError
from decloak.measure.registry import FAMILIES
from decloak.rules.load import Catalogue
from decloak.scenario.expect import Expectation
from decloak.scenario.published import Data
from decloak.scenario.sections import Attack
from decloak.yaml.section import ConfigSection
from decloak.yaml.source import Source, validated
from decloak.yaml.tree import Node

EVERY = frozenset(FormName)
SPLIT = ("attack", "measure", "expect")
"""The lists of a scenario that are split."""


def published_form(data: Data, method: AnyMethod | None) -> FormName:
    """Return the form of the release of `method`, or the form of published `data`."""
    return data.form if method is None or data.is_published else method.form


class _Published(ConfigSection):
    """The keys that decide the form of a release."""

    model_config = ConfigDict(extra="ignore")

    data: Data
    anonymise: AnyMethod | None = None


def split_by_form(variants: Sequence[Source], folder: Folder) -> list[Source]:
    """Return each of `variants` without entries that apply only to the form of others; unchanged if all have one form.
    Rules are in `folder`.
    """
    if len(variants) < 2:
        return list(variants)
    forms = [_form(variant, folder) for variant in variants]
    there = {form for form in forms if form is not None}
    # One form needs no split, and a faulty variant has no form yet.
    if len(there) < 2 or None in forms:
        return list(variants)
    form_filter = _FormFilter(there, folder)
    fitted = [
        form_filter.select(variant, form) for variant, form in zip(variants, forms, strict=True) if form is not None
    ]
    gone = [_names(variant) - _names(split) for variant, split in zip(variants, fitted, strict=True)]
    # An expectation about attacks that no variant has together stays everywhere, so that it gives an error.
    return [
        _filtered(split, "expect", partial(_expected_here, lost=lost, gone=gone))
        for split, lost in zip(fitted, gone, strict=True)
    ]


def _expected_here(text: object, lost: Collection[str], gone: Sequence[Collection[str]]) -> bool:
    """Return True if an expectation applies to a variant that lost some attacks, given the attacks that each lost."""
    return not _mentions(text, lost) or all(_mentions(text, attacks) for attacks in gone)


def _form(variant: Source, folder: Folder) -> FormName | None:
    """Return the form of a variant; None if it has errors, which are reported elsewhere."""
    try:
        published, _ = validated(variant, _Published, context={"folder": folder})
    except DecloakError:
        return None
    return None if published is None else published_form(published.data, published.anonymise)


class _FormFilter:
    """A filter of entries by form."""

    def __init__(self, forms: Collection[FormName], folder: Folder) -> None:
        self.forms = forms
        self.folder = folder
        self.catalogue = Catalogue()
        self.families = {family.name: family for family in FAMILIES}

    def select(self, variant: Source, form: FormName) -> Source:
        """Return `variant` with the attacks and measures that apply to `form`."""
        variant = _filtered(variant, "attack", lambda entry: self._applies(self._attack(entry), form))
        return _filtered(variant, "measure", lambda entry: self._applies(self._measure(entry), form))

    def _applies(self, fitting: Collection[FormName], form: FormName) -> bool:
        # What applies to no form stays everywhere, so that its error is reported.
        return form in fitting or not any(other in fitting for other in self.forms)

    def _attack(self, entry: object) -> Collection[FormName]:
        rule = entry.get("rule") if isinstance(entry, dict) else entry
        try:
            return self.catalogue.rule(str(rule), self.folder).operator.fits
        except DecloakError:
            # An unknown rule or measure stays in all variants, so that its error is reported.
            return EVERY

    def _measure(self, entry: object) -> Collection[FormName]:
        name = next(iter(entry), None) if isinstance(entry, dict) else entry
        return self.families[name].fits if name in self.families else EVERY


def _filtered(variant: Source, key: str, stays: Callable[[object], bool]) -> Source:
    """Return a variant with some entries of a list, without the key if the list becomes empty."""
    node = variant.root.children.get(key)
    if node is None or not isinstance(node.value, list):
        return variant
    kept = [child for child in node.children.values() if stays(child.value)]
    if len(kept) == len(node.children) or (not kept and key == "attack"):
        # A release without an attack that fits it gives an error.
        return variant
    if not kept:
        return variant.without_key(key)
    return variant.put((key,), Node.sequence(node.place, kept), variant.root.keys[key])


def _names(variant: Source) -> set[str]:
    attacks = variant.find(("attack",)).value
    entries = attacks if isinstance(attacks, list) else []
    named = (entry if isinstance(entry, dict) else {"rule": entry} for entry in entries)
    return {str(entry.get("as") or Attack(rule=str(entry.get("rule"))).name) for entry in named}


def _mentions(text: object, attacks: Collection[str]) -> bool:
    """Return True if an expectation names any of these attacks."""
    try:
        return any(attack in attacks for _, attack in Expectation.parse(str(text)).measures())
    except DecloakError:
        return False
