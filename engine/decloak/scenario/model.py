"""The model of a scenario: every key, and the contradictions between its sections."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from decloak.anonymisers.registry import AnyMethod
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.data.ordering import Order
from decloak.errors import DecloakError, quote, suggest
from decloak.measure.registry import families_for, family_named, metrics_by_key
from decloak.relate.registry import Relate
from decloak.relate.relatedness import Relatedness
from decloak.releases.attacker import Attacker
from decloak.releases.form import AnyForm
from decloak.releases.registry import FORMS
from decloak.rules.load import bundled_names, rule_names, unknown_rule_error
from decloak.rules.model import is_path
from decloak.scenario.criteria import Accept, accepted
from decloak.scenario.expect import Expectation
from decloak.scenario.knowledge import knowledge_errors, related_by
from decloak.scenario.plots import Figure, Plots
from decloak.scenario.published import Data
from decloak.scenario.sections import (
    Attack,
    MeasureEntry,
    Repeat,
    family_of,
    missing_family,
    settings_part,
    with_controls,
)
from decloak.scenario.split_by_form import published_form
from decloak.scenario.sweep import compact
from decloak.yaml.section import ConfigErrors, ConfigSection, checked_by
from decloak.yaml.source import Loc, LocatedErrors, Source

VARIED = ("data", "anonymise", "relate", "attacker", "attack", "measure")
"""The sections of a scenario that may vary."""
PARTED = ("exposure", "cost", "accuracy")
"""The families that measure data in parts."""
LONGEST_KEY = 10
"""Largest number of keys in a dotted key."""


def _variable(vary: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    mistakes: list[tuple[Loc, DecloakError]] = []
    for key, values in vary.items():
        mistakes.extend(((key,), error) for error in _not_variable(key, vary))
        seen: set[str] = set()
        # Compared as texts: to Python 1 equals true, and lists have no hash.
        for number, value in enumerate(map(compact, values)):
            if value in seen:
                mistakes.append(((key, number), DecloakError(f"{quote(value)} is written twice", hint="delete one")))
            seen.add(value)
    if mistakes:
        raise LocatedErrors(*mistakes)
    return vary


def _not_variable(key: str, vary: Mapping[str, object]) -> Iterator[DecloakError]:
    keys = key.split(".")
    if len(keys) > LONGEST_KEY:
        yield DecloakError(f"no key is {len(keys)} levels deep", hint=f"join at most {LONGEST_KEY} by dots")
    elif keys[0] not in VARIED:
        near = None if keys[0] in Scenario.model_fields else suggest(keys[0], VARIED)
        hint = near or f"what may vary: {', '.join(VARIED)}"
        yield DecloakError(f"{quote(keys[0])} cannot vary", hint=hint)
    else:
        outer = [prefix for n in range(1, len(keys)) if (prefix := ".".join(keys[:n])) in vary]
        if outer:
            yield DecloakError(f"{quote(key)} lies inside {quote(outer[0])}, which varies too", hint="vary one of them")


Values = Annotated[tuple[object, ...], Field(min_length=1)]
Vary = Annotated[dict[str, Values], AfterValidator(_variable)]
Attacks = Annotated[tuple[Annotated[str, Field(min_length=1)] | Attack, ...], Field(min_length=1)]
Expression = Annotated[str, checked_by(Expectation.parse)]


class Varying(ConfigSection):
    """The keys that decide the number of variants."""

    model_config = ConfigDict(extra="ignore")

    vary: Vary = Field(default_factory=dict)
    """Dotted keys and the values of each, such as anonymise.size: [2, 4]. Every combination is a variant."""
    repeat: Repeat = Repeat()
    """The number of repetitions of each variant, and their seed."""
    report: Plots = Plots()
    """The plots of `decloak report`."""
    figure: Annotated[Figure | None, Field(exclude=True)] = None
    """The figure of a paper that the scenario reproduces, for `decloak gallery`. A run ignores it."""

    def config_errors(self) -> ConfigErrors:
        """Yield errors for plots and trends over keys that do not vary."""
        varied = [key for key, values in self.vary.items() if len(values) > 1]
        for number, plot in enumerate(self.report.plot or ()):
            yield from ((("report", "plot", number, *loc), error) for loc, error in plot.variation_errors(varied))
        if self.figure is not None:
            yield from ((("figure", *loc), error) for loc, error in self.figure.variation_errors(varied))


class Scenario(Varying):
    """A test of a release: the data, the method, the knowledge and the attacks of the attacker, and the measures."""

    model_config = ConfigDict(extra="forbid")

    scenario: str = Field(min_length=1)
    """The question in one line."""
    data: Data
    """The records: original, published, both, or distance tables."""
    anonymise: AnyMethod | None = None
    """The method that anonymises original records."""
    relate: Relate | None = None
    """The measure of relatedness of two items."""
    attacker: Attacker = Attacker()
    """The knowledge of the attacker, and the limits of the search."""
    attack: Literal["all"] | Attacks = "all"
    """The attacks: names of rules, paths of rule files, or rules with settings. By default all bundled ones that apply.
    If variants publish in several forms, each gets the attacks and measures that apply to its form.
    """
    measure: Annotated[tuple[MeasureEntry, ...], Field(min_length=1)] | None = None
    """The families of figures to measure. By default recovery, or accuracy and breach for disassociated data."""
    expect: tuple[Expression, ...] = ()
    """Conditions under which the run succeeds: precision(rba) < 0.5, eliminated(rba) == 0, exposed_3 <= 1%. A figure of
    exposure without an attack uses the strongest attack. A percentage of a count is relative to its total. A condition
    that the bounds of a figure decide is an error. One that cannot be evaluated fails.
    """
    accept: Accept | None = None
    """The criteria that a release has to meet: public, controlled, ontario, cms, tre or nhs; a file of criteria; or a
    list of limits such as exposed_3 <= 1%, or of {figure: exposed_3, limit: 1%, reason: TEXT}. The upper end of the 95%
    interval has to be within the limit.
    """
    _rule_names: dict[str, str] = PrivateAttr(default_factory=dict)

    # It replaces the validator of the parent, which would check before the names are known.
    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        """Look up the names of rules in files, which expectations use, and check the whole scenario."""
        folder: Folder | None = (info.context or {}).get("folder")
        for entry in () if folder is None or self.attack == "all" else self.attack:
            rule = entry if isinstance(entry, str) else entry.rule
            if folder is not None and is_path(rule):
                # The plan of the run reports the fault with its place in the rule file.
                with suppress(DecloakError, OSError):
                    head = Source.parse(folder.text(rule), rule).value
                    if isinstance(head, dict) and isinstance(head.get("rule"), str):
                        self._rule_names[rule] = head["rule"]
        if mistakes := tuple(self.config_errors()):
            raise LocatedErrors(*mistakes)
        return self

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """The listed attacks and the audits."""
        return (*self.listed, *self.audits)

    @property
    def listed(self) -> tuple[Attack, ...]:
        """The attacks of the list with their settings; none for `all` before it is resolved."""
        if self.attack == "all":
            return ()
        return tuple(map(self._by_rule_name, self.attack))

    def _by_rule_name(self, entry: str | Attack) -> Attack:
        """Return an attack of a rule file, named after the rule."""
        attack = Attack(rule=entry) if isinstance(entry, str) else entry
        name = None if attack.label else self._rule_names.get(attack.rule)
        return attack if name is None else attack.model_copy(update={"label": name})

    @property
    def audits(self) -> tuple[Attack, ...]:
        """Attacks that run on every release in the order of the records, unless they are listed.

        If nothing is marked, the attacker chose the positions of the generalised items, so that an audit says nothing.
        """
        ours = self.anonymise is not None
        # Sorted releases have no order that an audit could exploit.
        sorted_here = ours and (self.order == "sorted" or not self.form.rows_in_order)
        if sorted_here or not (ours or self.data.is_published) or not self.data.marked:
            return ()
        rules = {attack.rule for attack in self.listed}
        names = {attack.name for attack in self.listed}
        return tuple(
            Attack.model_validate({"rule": rule, "as": f"{rule}_audit" if rule in names else rule})
            for rule in self.form.audits
            if rule not in rules
        )

    @property
    def form(self) -> AnyForm:
        """The form of the release."""
        return FORMS[published_form(self.data, self.anonymise)]

    @property
    def order(self) -> Order | None:
        """The order of the release, None if it was made elsewhere."""
        return None if self.anonymise is None else self.anonymise.order

    @property
    def nearest(self) -> int | None:
        """The number of nearest plain items that the attacker uses, None for all."""
        return self.attacker.nearest(self.order)

    @property
    def related_by(self) -> Relatedness | None:
        """The measures of relatedness that the attacker has."""
        return self.relate if not self.form.related else related_by(self.relate, self.attacker, self.form)

    @property
    def control(self) -> str | ConfigSection | None:
        """The people who are not in the data, as the settings of exposure name them: `held_out`, or a file."""
        control: str | ConfigSection | None = getattr(self.settings_part("exposure"), "control", None)
        return control

    @property
    def held_out(self) -> float | Literal["control"] | None:
        """The records that are not published: the share that the attacker knows, or "control"."""
        if self.attacker.sample is not None and self.attacker.sample.share is not None:
            return self.attacker.sample.share
        return "control" if self.control == "held_out" else None

    @property
    def offline(self) -> bool:
        """True if only stored counts are used, and no service is asked."""
        return self.related_by is not None and self.related_by.uses_stored_answers

    @property
    def random_release(self) -> bool:
        """True if the release depends on the seed."""
        return self.anonymise is not None and self.anonymise.is_random

    @property
    def families(self) -> tuple[str, ...]:
        """The families to measure."""
        default = tuple(name for name in families_for(self.form.name) if family_named(name).by_default)
        if self.data.in_parts:
            # Of the default families, only accuracy measures data in parts.
            default = tuple(family for family in default if family == "accuracy")
        return tuple(map(family_of, self.measure or default))

    @property
    def listed_families(self) -> tuple[str, ...]:
        """The families in the list under measure."""
        return tuple(map(family_of, self.measure or ()))

    @property
    def applicable_families(self) -> tuple[str, ...]:
        """The families that apply to the form."""
        return families_for(self.form.name)

    def settings_part(self, family: str) -> ConfigSection | None:
        """Return the settings of the family `family`, or None."""
        return settings_part(family, self.measure or ())

    def settings_of(self, family: str) -> dict[str, object]:
        """Return the settings of the family `family` by name, including defaults."""
        part = self.settings_part(family)
        return {} if part is None else part.model_dump()

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The parsed expectations."""
        return tuple(map(Expectation.parse, self.expect))

    def config_errors(self) -> ConfigErrors:
        """Yield the contradictions between the sections."""
        # A variant has nothing left that varies.
        if self.vary:
            yield from super().config_errors()
        yield from self._stages()
        yield from self._knowledge()
        yield from self._repeated_names()
        yield from self._accepted()
        if self.attack == "all":
            yield from self._expected(bundled_names())
            return
        # An expectation may name an attack by a rule that is misspelt: that is one mistake, not two.
        # Rules are checked first, because expectations refer to attacks by their rules.
        unknown = dict(self._unknown())
        yield from unknown.items()
        names = [attack.name for number, attack in enumerate(self.listed) if ("attack", number) not in unknown]
        yield from self._expected(names, all_named=len(names) == len(self.listed))
        for number, plot in enumerate(self.report.plot or ()):
            faults = plot.metric_errors(self.families, self.applicable_families, len(self.listed))
            yield from ((("report", "plot", number, *loc), error) for loc, error in faults)
        if self.figure is not None and not unknown:
            for loc, error in self.figure.reference_errors(names, self._measured):
                yield ("figure", *loc), error

    def _accepted(self) -> ConfigErrors:
        """Yield errors for criteria whose figures the run does not measure, one for each remedy."""
        remedies: dict[str, str] = {}
        for criterion in () if self.accept is None else accepted(self.accept).criteria:
            family = missing_family(criterion.figure, self.families, self.applicable_families)
            if family is not None:
                message = _missing_figure_message(criterion.figure, "criterion")
                remedies.setdefault(f"add {family} under measure", message)
            elif criterion.needs_control and self.control is None:
                control = "FILE" if self.anonymise is None else "held_out"
                message = f"the criterion {quote(criterion.figure)} needs people who are not in the data"
                remedies.setdefault(f"add {{exposure: {{control: {control}}}}} under measure", message)
        yield from ((("accept",), DecloakError(message, hint=hint)) for hint, message in remedies.items())

    def _unknown(self) -> ConfigErrors:
        """Yield errors for unknown rules. Rule files are read later, when the run is planned."""
        for number, attack in enumerate(self.listed):
            if not is_path(attack.rule) and attack.rule not in rule_names():
                yield ("attack", number), unknown_rule_error(attack.rule, rule_names())

    def _expected(self, attacks: Sequence[str], *, all_named: bool = True) -> ConfigErrors:
        """Yield an error for each unknown name in expectations, once. If a rule is unknown, it may have any name."""
        # Measured figures come first, because remedies take the first one as their example.
        measures = tuple(dict.fromkeys([*self._measured, *metrics_by_key()]))
        clocked = [key for key, metric in metrics_by_key().items() if metric.clock]
        released = [
            key for key, metric in metrics_by_key().items() if metric.of_release or "exposure" in metric.families
        ]
        bounds = {key: metric.bounds_of(None) for key, metric in metrics_by_key().items()}
        reported: set[str] = set()
        for number, expectation in enumerate(self.expectations):
            # Controls run without being named, so that they are known but not listed.
            meant = [each for _, each in expectation.measures() if not all_named or each in with_controls(attacks)]
            faults = (*expectation.faults(measures, (*attacks, *meant), released), *expectation.absolute(clocked))
            # Bounds say nothing of an expectation that names an unknown or unmeasured figure.
            faults = (*faults, *self._missing_measures(expectation)) or tuple(expectation.decided(bounds))
            for error in faults:
                if str(error) not in reported:
                    yield ("expect", number), error
                reported.add(str(error))

    @property
    def _measured(self) -> list[str]:
        """Return the figures of the measured families, and the figures that every run counts."""
        families = (family_named(name) for name in (*self.families, "findings"))
        return [metric.key for family in families for metric in family.metrics]

    def _missing_measures(self, expectation: Expectation) -> Iterator[DecloakError]:
        for figure in dict.fromkeys([*expectation.alone(), *(measure for measure, _ in expectation.measures())]):
            family = missing_family(figure, self.families, self.applicable_families)
            if family is not None:
                yield DecloakError(_missing_figure_message(figure, "expectation"), hint=f"add {family} under measure")

    def _stages(self) -> ConfigErrors:
        """Yield errors for stages that the data need, or that have nothing to do."""
        if self.relate is not None and not self.form.related:
            yield ("relate",), DecloakError("'relate' does not apply to distance tables", hint="delete it")
        if self.anonymise is None and not self.data.is_published:
            hint = "add it, or name the published file under data"
            yield (), DecloakError("missing key 'anonymise'", hint=hint)
        if self.data.in_parts:
            yield from self._parts()
        if self.anonymise is not None and self.data.is_published:
            yield ("anonymise",), DecloakError("nothing is left to anonymise in these data", hint="delete it")
        if self.control == "held_out" and self.anonymise is None:
            message = "the release is given, so no record can be held out"
            place = ("measure", self.families.index("exposure"), "exposure", "control")
            yield (
                place,
                DecloakError(message, hint="write `control: FILE` with records of people who are not in the data"),
            )
        for number, family in enumerate(self.families):
            if family not in self.applicable_families:
                hint = f"use one of {', '.join(self.applicable_families)}"
                message = f"the measure {quote(family)} does not apply to {self.form.attacks} data"
                yield ("measure", number), DecloakError(message, hint=hint)

    def _parts(self) -> ConfigErrors:
        """Yield errors for what needs all records in memory."""
        if self.anonymise is not None and not self.anonymise.splits_records:
            cut = "cut with m: 2 and a hierarchy from a file, by names, popularity or random"
            hint = f"use method: {cut}, or disassociation without refine and totals, or no parts"
            yield ("anonymise",), DecloakError("this method needs all records in memory", hint=hint)
        if self.order == "recorded":
            hint = "delete it, or delete parts"
            yield ("anonymise", "order"), DecloakError("records in parts are in random order", hint=hint)
        if self.held_out or KnowledgeLevel.PERSON in (self.attacker.knowledge_levels or ()):
            message = "an attacker of records in parts knows no sample of them and no person"
            yield ("attacker",), DecloakError(message, hint="delete attacker, or delete parts")
        unread = {"relate": self.relate is not None, "attack": self.attack != "all"}
        for key in (key for key, there in unread.items() if there and self.form.name != FormName.DISASSOCIATED):
            message = "no attack reads the records of a cut in parts, so people are counted without one"
            yield (key,), DecloakError(message, hint=f"delete {key}, or delete parts")
        for number, family in enumerate(self.listed_families):
            place, settings = ("measure", number, "exposure"), self.settings_of("exposure")
            if family == "exposure" and settings["targets"] == "all":
                yield (*place, "targets"), DecloakError("people are drawn from records in parts", hint="write a number")
            if family == "exposure" and settings["control"] is not None:
                yield (*place, "control"), DecloakError("records in parts have no control", hint="delete it")
            if family not in PARTED:
                hint = f"measure {' or '.join(PARTED)}, or delete parts"
                yield ("measure", number), DecloakError(f"{quote(family)} needs all records in memory", hint=hint)

    def _knowledge(self) -> ConfigErrors:
        if self.relate is not None and self.relate.closer not in self.form.closer:
            message = f"the attacks on {self.form.attacks} data need distances"
            yield ("relate", "closer"), DecloakError(message, hint="give distances, and delete it")
        yield from knowledge_errors(self.relate, self.attacker, made_here=self.anonymise is not None)
        if "attacker" in self.model_fields_set:
            for keys, error in self.form.unsupported_keys(self.attacker, marked=self.data.marked, order=self.order):
                yield ("attacker", *keys), error

    def _repeated_names(self) -> ConfigErrors:
        names: set[str] = set()
        for number, attack in enumerate(self.listed):
            if attack.name in names:
                hint = "name one of them: {rule: ..., as: another_name}"
                yield ("attack", number), DecloakError(f"two attacks are named {quote(attack.name)}", hint=hint)
            names.add(attack.name)
        kinds = self.families
        for number, kind in enumerate(kinds):
            if kind in kinds[:number]:
                yield ("measure", number), DecloakError(f"{quote(kind)} is measured twice", hint="delete one")


def scenario_schema() -> dict[str, object]:
    """Return the JSON Schema of scenario files, for editors."""
    schema = Scenario.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "decloak scenario"}


def _missing_figure_message(figure: str, of: str) -> str:
    return f"the {of} needs {quote(figure)}, which this run does not measure"
