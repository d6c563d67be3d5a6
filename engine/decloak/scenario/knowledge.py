"""The knowledge of a scenario's attacker: the measures of relatedness that it allows, and contradictions in it."""

from collections.abc import Iterator

from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.errors import DecloakError
from decloak.relate.knowledge import measures_for_levels
from decloak.relate.ngd_sources import SampleSource
from decloak.relate.relatedness import Relatedness
from decloak.releases.attacker import Attacker
from decloak.releases.form import AnyForm
from decloak.yaml.section import ConfigErrors

__all__ = ["knowledge_errors", "related_by"]


def related_by(relate: Relatedness | None, attacker: Attacker, form: AnyForm) -> Relatedness | None:
    """Return the measures of relatedness that `attacker` has for the `form`: all of `relate`, or those on its knowledge
    levels.
    """
    if attacker.knowledge_levels is None:
        return relate
    return measures_for_levels(relate, attacker.knowledge_levels, clusters=form.knows, tables=not form.knows)


def knowledge_errors(relate: Relatedness | None, attacker: Attacker, *, made_here: bool) -> ConfigErrors:
    """Yield errors for knowledge levels without a source, and for an absent sample.

    `relate` are the measures, `made_here` is True if the scenario anonymises the data itself.
    """
    for error in _sample_errors(relate, attacker, made_here):
        yield ("attacker", "knows"), error
    knowledge_levels, listed = attacker.knowledge_levels or frozenset(), () if relate is None else relate.parts
    if KnowledgeLevel.LANGUAGE in knowledge_levels and not any(
        part.knowledge_level == KnowledgeLevel.LANGUAGE for part in listed
    ):
        message = "the scenario does not state the attacker's knowledge of language"
        yield ("attacker", "knows"), DecloakError(message, hint="add relate to the scenario, or leave language out")
    if relate is not None and relate.closer != "smaller" and len(knowledge_levels) > 1:
        message = "only distances can be combined with other knowledge"
        yield ("relate", "closer"), DecloakError(message, hint="give distances")


def _sample_errors(relate: Relatedness | None, attacker: Attacker, made_here: bool) -> Iterator[DecloakError]:
    sources = [
        part for part in (() if relate is None else relate.parts) if part.knowledge_level == KnowledgeLevel.SAMPLE
    ]
    named = any(isinstance(part, SampleSource) and part.file is not None for part in sources)
    held_out = attacker.sample is not None and attacker.sample.share is not None
    if held_out and not made_here:
        yield DecloakError("these data are published already: no record can be held out", hint="write {sample: FILE}")
    needed = KnowledgeLevel.SAMPLE in (attacker.knowledge_levels or ()) or bool(sources)
    if needed and attacker.sample is None and not named:
        hint = "write knows: [{sample: FILE}], or {sample: 0.5} to hold half of the records out"
        yield DecloakError("nothing here says which sample the attacker knows", hint=hint)
