"""The families of measures, in the order of tables and texts. A further one is a module, and its name here."""

from decloak.data.forms import FormName
from decloak.measure import (
    accuracy,
    breach,
    breakage,
    certain,
    cost,
    coverage,
    exposure,
    findings,
    guarantee,
    identifiers,
    loss,
    mining,
    recovery,
    timing,
    utility,
    wmd,
)
from decloak.measure.family import WAYS, Family, FigureTitle

__all__ = [
    "FAMILIES", "always", "by_name", "choosable", "families_in_words", "figure_titles", "fitting", "measuring",
    "usual", "words_of_columns",
]  # fmt: skip

_MODULES = (
    findings, identifiers, exposure, guarantee, recovery, loss, cost, mining, accuracy, certain, breakage, breach,
    timing, coverage, utility, wmd,
)  # fmt: skip
FAMILIES: tuple[Family, ...] = tuple(module.FAMILY for module in _MODULES)


def by_name(name: str) -> Family:
    return next(family for family in FAMILIES if family.name == name)


def choosable() -> tuple[Family, ...]:
    """What a scenario may list: a family that is always measured only for its settings."""
    return tuple(family for family in FAMILIES if not family.always or family.settings is not None)


def always() -> tuple[Family, ...]:
    """What is measured whatever a scenario lists."""
    return tuple(family for family in FAMILIES if family.always)


def fitting(form: FormName) -> tuple[str, ...]:
    """What a scenario may list of a release of this form, by name."""
    return tuple(family.name for family in choosable() if form in family.fits)


def usual(form: FormName) -> tuple[str, ...]:
    """What is measured of a release of this form where a scenario lists nothing, by name."""
    return tuple(name for name in fitting(form) if by_name(name).usual)


def measuring(figure: str) -> tuple[str, ...]:
    return tuple(family.name for family in FAMILIES if figure in (title.name for title in family.figures))


def figure_titles() -> dict[str, FigureTitle]:
    """Every figure by name; of one that several families have, the words of the first."""
    named: dict[str, FigureTitle] = {}
    for family in FAMILIES:
        for figure in family.figures:
            named.setdefault(figure.name, figure)
    return named


def words_of_columns() -> dict[str, str]:
    """What there is to say of columns of the store."""
    return {"measurement.family": ", ".join(family.name for family in FAMILIES)}


def families_in_words() -> str:
    """A paragraph for every family, with a line for each figure, as a command's help is written."""
    return "\n\n".join(map(_in_words, FAMILIES))


def _in_words(family: Family) -> str:
    helps = {line.key: line.help for line in family.lines}
    if not family.in_lines:
        helps = {figure.name: figure.help for figure in family.figures}
    width = max(map(len, helps))
    lines = [f"  {name:<{width}}  {help_}" for name, help_ in helps.items()]
    ways = [f"  {'':<{width}}  with {ending}: {way}" for ending, way in WAYS.items() if ending and family.in_lines]
    return "\n".join(["\b", f"{family.name}: {family.about}", *lines, *ways])
