"""Checks of the attacks and measures of a scenario, before anything runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.data.knowledge_levels import KnowledgeLevel
from decloak.errors import DecloakError, quote, suggest
from decloak.measure.family import Family
from decloak.measure.registry import family_named
from decloak.pipeline.inputs import Inputs
from decloak.pipeline.plan import Plan, attack_settings, knowledge_levels_of, open_bounds
from decloak.pipeline.plan import plan as plan_of
from decloak.releases.registry import FORMS
from decloak.rules.load import Catalogue, bundled_names
from decloak.rules.operators.operator import Rule
from decloak.scenario.document import Combination, Document
from decloak.scenario.model import Scenario
from decloak.scenario.sections import Attack
from decloak.scenario.sweep import compact, merged_faults
from decloak.scenario.variant import variants
from decloak.store.sandbox_guard import one_process
from decloak.yaml.source import Fault

IN_PARTS = {FormName.SET_GENERALISED: "km_violation", FormName.DISASSOCIATED: "cover"}
"""The attack that stands for all where no attack can run on records in files, by form of data: it says so."""
USUAL = {"k": 3, "m": 2}
"""The suggestion for a scenario without a level."""


@one_process()
def plans(document: Document, inputs: Inputs | None = None, *, controls: bool = True) -> list[Plan]:
    """Check everything a scenario names, and plan its variants, with the `controls` of attacks that learn."""
    inputs = inputs or Inputs(document.folder)
    folder = inputs.folder
    catalogue = Catalogue()
    document = replace(document, cases=tuple(_audited(case, catalogue, folder) for case in document.cases))
    for case in document.cases:  # first all of them, for rules may read what those below derive
        for attack in case.scenario.attacks:
            catalogue.path(attack.rule, folder)
    # The first of each variant: a fault of one attack is mostly a fault of all.
    faults = [list(islice(_faults(case, document.cases, catalogue, folder), 1)) for case in document.cases]
    if any(faults):
        raise merged_faults([case.source for case in document.cases], faults)
    # After the checks: faults have places by the number of the attack in the scenario.
    if controls:
        document = replace(document, cases=tuple(_controlled(case, catalogue, folder) for case in document.cases))
    return [plan_of(variant, inputs, catalogue) for variant in variants(document, inputs.data_of)]


def _audited(case: Combination, catalogue: Catalogue, folder: Folder) -> Combination:
    """Return a variant with all attacks that it can run if it names none, from the random one upwards."""
    scenario = case.scenario
    if scenario.attack != "all":
        return case
    if scenario.data.in_parts and (scenario.relate is None or scenario.form.name != FormName.DISASSOCIATED):
        return replace(case, scenario=scenario.model_copy(update={"attack": (IN_PARTS[scenario.form.attacks],)}))
    # The folder of a rule says which form of data it is written for.
    folder_of_form = scenario.form.attacks.replace("-", "_")
    names = [name for name in bundled_names() if catalogue.path(name).parent.name == folder_of_form]
    rules = [catalogue.rule(name) for name in names]
    attacks = [rule for rule in rules if not rule.traits.is_reference]
    if scenario.data.in_parts:
        attacks = [rule for rule in attacks if rule.traits.by_cluster]
    runnable = [rule for rule in attacks if _can_run(scenario, rule, catalogue, folder)]
    if not runnable:
        place = case.fitted.position(("attack",) if "attack" in case.source.value else ())
        message = "no included attack can run with this knowledge"
        raise DecloakError(message, str(place), "add relate to the scenario, or name attacks")
    steps = list(KnowledgeLevel)
    # Compared from the highest level down, so that more knowledge always comes later.
    runnable.sort(
        key=lambda rule: (sorted(map(steps.index, knowledge_levels_of(rule, scenario)), reverse=True), rule.name)
    )
    return replace(case, scenario=scenario.model_copy(update={"attack": tuple(rule.name for rule in runnable)}))


def _controlled(case: Combination, catalogue: Catalogue, folder: Folder) -> Combination:
    """Return a variant with the controls of its learning attacks after them, unless it names its own."""
    scenario = case.scenario
    names = {attack.name for attack in scenario.attacks}
    controls = []
    for attack in scenario.attacks:
        rule = catalogue.rule(attack.rule, folder)
        # A control has no control of its own.
        for control in rule.traits.controls if attack.control is None else ():
            label = f"{attack.name}_{control}"
            if label not in names:
                controls.append(attack.model_copy(update={"control": control, "label": label}))
    if not controls:
        return case
    return replace(case, scenario=scenario.model_copy(update={"attack": (*scenario.attack, *controls)}))


def _can_run(scenario: Scenario, rule: Rule, catalogue: Catalogue, folder: Folder) -> bool:
    if "auxiliary" in rule.reads and scenario.attacker.auxiliary_records is None:
        return False  # it would have nothing to go by
    try:
        for needed in (rule, *catalogue.needed_rules(rule)):
            _check_fits(scenario, needed)
            _check_bounds(scenario, None, needed, folder)
    except DecloakError:
        return False
    return True


def _faults(case: Combination, cases: Sequence[Combination], catalogue: Catalogue, folder: Folder) -> Iterator[Fault]:
    """Yield the faults of the attacks of a variant, each with its place in the scenario; `cases` are all variants."""
    scenario, chosen = case.scenario, case.source.value.get("attack", "all") != "all"
    listed = {str(catalogue.path(attack.rule, folder)) for attack in scenario.attacks}
    for number, attack in enumerate(scenario.attacks):
        try:
            rule = catalogue.rule(attack.rule, folder)
            if scenario.data.in_parts and chosen and not rule.traits.by_cluster:
                hint = "attack with aba, or delete parts"
                raise DecloakError(f"the rule {rule.name} needs all clusters in memory", hint=hint)
            _require_effect(attack, rule)
            _check_fits(case.scenario, rule)
            _check_bounds(case.scenario, attack, rule, folder)
            for other in catalogue.needed_rules(rule):
                _check_fits(case.scenario, other)
                # A listed rule has settings of its own, and is checked with these.
                if other.path not in listed:
                    _check_bounds(case.scenario, None, other, folder)
        except DecloakError as error:
            if error.place:  # in the file of a rule, or of a release
                raise
            place = case.fitted.position(("attack", number))
            yield place, DecloakError(error.message, str(place), error.hint)
    yield from _inapplicable_family_faults(case, cases, catalogue, folder)
    yield from _unused_auxiliary_faults(case, catalogue, folder)


def _unused_auxiliary_faults(case: Combination, catalogue: Catalogue, folder: Folder) -> Iterator[Fault]:
    """Yield a fault if the attacker has other data and no attack reads them."""
    rules = [catalogue.rule(attack.rule, folder) for attack in case.scenario.attacks]
    reads = (rule.reads for named in rules for rule in (named, *catalogue.needed_rules(named)))
    if case.scenario.attacker.auxiliary_records is not None and not any(
        "auxiliary" in relations for relations in reads
    ):
        place = case.source.position(("attacker", "auxiliary"))
        readers = [name for name in bundled_names() if "auxiliary" in catalogue.rule(name).reads]
        hint = f"attack with {' or '.join(readers)}, or delete it"
        yield place, DecloakError("no attack uses the further knowledge of the attacker", str(place), hint)


def _inapplicable_family_faults(
    case: Combination, cases: Sequence[Combination], catalogue: Catalogue, folder: Folder
) -> Iterator[Fault]:
    """Yield a fault for each family under `measure` that applies to no listed attack of any variant."""
    scenario = case.scenario
    rules = [catalogue.rule(attack.rule, folder) for attack in scenario.listed]
    everywhere = [catalogue.rule(attack.rule, folder) for other in cases for attack in other.scenario.listed]
    for number, family in enumerate(map(family_named, scenario.families if scenario.measure else ())):
        if not any(_measured_by(family, rule) for rule in everywhere):
            others = [
                name
                for name in scenario.applicable_families
                if family_named(name).depends_on_attack
                and any(_measured_by(family_named(name), rule) for rule in rules)
            ]
            attacks = [name for name in bundled_names() if _measured_by(family, catalogue.rule(name))]
            hints = [f"attack with {' or '.join(attacks)}"] if attacks else []
            hints += [f"measure {' or '.join(others)}"] if others else []
            place = case.fitted.position(("measure", number))
            message = f"the measure {quote(family.name)} does not apply to any attack of this scenario"
            yield place, DecloakError(message, str(place), ", or ".join(hints))


def _measured_by(family: Family, rule: Rule) -> bool:
    return family.applies_to(rule.model.form, rule.derives.columns)


def _require_effect(attack: Attack, rule: Rule) -> None:
    """Refuse a setting that the rule would take no notice of."""
    heeded = rule.traits.accepted_settings
    for key in ("threshold", "ratio", "k", "m"):
        if getattr(attack, key) is not None and key not in heeded:
            raise DecloakError(f"the rule {rule.name} takes no {key}", hint="delete it")
    if attack.control is not None and attack.control not in rule.traits.controls:
        choices = rule.traits.controls
        message = f"the rule {rule.name} has no control {quote(attack.control)}"
        raise DecloakError(message, hint=f"it has {', '.join(choices)}" if choices else "delete it")


def _check_fits(scenario: Scenario, rule: Rule) -> None:
    """Check that the scenario has the data and the relatedness that the operator of a rule needs."""
    form = scenario.form
    if form.name not in rule.operator.fits:
        others = " or ".join(sorted({FORMS[name].attacks for name in rule.operator.fits}))
        message = f"the rule {rule.name} attacks {others} data, these are {form.attacks}"
        raise DecloakError(message, hint="leave it out")
    if not form.related and rule.traits.learns_from_plain_items:
        message = f"the rule {rule.name} learns from plain items, distance tables have none"
        raise DecloakError(message, hint="leave it out")
    related = scenario.related_by
    if form.related and related is None and rule.traits.needs_relatedness:
        raise DecloakError(f"the rule {rule.name} needs relatedness", hint="add relate to the scenario")
    _check_climbed(scenario, rule)


def _check_climbed(scenario: Scenario, rule: Rule) -> None:
    """Check that an attack uses only the attacker's knowledge, and some source of it."""
    standing = scenario.attacker.knowledge_levels
    if standing is None:
        return
    above = [
        knowledge_level
        for knowledge_level in knowledge_levels_of(rule, scenario)
        if knowledge_level not in {*standing, KnowledgeLevel.NOTHING}
    ]
    if above:
        message = f"the rule {rule.name} takes an attacker who knows the {above[0]}"
        raise DecloakError(message, hint=f"add {above[0]} to knows under attacker, or leave the rule out")
    idle = scenario.related_by is not None and not scenario.related_by.knowledge_levels
    if idle and rule.traits.needs_relatedness and not rule.is_random and not rule.traits.learns_from_release:
        message = f"the rule {rule.name} needs relatedness, which this attacker does not have"
        raise DecloakError(message, hint="add language or sample to knows under attacker, or leave the rule out")


