"""The pictures of `decloak plot`: one object per picture, which returns its panels.

The picture of reliability shows how sure attacks were, and how often they were right. Repetitions and variants are
pooled by summing counts, for a probability says the same whatever it is of.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from decloak.errors import DecloakError
from decloak.measure.registry import metrics_by_key
from decloak.report import charts
from decloak.report.page import Drawn, PageTable, Section
from decloak.report.sections import PANELS, number
from decloak.report.study import Study
from decloak.scenario.plots import ATTACK
from decloak.store.results import Sureness, attacks_of, sureness_of

Panels = list[dict[str, object]]
Options = Mapping[str, str | None]


@dataclass(frozen=True)
class Picture:
    """A kind of picture: its description, its notes, and its panels by these and by the keys of --by."""

    name: str
    about: str
    needs: tuple[str, ...]
    draw: Callable[[sqlite3.Connection, Study, Options, Sequence[str]], Panels]

    def panels(self, connection: sqlite3.Connection, study: Study, options: Options, by: Sequence[str]) -> Panels:
        """Return the panels. Missing options, and options without effect, raise an error."""
        for name, value in options.items():
            if name in self.needs and value is None:
                raise DecloakError(f"--of {self.name} needs --{name}", hint="`decloak plot --help` says what that is")
            if name not in self.needs and value is not None:
                raise DecloakError(f"--of {self.name} takes no --{name}", hint="leave it out")
        return self.draw(connection, study, options, by)


def _figure(connection: sqlite3.Connection, study: Study, options: Options, by: Sequence[str]) -> Panels:
    return charts.panels(study, options["x"] or "", options["y"] or "", by)


PICTURES = {
    picture.name: picture
    for picture in (
        Picture("figure", "a figure (--y) along what varies (--x)", ("x", "y"), _figure),
        Picture(
            "reliability",
            "share of correct findings by stated probability",
            (),
            lambda connection, study, _, by: reliability_panels(connection, study, by),
        ),
    )
}


FEW = 30
"""Findings below which the share that is right says little."""
ABOUT = (
    "On the dashed line an attack is right as often as it states. Below the line it states more than it is right. The "
    f"probabilities were computed without the originals. Hollow points are of fewer than {FEW} findings."
)
Curve = Sequence[Sureness]


def reliability_panels(connection: sqlite3.Connection, study: Study, by: Sequence[str]) -> list[dict[str, object]]:
    """Return a panel for each attack, and for each value of the keys in `by`."""
    study.check_keys("--by", by)
    curves = _curves(connection, study, [key for key in by if key != ATTACK])
    if not curves:
        raise DecloakError(
            "the calibration of these attacks was not measured", hint="add calibration to the list under measure"
        )
    return [charts.reliability(_points(curve), title, _describe_panel(title, curve)) for title, curve in curves.items()]


def reliability_section(connection: sqlite3.Connection, study: Study) -> Section | None:
    """Return the curves and the nearly certain links, or None if the runs measured no probabilities."""
    curves = _curves(connection, study)
    if not curves:
        return None
    panels = [charts.drawn(panel, "svg").decode() for panel in reliability_panels(connection, study, ())[:PANELS]]
    rows = [[attack, *_tenth(one)] for attack, curve in curves.items() for one in curve]
    caption = "Findings by the probability they were given"
    table = PageTable(caption, ["attack", "p", "findings", "mean p", "right"], rows, frozenset({2, 3, 4}))
    drawn = Drawn("The share of findings that is right, by tenths of the probability they were given.", panels, table)
    return Section("sure", "How sure the attacks are", [ABOUT], [drawn], [_certain_link_table(study, list(curves))])


def _curves(connection: sqlite3.Connection, study: Study, by: Sequence[str] = ()) -> Mapping[str, Curve]:
    """Return the curve of every attack except controls, over all runs with equal values of the keys in `by`."""
    sums: dict[tuple[str, ...], dict[int, Sureness]] = {}
    for run in study.runs:
        controls = {attack.label for attack in attacks_of(connection, run.run) if attack.control}
        for one in sureness_of(connection, run.run):
            # Controls are wrong on purpose, so that their curve says nothing of sureness.
            if one.attack not in controls:
                tenths = sums.setdefault((one.attack, *study.panel(run, one.attack, by)), {})
                before = tenths.get(one.tenth, Sureness(one.attack, one.tenth, 0, 0, 0))
                # The first two fields name the attack and the tenth.
                counts = (mine + more for mine, more in zip(before[2:], one[2:], strict=True))
                tenths[one.tenth] = Sureness(one.attack, one.tenth, *counts)
    in_order = sorted(sums, key=lambda panel: study.attacks.index(panel[0]))
    return {", ".join(panel): [sums[panel][n] for n in sorted(sums[panel])] for panel in in_order}


def _points(curve: Curve) -> list[tuple[float, float, bool]]:
    return [(one.p / one.findings, one.right / one.findings, one.findings < FEW) for one in curve]


def _describe_panel(attack: str, curve: Curve) -> str:
    """Describe a panel in words: the tenth with most findings, and the tenth with the highest probability."""
    # Both may be the same tenth.
    parts = dict.fromkeys([max(curve, key=lambda one: one.findings), curve[-1]])
    told = (f"{one.right / one.findings:.2f} of {one.findings:,.0f} given {one.p / one.findings:.2f}" for one in parts)
    return f"{attack}: right are {', and '.join(told)}"


def _tenth(one: Sureness) -> Iterator[str]:
    yield f"{one.tenth / 10:.1f} to {(one.tenth + 1) / 10:.1f}"
    yield number(one.findings, True)
    yield from (number(part / one.findings) for part in (one.p, one.right))


def _certain_link_table(study: Study, attacks: Sequence[str]) -> PageTable:
    """Return the people with a certain link by each attack, and the error of its probabilities: means over all runs."""
    keys = ("certain_links", "certain_links_people", "brier", "brier_baseline", "miscalibration")
    metrics = metrics_by_key()
    heads = ["attack", *(metrics[key].title for key in keys)]
    runs = [run.run for run in study.runs]
    rows = [
        [attack, *(number(study.mean(runs, key, attack), metrics[key].count) for key in keys)] for attack in attacks
    ]
    caption = "Certain links, and error of the probabilities" + (": means over all runs" if len(study.runs) > 1 else "")
    return PageTable(caption, heads, rows, frozenset(range(1, len(heads))))
