"""The results of a run for Python: verdict, people exposed, frames, plots, the page."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from decloak.data.formats.writing import check_new, write_bytes, write_text
from decloak.data.frames import FrameLibrary
from decloak.data.representation import Table, counted, html_lines, html_text, shorten
from decloak.errors import DecloakError, escape_control, quote, suggest
from decloak.measure.registry import metrics_by_key
from decloak.pipeline import run as pipeline
from decloak.pipeline.run import over_repetitions
from decloak.report.compare.runs import stored_variant
from decloak.report.risk_card import ROWS
from decloak.report.study import Study, setting
from decloak.report.verdict_lines import Account, Conclusion, account_of
from decloak.scenario.plots import ATTACK
from decloak.store.opening import connect_readonly
from decloak.store.results import chosen_runs, read_runs

FIGURE = ("attack", "knows", "figure", "title", "unit", "value", "low", "high", "n", "part", "of", "baseline")
"""The columns of a figure in a frame."""
EXPOSED = (
    "original", "release", "release_low", "release_high", "after", "after_low", "after_high", "baseline", "of",
    "attack", "reason",
)  # fmt: skip


class Verdict(Conclusion):
    """The verdict, as text in `str` and in notebooks."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return shorten(f"<{self.outcome}: {escape_control(self.headline)}>")

    def _repr_html_(self) -> str:
        return html_lines(self.text)


@dataclass(frozen=True)
class Plot:
    """A drawing, shown in notebooks as SVG."""

    title: str
    spec: dict[str, object]

    def __repr__(self) -> str:
        return shorten(f"<Plot of {escape_control(self.title)}>")

    def _repr_svg_(self) -> str:
        return self._drawn("svg").decode()

    def write(self, path: str | Path) -> Path:
        """Write the drawing to `path`; its extension is .svg, .png or .pdf. Return the path."""
        path = Path(path)
        if path.suffix not in (".svg", ".png", ".pdf"):
            raise DecloakError(f"no kind of picture {quote(path.suffix)}", str(path), "use .svg, .png or .pdf")
        check_new(path)
        write_bytes(self._drawn(path.suffix[1:]), path)
        return path

    def _drawn(self, kind: str) -> bytes:
        from decloak.report import charts

        return charts.drawn(self.spec, kind)