def _check_bounds(scenario: Scenario, attack: Attack | None, rule: Rule, folder: Folder) -> None:
    """Check that a rule that counts itemsets gets k and m. `attack` is None for a rule that another reads."""
    settings = attack_settings(attack, rule, scenario, folder, 0).model_dump()
    missing = [name for name in open_bounds(rule) if settings[name] is None]
    if missing:
        said = {"rule": rule.name} if attack is None else attack.model_dump(by_alias=True, exclude_none=True)
        whole = compact(said | {name: settings[name] or USUAL[name] for name in open_bounds(rule)})
        hint = f"add {whole} to the attacks" if attack is None else f"write {whole}"
        raise DecloakError(f"the rule {rule.name} needs {' and '.join(missing)}", hint=hint)


def selected(planned: Sequence[Plan], only: str | None) -> Sequence[Plan]:
    """Return the plans in `planned` whose titles contain `only`; all plans if it is None."""
    if only is None:
        return planned
    chosen = [plan for plan in planned if only in plan.variant.title]
    if not chosen:
        names = list(dict.fromkeys(plan.variant.name for plan in planned))
        hint = suggest(only, names) or f"its variants are {', '.join(names[:5])}{' and more' * (len(names) > 5)}"
        raise DecloakError(f"no variant has {quote(only)} in its name", "-k", hint)
    return chosen
