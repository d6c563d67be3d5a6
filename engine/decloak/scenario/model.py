"""What a scenario says, each key interpreted, and what its parts say against each other."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from decloak.anonymisers.registry import AnyMethod
from decloak.data.formats.folder import Folder
from decloak.data.ordering import Order
from decloak.errors import DecloakError, nearest, shown
from decloak.measure.registry import by_name, figure_titles, fitting, usual
from decloak.relate.registry import Relate
from decloak.relate.relatedness import Relatedness
from decloak.releases.attacker import Attacker
from decloak.releases.form import Form
from decloak.releases.registry import FORMS
from decloak.rules.load import bundled_names, no_rule
from decloak.rules.model import is_path
from decloak.scenario.by_form import published_form
from decloak.scenario.data import Data
from decloak.scenario.expect import Expectation
from decloak.scenario.figure import Figure
from decloak.scenario.ladder import ladder_mistakes, related_by
from decloak.scenario.parts import Attack, MeasureEntry, Repeat, family_of, missing_family, settings_part, with_controls
from decloak.scenario.plots import Plots
from decloak.scenario.sweep import compact
from decloak.yaml.part import Found, Part, checked_by
from decloak.yaml.source import Loc, Mistakes, Source

__all__ = ["DEEPEST", "Scenario", "Varying", "scenario_schema"]

VARIED = ("data", "anonymise", "relate", "attacker", "attack", "measure")
"""The parts of a scenario that may vary."""
DEEPEST = 10
"""Keys that a dotted key may join."""


def _variable(vary: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    mistakes: list[tuple[Loc, DecloakError]] = []
    for key, values in vary.items():
        mistakes.extend(((key,), error) for error in _not_variable(key, vary))
        seen: set[str] = set()
        for number, value in enumerate(map(compact, values)):
            if value in seen:
                mistakes.append(((key, number), DecloakError(f"{shown(value)} is written twice", hint="delete one")))
            seen.add(value)
    if mistakes:
        raise Mistakes(*mistakes)
    return vary


def _not_variable(key: str, vary: Mapping[str, Any]) -> Iterator[DecloakError]:
    keys = key.split(".")
    if len(keys) > DEEPEST:
        yield DecloakError(f"no key is {len(keys)} levels deep", hint=f"join at most {DEEPEST} by dots")
    elif keys[0] not in VARIED:
        near = None if keys[0] in Scenario.model_fields else nearest(keys[0], VARIED)
        hint = near or f"what may vary: {', '.join(VARIED)}"
        yield DecloakError(f"{shown(keys[0])} cannot vary", hint=hint)
    else:
        outer = [prefix for n in range(1, len(keys)) if (prefix := ".".join(keys[:n])) in vary]
        if outer:
            yield DecloakError(f"{shown(key)} lies inside {shown(outer[0])}, which varies too", hint="vary one of them")


Values = Annotated[tuple[Any, ...], Field(min_length=1)]
Vary = Annotated[dict[str, Values], AfterValidator(_variable)]
Attacks = Annotated[tuple[Annotated[str, Field(min_length=1)] | Attack, ...], Field(min_length=1)]
Expression = Annotated[str, checked_by(Expectation.parse)]


class Varying(Part):
    """What decides how many variants there are."""

    model_config = ConfigDict(extra="ignore")

    vary: Vary = Field(default_factory=dict)
    """Dotted keys and the values each takes, such as anonymise.size: [2, 4]; every combination is a variant."""
    repeat: Repeat = Repeat()
    """How often each variant is run, and from which seed."""
    report: Plots = Plots()
    """What `decloak report` draws."""
    figure: Annotated[Figure | None, Field(exclude=True)] = None
    """The figure of a paper that it repeats, for `decloak gallery`; it decides nothing of a run."""

    def mistakes(self) -> Found:
        """Plots and trends of what does not vary."""
        varied = [key for key, values in self.vary.items() if len(values) > 1]
        for number, plot in enumerate(self.report.plot or ()):
            yield from ((("report", "plot", number, *loc), error) for loc, error in plot.misplaced(varied))
        if self.figure is not None:
            yield from ((("figure", *loc), error) for loc, error in self.figure.misplaced(varied))


class Scenario(Varying):
    """How much an attacker wins back: what is published, what the attacker knows and does, what is measured."""

    model_config = ConfigDict(extra="forbid")

    scenario: str = Field(min_length=1)
    """The question in a line."""
    data: Data
    """The transactions: original, published, both, or distance tables."""
    anonymise: AnyMethod | None = None
    """How original transactions are anonymised."""
    relate: Relate | None = None
    """How the relatedness of two items is found."""
    attacker: Attacker = Attacker()
    """What the attacker knows, and how far the attacker looks."""
    attack: Literal["all"] | Attacks = "all"
    """The attacks: names of rules, paths of rule files, or rules with settings; all that come with decloak and can run
    here, if not said. Where variants publish in several forms, each is attacked and measured by what fits it."""
    measure: Annotated[tuple[MeasureEntry, ...], Field(min_length=1)] | None = None
    """What is measured; without it recovery, or accuracy and breach where the data are disassociated."""
    expect: tuple[Expression, ...] = ()
    """What must hold for the run to succeed: precision(rba) < 0.5, struck(rba) == 0, exposed_3 <= 1%. A figure of
    exposure needs no attack: it is that of the attack by which it is the largest. A percentage of a count is of what it
    is counted of. What the bounds of a figure decide is an error; what cannot be judged fails."""
    _rule_names: dict[str, str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        """Look up what the rules of files are called, by which expectations name them, and check the whole."""
        folder: Folder | None = (info.context or {}).get("folder")
        for entry in () if folder is None or self.attack == "all" else self.attack:
            rule = entry if isinstance(entry, str) else entry.rule
            if folder is not None and is_path(rule):
                with suppress(DecloakError, OSError):  # what is wrong with a rule file is said where it is planned
                    head = Source.parse(folder.text(rule), rule).value
                    if isinstance(head, dict) and isinstance(head.get("rule"), str):
                        self._rule_names[rule] = head["rule"]
        if mistakes := tuple(self.mistakes()):
            raise Mistakes(*mistakes)
        return self

    @property
    def attacks(self) -> tuple[Attack, ...]:
        return (*self.listed, *self.audits)

    @property
    def listed(self) -> tuple[Attack, ...]:
        """The attacks of the list with their settings; none as long as nobody has looked which of all can run."""
        if self.attack == "all":
            return ()
        return tuple(map(self._by_rule_name, self.attack))

    def _by_rule_name(self, entry: str | Attack) -> Attack:
        """An attack of a rule file, named after the rule."""
        attack = Attack(rule=entry) if isinstance(entry, str) else entry
        name = None if attack.label else self._rule_names.get(attack.rule)
        return attack if name is None else attack.model_copy(update={"label": name})

    @property
    def audits(self) -> tuple[Attack, ...]:
        """What runs on every release that may stand in the order of the records, as far as it is not listed.

        Where nothing is marked, what is taken for generalised stands where the attacker puts it.
        """
        ours = self.anonymise is not None
        sorted_here = ours and (self.order == "sorted" or not self.form.rows_in_order)
        if sorted_here or not (ours or self.data.anonymised) or not self.data.marked:
            return ()
        rules = {attack.rule for attack in self.listed}
        names = {attack.name for attack in self.listed}
        return tuple(
            Attack.model_validate({"rule": rule, "as": f"{rule}_audit" if rule in names else rule})
            for rule in self.form.audits
            if rule not in rules
        )

    @property
    def form(self) -> Form[Any]:
        return FORMS[published_form(self.data, self.anonymise)]

    @property
    def order(self) -> Order | None:
        """The order in which the release is made, None where somebody else made it."""
        return None if self.anonymise is None else self.anonymise.order

    @property
    def nearest(self) -> int | None:
        """How many of the nearest plain items the attacker looks at, None for all."""
        return self.attacker.nearest(self.order)

    @property
    def related_by(self) -> Relatedness | None:
        """How the attacker relates items: all measures, or those that this attacker knows of."""
        return self.relate if not self.form.related else related_by(self.relate, self.attacker, self.form)

    @property
    def control(self) -> str | Part | None:
        """The people who are not in the data, as the settings of exposure name them: `held_out`, or a file."""
        control: str | Part | None = getattr(self.settings_part("exposure"), "control", None)
        return control

    @property
    def held_out(self) -> float | Literal["control"] | None:
        """The records that are not published: the share that the attacker knows, or as many as a control needs."""
        if self.attacker.sample is not None and self.attacker.sample.share is not None:
            return self.attacker.sample.share
        return "control" if self.control == "held_out" else None

    @property
    def offline(self) -> bool:
        """Whether it goes by the counts that the store keeps, and asks for no more."""
        return self.related_by is not None and self.related_by.goes_by_kept

    @property
    def random_release(self) -> bool:
        return self.anonymise is not None and self.anonymise.random

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(map(family_of, self.measure or usual(self.form.name)))

    @property
    def listed_families(self) -> tuple[str, ...]:
        """The families that the list under measure names."""
        return tuple(map(family_of, self.measure or ()))

    @property
    def fitting(self) -> tuple[str, ...]:
        return fitting(self.form.name)

    def settings_part(self, family: str) -> Part | None:
        """Return the settings of a family, None where it has none."""
        return settings_part(family, self.measure or ())

    def settings_of(self, family: str) -> dict[str, Any]:
        """Return the settings of a family by name, defaults included."""
        part = self.settings_part(family)
        return {} if part is None else part.model_dump()

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        return tuple(map(Expectation.parse, self.expect))

    def mistakes(self) -> Found:
        """What the parts say against each other."""
        if self.vary:  # a variant has nothing left that varies
            yield from super().mistakes()
        yield from self._stages()
        yield from self._knowledge()
        yield from self._twice()
        if self.attack == "all":
            yield from self._expected(bundled_names())
            return
        # An expectation may name an attack by a rule that is misspelt: that is one mistake, not two.
        unknown = dict(self._unknown())
        yield from unknown.items()
        names = [attack.name for number, attack in enumerate(self.listed) if ("attack", number) not in unknown]
        yield from self._expected(names, all_named=len(names) == len(self.listed))
        for number, plot in enumerate(self.report.plot or ()):
            faults = plot.unmeasured(self.families, self.fitting, len(self.listed))
            yield from ((("report", "plot", number, *loc), error) for loc, error in faults)
        if self.figure is not None and not unknown:
            for loc, error in self.figure.faults(names, self._measured):
                yield ("figure", *loc), error

    def _unknown(self) -> Found:
        """Rules that there are not; those in files are looked for when the scenario is planned."""
        for number, attack in enumerate(self.listed):
            if not is_path(attack.rule) and attack.rule not in bundled_names():
                yield ("attack", number), no_rule(attack.rule, bundled_names())

    def _expected(self, attacks: Sequence[str], *, all_named: bool = True) -> Found:
        """What expectations name and there is not, each once; when a rule is unknown, any attack may be meant by it."""
        measures = tuple(dict.fromkeys([*self._measured, *figure_titles()]))
        clocked = [figure.name for figure in figure_titles().values() if figure.clock]
        released = [figure.name for figure in by_name("exposure").figures]
        bounds = {figure.name: figure.bounds_of(None) for figure in figure_titles().values()}
        reported: set[str] = set()
        for number, expectation in enumerate(self.expectations):
            # Controls run without being named, so that they are known but not listed.
            meant = [each for _, each in expectation.measures() if not all_named or each in with_controls(attacks)]
            faults = (*expectation.faults(measures, (*attacks, *meant), released), *expectation.absolute(clocked))
            faults = (*faults, *self._unmeasured(expectation)) or tuple(expectation.decided(bounds))
            for error in faults:
                if str(error) not in reported:
                    yield ("expect", number), error
                reported.add(str(error))

    @property
    def _measured(self) -> list[str]:
        """The figures of what is measured, and those that are always counted."""
        families = (by_name(name) for name in (*self.families, "findings"))
        return [figure.name for family in families for figure in family.figures]

    def _unmeasured(self, expectation: Expectation) -> Iterator[DecloakError]:
        for figure in dict.fromkeys([*expectation.alone(), *(measure for measure, _ in expectation.measures())]):
            family = missing_family(figure, self.families, self.fitting)
            if family is not None:
                yield DecloakError(f"{shown(figure)} is not measured", hint=f"add {family} to the list under measure")

    def _stages(self) -> Found:
        """Stages that the kind of data needs or leaves nothing to do."""
        if self.relate is not None and not self.form.related:
            yield ("relate",), DecloakError("distance tables need no 'relate'", hint="delete it")
        if self.anonymise is None and not self.data.anonymised:
            hint = "add it, or name the published file under data"
            yield (), DecloakError("missing key 'anonymise'", hint=hint)
        if self.anonymise is not None and self.data.anonymised:
            yield ("anonymise",), DecloakError("nothing is left to anonymise in these data", hint="delete it")
        if self.control == "held_out" and self.anonymise is None:
            message = "these data are published already: no record can be held out"
            place = ("measure", self.families.index("exposure"), "exposure", "control")
            yield place, DecloakError(message, hint="write control: FILE, records of people who are not in the data")
        for number, family in enumerate(self.families):
            if family not in self.fitting:
                hint = f"measure {' or '.join(self.fitting)}"
                message = f"{shown(family)} says nothing of {self.form.attacks} data"
                yield ("measure", number), DecloakError(message, hint=hint)

    def _knowledge(self) -> Found:
        if self.relate is not None and self.relate.closer not in self.form.closer:
            message = f"the attacks on {self.form.attacks} data go by distances"
            yield ("relate", "closer"), DecloakError(message, hint="give distances, and delete it")
        yield from ladder_mistakes(self.relate, self.attacker, made_here=self.anonymise is not None)
        if "attacker" in self.model_fields_set:
            for keys, error in self.form.misfits(self.attacker, marked=self.data.marked, order=self.order):
                yield ("attacker", *keys), error

    def _twice(self) -> Found:
        names: set[str] = set()
        for number, attack in enumerate(self.listed):
            if attack.name in names:
                hint = "name one of them: {rule: ..., as: another_name}"
                yield ("attack", number), DecloakError(f"two attacks are named {shown(attack.name)}", hint=hint)
            names.add(attack.name)
        kinds = self.families
        for number, kind in enumerate(kinds):
            if kind in kinds[:number]:
                yield ("measure", number), DecloakError(f"{shown(kind)} is measured twice", hint="delete one")


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, as editors read it."""
    schema = Scenario.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "decloak scenario"}
