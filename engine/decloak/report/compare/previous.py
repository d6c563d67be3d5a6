"""Compare a run with an earlier one, figure by figure: no figure may be worse.

The earlier figures are in a file of JSON Lines that `decloak run --figures` wrote, or they are of a run of the store.
A figure of exposure or loss is worse if it is larger. Other figures, such as seconds, have no better or worse.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from decloak.data.formats.lines import json_text, json_value, read_lines
from decloak.errors import DecloakError, quote
from decloak.figures import Direction, Metric
from decloak.measure.registry import metrics_by_key
from decloak.pipeline.run import Measure, RunVariant, over_repetitions
from decloak.report.wording import count, percent
from decloak.store.opening import connect_readonly
from decloak.store.results import StudyRun, attacks_of, chosen_runs, notes_of, pooled_figures

__all__ = ["Comparison", "WorseFigure", "earlier_figures", "figures_text", "not_worse", "stored_variant"]

ROUNDING = 1e-9
"""A change within the rounding of a float."""
SHAPE = "use a file that `decloak run SCENARIO --figures FILE` wrote"
_COMPARED = (Direction.EXPOSES, Direction.LOSES)
_WAYS = ("", "_release")
"""The ways of a figure that depend on the release."""
FEW = 3
"""Largest number of attacks that a line names."""


class WorseFigure(NamedTuple):
    """A figure that is worse than before, for one or more attacks; `now` is None if the run has no value of it.

    An empty `measure` stands for all figures of an attack that did not run now.

    `change` is the difference of shares, or of shares of people. For another figure it is relative to the larger value.
    """

    variant: str
    attacks: tuple[str, ...]
    measure: str
    change: float
    was: str
    now: str | None

    @property
    def text(self) -> str:
        """Return the line for people."""
        names = ", ".join(self.attacks[:FEW])
        rest = len(self.attacks) - FEW
        by = f"{names} and {rest} more" if rest > 0 else names
        title = metrics_by_key()[self.measure].title if self.measure else "all figures"
        return f"WORSE: {title} ({by}): {self.now or 'no value'}, was {self.was}"


class Comparison(NamedTuple):
    """The figures that are worse, the worst first, and the number of `compared` figures."""

    worse: tuple[WorseFigure, ...]
    compared: int


def figures_text(measures: Iterable[Measure]) -> str:
    """Return the figures that `not_worse` compares as JSON Lines."""
    return "".join(f"{json_text(measure._asdict())}\n" for measure in measures if _metric(measure) is not None)


def earlier_figures(name: str, store: Path) -> list[Measure]:
    """Return the figures in the file `name`, or of the run `name` in `store` with its variants and repetitions."""
    if name.endswith(".jsonl") or Path(name).is_file():
        return list(_read(Path(name)))
    with closing(connect_readonly(store)) as connection:
        runs = sorted(chosen_runs(connection, [name]), key=lambda run: run.variant)
        return list(over_repetitions(stored_variant(connection, run) for run in runs))


def stored_variant(connection: sqlite3.Connection, run: StudyRun) -> RunVariant:
    """Return a `run` of the store with its figures and notes."""
    figures = pooled_figures(connection, run.run)
    knows = {attack.label: attack.knows for attack in attacks_of(connection, run.run)}
    return RunVariant(
        run.run, run.variant, run.repetition, run.seed, False, figures, tuple(notes_of(connection, run.run)), knows
    )


def _read(path: Path) -> Iterator[Measure]:
    """Yield the figures in the file at `path`; raise an error at a line that is no figure."""
    known = metrics_by_key()
    for line in read_lines(path):
        value = json_value(line, SHAPE)
        if not isinstance(value, dict) or value.keys() != set(Measure._fields):
            raise line.error("not a figure of a run", SHAPE)
        texts = [value[key] for key in ("variant", "attack", "measure", "knows")]
        numbers = [value[key] for key in ("value", "low", "high", "n", "part", "of") if value[key] is not None]
        if not all(isinstance(text, str) for text in texts) or not all(map(_is_number, numbers)):
            raise line.error("not a figure of a run", SHAPE)
        if value["measure"] not in known:
            raise line.error(f"no figure {quote(value['measure'])}", f"{SHAPE}, with this version")
        yield Measure(**value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def not_worse(
    earlier: Sequence[Measure], now: Sequence[Measure], tolerance: float = 0.0, *, some: bool = False
) -> Comparison:
    """Compare the figures of `earlier` with those of `now`, by variant, attack and figure; return the worse ones.

    A figure may be worse by `tolerance`, 0.01 for one point. A figure without a value now is worse. With `some`, only
    the variants that have run now count.
    """
    variants = dict.fromkeys(measure.variant for measure in now)
    before = dict.fromkeys(measure.variant for measure in earlier)
    # One run of each is the same case, even if a setting in its name has changed.
    renamed = dict(zip(before, variants, strict=True)) if len(before) == len(variants) == 1 else {}
    values = {(measure.variant, measure.attack, measure.measure): measure for measure in now}
    ran = {key[:2] for key in values}
    found: dict[tuple[str, ...], list[WorseFigure]] = {}
    gone = Counter[tuple[str, str]]()
    compared = 0
    for old in earlier:
        metric, variant = _metric(old), renamed.get(old.variant, old.variant)
        if metric is None or old.value is None or (some and variant not in variants):
            continue
        compared += 1
        if (variant, old.attack) not in ran:
            gone[variant, old.attack] += 1
            continue
        new = values.get((variant, old.attack, old.measure))
        change = math.inf if new is None or new.value is None else _change(metric, old, new)
        if change > tolerance + ROUNDING:
            was, said = _texts(metric, old, None if change == math.inf else new)
            worse = WorseFigure(variant, (old.attack,), old.measure, change, was, said)
            # The release alone has one value for every attack.
            found.setdefault((variant, old.measure, was, said or ""), []).append(worse)
    if not compared:
        raise DecloakError("the earlier run has no figure to compare with", hint=SHAPE)
    lines = [WorseFigure(variant, (attack,), "", math.inf, f"{count} figures", None)
             for (variant, attack), count in gone.items()]  # fmt: skip
    lines += [same[0]._replace(attacks=tuple(one.attacks[0] for one in same)) for same in found.values()]
    exposes = {key for key, metric in metrics_by_key().items() if metric.direction is Direction.EXPOSES}
    lines.sort(key=lambda line: (line.now is not None, line.measure not in exposes, -line.change))
    return Comparison(tuple(lines), compared)


def _metric(measure: Measure) -> Metric | None:
    """Return the metric of a figure that has a better and a worse, None for other figures and negative controls."""
    metric = metrics_by_key()[measure.measure]
    compared = metric.direction in _COMPARED and metric.way in _WAYS and measure.knows != "control"
    return metric if compared else None


def _change(metric: Metric, old: Measure, new: Measure) -> float:
    was, now = _amount(metric, old), _amount(metric, new)
    scale = 1.0 if _is_share(metric, old, new) else max(abs(was), abs(now)) or 1.0
    return (now - was) / scale


def _is_share(metric: Metric, *measures: Measure) -> bool:
    return metric.unit == "share" or (metric.unit == "people" and all(measure.of for measure in measures))


def _amount(metric: Metric, measure: Measure) -> float:
    value = measure.value or 0.0
    return value / measure.of if metric.unit == "people" and measure.of else value


def _texts(metric: Metric, old: Measure, new: Measure | None) -> tuple[str, str | None]:
    """Return the texts of two values with as few digits as make them differ."""
    for digits in (1, 3, 6, 9):
        was, now = _text(metric, old, digits), None if new is None else _text(metric, new, digits)
        if was != now:
            break
    return was, now


def _text(metric: Metric, measure: Measure, digits: int) -> str:
    value = measure.value or 0.0
    if metric.unit == "share":
        return percent(value, digits)
    if metric.count:
        return count(value) + (f" of {count(measure.of)}" if measure.of else "")
    return f"{value:.{digits + 2}g}"
