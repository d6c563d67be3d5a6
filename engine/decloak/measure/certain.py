"""How many links an attack can tell with near certainty, how many of these are right, and of how many people."""

from collections.abc import Iterator

from decloak.data.forms import FormName
from decloak.measure.exposure_links import links_of
from decloak.measure.family import POOLED, AttackedRelease, Family, Figure, FigureTitle, Measured
from decloak.releases.held import UNKNOWN, HeldRelease
from decloak.store.probabilities import no_probabilities, probabilities

__all__ = ["FAMILY"]

NOTHING = "certain cannot be measured: {}"


def _measure(attacked: AttackedRelease[HeldRelease]) -> Measured:
    from decloak.measure.kernels.certainty import brier, certain, miscalibration, tenths

    if probabilities(attacked.connection, attacked.number) is None:
        return [], NOTHING.format(no_probabilities(attacked.connection, attacked.number))
    if attacked.release.original is None:
        return [], UNKNOWN.format("certain")
    p, right, person = links_of(attacked) or ((), (), ())
    people = len(attacked.release.original.transactions)
    figures: list[Figure] = []
    for level, findings, truly, persons in certain(p, right, person):
        name = f"certain_{round(100 * level)}"
        figures.append((POOLED, name, findings, findings, len(p)))
        figures.append((POOLED, f"{name}_right", truly / findings if findings else None, truly, findings))
        figures.append((POOLED, f"{name}_people", persons / people if people else None, persons, people))
    score, of_share = brier(p, right)
    scores = {"brier": score, "brier_chance": of_share, "miscalibration": miscalibration(p, right)}
    figures += [(POOLED, name, value, None, None) for name, value in scores.items()]
    for number, findings, sure, truly in tenths(p, right):
        figures.append((number, "tenth_p", sure / findings, sure, findings))
        figures.append((number, "tenth_right", truly / findings, truly, findings))
    return figures, None


def _titles() -> Iterator[FigureTitle]:
    for percent in (50, 80, 90, 95):
        column, name = percent == 90, f"certain_{percent}"
        yield FigureTitle(name, f"sure at .{percent}", f"links with p of .{percent} or more", count=True, column=column)
        yield FigureTitle(f"{name}_right", "sure and right", f"right ones, of links with p ≥ .{percent}", column=column)
        yield FigureTitle(f"{name}_people", "of people", f"people with a link of p ≥ .{percent}", column=column)
    yield FigureTitle("brier", "Brier", "mean square of what p is off, 0 is best", column=False)
    yield FigureTitle("brier_chance", "Brier by chance", "the same of saying the mean of all", column=False)
    yield FigureTitle("miscalibration", "off", "how far p is from the share right, by tenths; 0 is best", column=False)
    yield FigureTitle("tenth_p", "p of a tenth", "mean p of a tenth of probability (`--tables`)", column=False)
    yield FigureTitle("tenth_right", "right of a tenth", "right ones of that tenth, to lay beside it", column=False)


FAMILY = Family(
    name="certain",
    about="Links an attack is nearly certain of, by their probability p",
    figures=tuple(_titles()),
    measure=_measure,
    fits=frozenset(FormName) - {FormName.DISTANCES},
    rule_forms=frozenset({"eliminate", "reassociate"}),
)
