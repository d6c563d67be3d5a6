"""The families of measures, in the order of tables and texts. A new one is a module, and its name here, or a plugin."""

from decloak.data.forms import FormName
from decloak.figures import WAYS, Metric
from decloak.measure import (
    accuracy,
    breach,
    breakage,
    calibration,
    cost,
    coverage,
    exposure,
    guarantee,
    identifiers,
    loss,
    mining,
    recovery,
    utility,
    wmd,
)
from decloak.measure.family import Family
from decloak.plugins import with_plugins

_INCLUDED = (
    coverage.FINDINGS, identifiers.FAMILY, exposure.FAMILY, guarantee.FAMILY, recovery.FAMILY, loss.FAMILY,
    cost.FAMILY, mining.FAMILY, accuracy.FAMILY, calibration.FAMILY, breakage.FAMILY, breach.BREACH, breach.TIME,
    coverage.COVERAGE, utility.FAMILY, wmd.FAMILY,
)  # fmt: skip
FAMILIES: tuple[Family, ...] = with_plugins(
    "measures", Family, _INCLUDED, lambda family: [family.name, *(metric.key for metric in family.metrics)]
)


def family_named(name: str) -> Family:
    """Return the family with this `name`."""
    return next(family for family in FAMILIES if family.name == name)


def selectable_families() -> tuple[Family, ...]:
    """Return the families that a scenario may list; an `always` family only if it has settings."""
    return tuple(family for family in FAMILIES if not family.always_measured or family.settings is not None)


def always_measured() -> tuple[Family, ...]:
    """Return the families that every run measures."""
    return tuple(family for family in FAMILIES if family.always_measured)


def families_for(form: FormName) -> tuple[str, ...]:
    """Return the families that fit a release of this form, by name."""
    return tuple(family.name for family in selectable_families() if form in family.fits)


def families_with(figure: str) -> tuple[str, ...]:
    """Return the names of the families that have the `figure`."""
    return tuple(family.name for family in FAMILIES if figure in (metric.key for metric in family.metrics))


def metrics_by_key() -> dict[str, Metric]:
    """Return every metric by the key that the store has, in the order of tables and texts."""
    return {metric.key: metric for family in FAMILIES for metric in family.metrics}


def words_of_columns() -> dict[str, str]:
    """Return the descriptions of columns of the store."""
    return {"measurement.family": ", ".join(family.name for family in FAMILIES)}


def families_in_words() -> str:
    """Return a paragraph for every family, with a line for each figure, in the format of a command's help."""
    return "\n\n".join(map(_in_words, FAMILIES))


def _in_words(family: Family) -> str:
    helps = {key: next(iter(ways.values())).definition for key, ways in family.lines.items()}
    width = max(map(len, helps))
    lines = [f"  {name:<{width}}  {help_}" for name, help_ in helps.items()]
    endings = dict.fromkeys(metric.way for metric in family.metrics if metric.way)
    ways = [f"  {'':<{width}}  with {ending}: {WAYS[ending]}" for ending in endings]
    return "\n".join(["\b", f"{family.name}: {family.about}", *lines, *ways])