@dataclass(frozen=True, repr=False)
class Run(pipeline.Run):
    """The results of a scenario, and their verdict.

    `variants` lists the runs in the store. `measures` has their figures over repetitions with 95% intervals, also
    over data sets of one kind. `missing` lists the variants without a release. `ok` is true if every variant has a
    release and no expectation failed.
    """

    @classmethod
    def of(cls, run: pipeline.Run) -> "Run":
        """Return the results of the pipeline with the methods for people."""
        return cls(**{field.name: getattr(run, field.name) for field in fields(pipeline.Run)})

    @classmethod
    def read(cls, store: str | Path = "store.db", *names: str | int) -> "Run":
        """Return the results of runs in `store`, without the scenario and its data.

        `names` are numbers of runs or names of variants, by default the last run. One name stands for all runs of its
        sweep. `verdicts` is empty, because a store has no expectations.
        """
        with closing(connect_readonly(store)) as connection:
            runs = chosen_runs(connection, [str(name) for name in names or ("last",)])
            variants = tuple(stored_variant(connection, run) for run in runs)
        return cls(runs[0].scenario, Path(store), variants, tuple(over_repetitions(variants)), ())

    @cached_property
    def _account(self) -> Account:
        return account_of(self.store, [variant.run for variant in self.variants])

    @property
    def verdict(self) -> Verdict:
        """The verdict about the worst variant: `outcome`, `headline` and `text`."""
        return Verdict(*self._account.verdict)

    @property
    def exposure(self) -> Table:
        """The people that each variant exposes: in the original data, in the release and after an attack."""
        cells = ((card, row, card.as_json()[row.key]) for card in self._account.cards for row in ROWS)
        rows = [(card.variant, row.key, row.title, *map(cell.get, EXPOSED)) for card, row, cell in cells]
        return Table(
            f"People exposed by {quote(self.scenario, 100)}", ("variant", "figure", "title", *EXPOSED), tuple(rows)
        )

    def frame(
        self,
        figure: str | None = None,
        attack: str | None = None,
        *,
        repetitions: bool = False,
        library: FrameLibrary | None = None,
    ) -> object:
        """Return all figures as a long frame, a row for each figure of each attack of each variant.

        `value` is a mean over `n` repetitions with the bounds `low` and `high` of its 95% interval. `part` and `of` are
        the counts behind it, and `baseline` is the result of random guessing. With `repetitions` each repetition has
        rows of its own. `figure` and `attack` select rows. `library` is pandas or polars.
        """
        figures = {measure.measure for measure in self.measures}
        attacks = {measure.attack for measure in self.measures}
        for name, known, what in ((figure, figures, "figure"), (attack, attacks, "attack")):
            if name is not None and name not in known:
                hint = suggest(name, known) or f"known here: {', '.join(sorted(known))}"
                raise DecloakError(f"this run has no {what} {quote(name)}", hint=hint)
        keys = tuple(self._study.varied)
        first = ("variant", *keys, *(("run", "repetition", "seed") if repetitions else ()))
        rows = self._repeated_rows(keys) if repetitions else self._mean_rows(keys)
        at = len(first)
        chosen = [row for row in rows if figure in (None, row[at + 2]) and attack in (None, row[at])]
        return Table("", (*first, *FIGURE), tuple(chosen)).to_frame(library)

    @property
    def _study(self) -> Study:
        return self._account.study

    def _settings(self, keys: Sequence[str]) -> dict[str, tuple[object, ...]]:
        """Return the values of the keys that vary, by variant."""
        return {run.variant: tuple(setting(run.config, key) for key in keys) for run in self._study.runs}

    def _mean_rows(self, keys: Sequence[str]) -> Iterator[tuple[object, ...]]:
        values = {(one.variant, one.measure, one.attack): one.value for one in self.measures}
        settings, metrics = self._settings(keys), metrics_by_key()
        for one in self.measures:
            key = _baseline_key(one.measure)
            baseline = None if key is None else values.get((one.variant, key, one.attack))
            metric = metrics[one.measure]
            yield (
                one.variant, *settings.get(one.variant, (None,) * len(keys)), one.attack, one.knows, one.measure,
                metric.title, metric.unit, one.value, one.low, one.high, one.n, one.part, one.of, baseline,
            )  # fmt: skip

    def _repeated_rows(self, keys: Sequence[str]) -> Iterator[tuple[object, ...]]:
        settings, metrics = self._settings(keys), metrics_by_key()
        for ran in self.variants:
            for (name, attack), one in ran.figures.items():
                key, metric = _baseline_key(name), metrics[name]
                baseline = None if key is None else ran.figures.get((key, attack))
                yield (
                    ran.name, *settings[ran.name], ran.run, ran.repetition, ran.seed, attack, ran.knows.get(attack),
                    name, metric.title, metric.unit, one.value, None, None, 1, one.part, one.whole,
                    None if baseline is None else baseline.value,
                )  # fmt: skip

    def plot(self, figure: str, x: str | None = None, by: Sequence[str] | None = None) -> Plot:
        """Plot `figure` along `x`, the first key that varies or `attack`, with a panel for each value of `by`."""
        from decloak.report import charts

        study = self._study
        varied = [*study.varied, *([ATTACK] if len(study.attacks) > 1 else [])]
        along = x or next(iter(varied), ATTACK)
        panel_keys = [key for key in varied if key != along] if by is None else by
        try:
            panels = charts.panels(study, along, figure, panel_keys)
        except DecloakError as error:  # it names the options of the command line
            raise DecloakError(error.message, hint=(error.hint or "").replace("--", "") or None) from None
        return Plot(f"{figure} along {along}", charts.grid(panels))

    def report(self, path: str | Path, *, evidence: bool = False, originals: bool = False) -> Path:
        """Write the HTML page about this run to `path` and return it.

        `evidence` adds findings with item names, and `originals` adds original items. Such a page is confidential.
        """
        from decloak.report.assemble import page_of
        from decloak.report.page import rendered

        path = Path(path)
        # Before the work: a page of a large store takes long.
        check_new(path)
        with closing(connect_readonly(self.store)) as connection:
            runs = read_runs(connection, [variant.run for variant in self.variants])
            page = page_of(connection, self.store, runs, evidence=evidence, originals=originals)
        write_text(rendered(page), path, private=originals)
        return path

    def number(self, variant: str | int | None = None) -> int:
        """Return the number of the last run of `variant`, a name or a number; a single variant needs no name."""
        numbers = {ran.run: ran.name for ran in self.variants}
        if variant is None and len(set(numbers.values())) == 1:
            return max(numbers)
        found = [number for number, name in numbers.items() if variant in (number, name)]
        if found:
            return found[-1]
        names = list(dict.fromkeys(numbers.values()))
        message = "which variant is not said" if variant is None else f"no variant {quote(variant)}"
        raise DecloakError(message, hint=suggest(str(variant), names) or f"variant= one of {', '.join(names)}")

    def __repr__(self) -> str:
        return shorten(
            f"<Run of {quote(self.scenario, 100)} in {quote(self.store, 200)}: {counted(len(self.variants), 'run')}, "
            f"{len(self.measures)} figures, ok={self.ok}>"
        )

    def _repr_html_(self) -> str:
        """Return the verdict, the people exposed and the expectations; nothing is fetched."""
        # The store may be gone by now, and a notebook still needs a line to show.
        if not self.store.exists():
            return f"<p>{html_text(repr(self))}</p>"
        judged = "".join(f"<li>{html_text(one.text, 500)}</li>" for one in self.verdicts)
        expected = f"<p>Expectations</p><ul>{judged}</ul>" if judged else ""
        return f"<div>{self.verdict._repr_html_()}{self.exposure._repr_html_()}{expected}</div>"


def _baseline_key(figure: str) -> str | None:
    """Return the key of the figure of random guessing."""
    # Both are compared with one baseline; other figures have a key of their own for it.
    if figure in ("precision", "accuracy"):
        return "baseline"
    metric = metrics_by_key()[figure]
    return f"{figure}_baseline" if metric.way == "" and "_baseline" in metric.ways else None
