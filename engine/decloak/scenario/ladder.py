"""What a scenario says of the ladder of attackers: the measures that its attacker knows of, and what is amiss."""

from collections.abc import Iterator

from decloak.data.rungs import Rung
from decloak.errors import DecloakError
from decloak.relate.ladder import measures_known
from decloak.relate.ngd_sources import SampleSource
from decloak.relate.relatedness import Relatedness
from decloak.releases.attacker import Attacker
from decloak.releases.form import Form
from decloak.yaml.part import Found

__all__ = ["ladder_mistakes", "related_by"]


def related_by(relate: Relatedness | None, attacker: Attacker, form: Form[object]) -> Relatedness | None:  # type: ignore[type-var]
    """How an attacker relates items: by all measures that are listed, or by those on rungs that are named."""
    if attacker.rungs is None:
        return relate
    return measures_known(relate, attacker.rungs, clusters=form.knows, tables=not form.knows)


def ladder_mistakes(relate: Relatedness | None, attacker: Attacker, *, made_here: bool) -> Found:
    """Rungs that nothing here is on, and a sample that nobody has; `made_here` where the release is."""
    for error in _of_samples(relate, attacker, made_here):
        yield ("attacker", "knows"), error
    rungs, listed = attacker.rungs or frozenset(), () if relate is None else relate.parts
    if Rung.LANGUAGE in rungs and not any(part.rung == Rung.LANGUAGE for part in listed):
        message = "nothing here tells what the attacker knows of language"
        yield ("attacker", "knows"), DecloakError(message, hint="add relate to the scenario, or leave language out")
    if relate is not None and relate.closer != "smaller" and len(rungs) > 1:
        message = "only distances go together with what else the attacker knows"
        yield ("relate", "closer"), DecloakError(message, hint="give distances")


def _of_samples(relate: Relatedness | None, attacker: Attacker, made_here: bool) -> Iterator[DecloakError]:
    sources = [part for part in (() if relate is None else relate.parts) if part.rung == Rung.SAMPLE]
    named = any(isinstance(part, SampleSource) and part.file is not None for part in sources)
    held_out = attacker.sample is not None and attacker.sample.share is not None
    if held_out and not made_here:
        yield DecloakError("these data are published already: no record can be held out", hint="write {sample: FILE}")
    needed = Rung.SAMPLE in (attacker.rungs or ()) or bool(sources)
    if needed and attacker.sample is None and not named:
        hint = "write knows: [{sample: FILE}], or {sample: 0.5} to hold half of the records out"
        yield DecloakError("nothing here says which sample the attacker knows", hint=hint)
