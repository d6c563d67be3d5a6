"""What of a scenario whose variants publish in several forms is of which: attacks, measures and expectations.

A release of one form is attacked by the attacks that fit it, and measured by what says something of it. What fits no
variant stays everywhere, for somebody to be told.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from pydantic import ConfigDict

from decloak.anonymisers.registry import AnyMethod
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.errors import DecloakError
from decloak.measure.registry import FAMILIES
from decloak.rules.load import Catalogue
from decloak.scenario.data import Data
from decloak.scenario.expect import Expectation
from decloak.scenario.parts import Attack
from decloak.yaml.part import Part
from decloak.yaml.source import Source, validated
from decloak.yaml.tree import Node

__all__ = ["SPLIT", "published_form", "split_by_form"]

EVERY = frozenset(FormName)
SPLIT = ("attack", "measure", "expect")
"""The lists of a scenario that are split."""


def published_form(data: Data, method: AnyMethod | None) -> FormName:
    return data.form if method is None or data.anonymised else method.form


class _Published(Part):
    """What decides the form of a release."""

    model_config = ConfigDict(extra="ignore")

    data: Data
    anonymise: AnyMethod | None = None


def split_by_form(variants: Sequence[Source], folder: Folder) -> list[Source]:
    """Each variant without what fits the form of another and not its own; as it is where all have one form."""
    forms = [_form(variant, folder) for variant in variants]
    there = {form for form in forms if form is not None}
    if len(there) < 2 or None in forms:
        return list(variants)
    fits = _Fits(there, folder)
    fitted = [fits.fitted(variant, form) for variant, form in zip(variants, forms, strict=True) if form is not None]
    gone = [_names(variant) - _names(split) for variant, split in zip(variants, fitted, strict=True)]
    # What is expected of attacks that no variant has together stays everywhere, for somebody to be told.
    return [
        _filtered(split, "expect", partial(_expected_here, lost=lost, gone=gone))
        for split, lost in zip(fitted, gone, strict=True)
    ]


def _expected_here(text: Any, lost: Collection[str], gone: Sequence[Collection[str]]) -> bool:
    """Whether an expectation is of a variant that lost some attacks, given what each lost."""
    return not _mentions(text, lost) or all(_mentions(text, attacks) for attacks in gone)


def _form(variant: Source, folder: Folder) -> FormName | None:
    """The form that a variant publishes in; None where it has mistakes, which it is told of otherwise."""
    try:
        published, _ = validated(variant, _Published, context={"folder": folder})
    except DecloakError:
        return None
    return None if published is None else published_form(published.data, published.anonymise)


class _Fits:
    """What fits which of some forms."""

    def __init__(self, forms: Collection[FormName], folder: Folder) -> None:
        self.forms = forms
        self.folder = folder
        self.catalogue = Catalogue()
        self.families = {family.name: family for family in FAMILIES}

    def fitted(self, variant: Source, form: FormName) -> Source:
        variant = _filtered(variant, "attack", lambda entry: self._stays(self._attack(entry), form))
        return _filtered(variant, "measure", lambda entry: self._stays(self._measure(entry), form))

    def _stays(self, fitting: Collection[FormName], form: FormName) -> bool:
        return form in fitting or not any(other in fitting for other in self.forms)

    def _attack(self, entry: Any) -> Collection[FormName]:
        rule = entry.get("rule") if isinstance(entry, dict) else entry
        try:
            return self.catalogue.rule(str(rule), self.folder).operator.fits
        except DecloakError:
            return EVERY

    def _measure(self, entry: Any) -> Collection[FormName]:
        name = next(iter(entry), None) if isinstance(entry, dict) else entry
        return self.families[name].fits if name in self.families else EVERY


def _filtered(variant: Source, key: str, stays: Callable[[Any], bool]) -> Source:
    """A variant with some entries of a list; without the key where none is left, and as it is where it has no list."""
    node = variant.root.children.get(key)
    if node is None or not isinstance(node.value, list):
        return variant
    kept = [child for child in node.children.values() if stays(child.value)]
    if len(kept) == len(node.children) or (not kept and key == "attack"):
        return variant  # a release that no attack fits is told of
    return (
        variant.put((key,), Node.sequence(node.place, kept), variant.root.keys[key]) if kept else variant.without(key)
    )


def _names(variant: Source) -> set[str]:
    attacks = variant.find(("attack",)).value
    entries = attacks if isinstance(attacks, list) else []
    named = (entry if isinstance(entry, dict) else {"rule": entry} for entry in entries)
    return {str(entry.get("as") or Attack(rule=str(entry.get("rule"))).name) for entry in named}


def _mentions(text: Any, attacks: Collection[str]) -> bool:
    """Whether an expectation is of any of these attacks."""
    try:
        return any(attack in attacks for _, attack in Expectation.parse(str(text)).measures())
    except DecloakError:
        return False
