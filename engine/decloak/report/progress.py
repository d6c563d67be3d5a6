"""Progress of a run: a few lines at the foot of a terminal, or a line for each variant that is done.

Progress contains no item names, and of the ground truth only the precision of attacks.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from decloak.compiled import COMPILING
from decloak.errors import quote
from decloak.pipeline.progress import EXPECTED, Progress, RunVariant, duration
from decloak.report.risk_tables import short_titles
from decloak.report.terminal import say
from decloak.report.wording import WIDTH, filled
from decloak.store.results import PooledFigure

if TYPE_CHECKING:
    from rich.text import Text

SOON = 5.0
"""Seconds without a message at the start."""
HEARTBEAT = 30.0
"""Seconds without a line in a log, after which the stage at work gets one."""
OFTEN = 0.1
"""Seconds between two pictures of how far a run is."""
MOST = 6
"""Variants at work that are shown."""
RIGHT = {"precision": "eliminated", "accuracy": "assigned"}
"""Figures with a baseline, and their denominators."""

Clock = Callable[[], float]


class Display(Protocol):
    """A place where a text replaces the last one, such as `rich.live.Live`."""

    def update(self, renderable: "Text", *, refresh: bool) -> None:
        """Show `renderable`."""


def result_line(figures: Mapping[tuple[str, str], PooledFigure], knows: Mapping[str, str] | None = None) -> str | None:
    """Return the attack with the most right claims above the baseline, or None without a baseline.

    `knows` is the knowledge level of each attack; a negative control is no attack.
    """
    controls = {attack for attack, level in (knows or {}).items() if level == "control"}
    leads = []
    for (measure, attack), right in figures.items():
        chance = figures.get(("baseline", attack))
        if (
            attack not in controls
            and measure in RIGHT
            and chance is not None
            and None not in (right.value, right.whole, chance.value)
        ):
            beyond = (right.value - chance.value) * right.whole  # type: ignore[operator]
            leads.append((beyond, attack, measure, right, chance))
    if not leads:
        return None
    _, attack, measure, right, chance = max(leads, key=lambda lead: lead[0])
    claims = f"{right.whole:,.0f} {RIGHT[measure]}"
    return f"{quote(attack)[1:-1]} {measure} {right.value:.1%} ({claims}), baseline {chance.value:.1%}"


def _titled(variant: str) -> str:
    """Shorten `anonymise.k=20 #2` to `k=20, repetition 2`.

    >>> _titled("anonymise.k=20 #2")
    'k=20, repetition 2'
    """
    name, sign, repetition = variant.partition(" #")
    # `short_titles` shortens only several names.
    short, _ = short_titles([name, "another=variant"])
    return f"{short}, repetition {repetition}" if sign else short


def time_left(spent: float, done: int, left: int) -> str | None:
    """Estimate the remaining time from the time so far, or return None if it is too early."""
    if not done or not left:
        return None
    # Variants of one run take about equally long.
    return f"{duration(spent / done * left)} left"


class ProgressLines(Progress):
    """A line for each variant that is done, once a run of several takes long, and when loops are compiled.

    In a long run, the stage at work also gets a line when the log has had none for a while, and when it is expected to
    take long.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._begun = clock, clock()
        # Lines of the first seconds wait here: a short run prints none of them.
        self._waiting: list[str] = []
        self._compiles = False
        self._spoken = self._begun
        self._variant = self._stage = ""

    def begin(self, variant: str, number: int, of: int) -> None:
        self._variant = f" of {quote(_titled(variant), 80)[1:-1]} [{number}/{of}]" if of > 1 else ""

    def stage(self, name: str) -> None:
        if COMPILING in name and not self._compiles:
            self._compiles = True
            say(f"{name}; it takes up to half a minute", err=True)
        stage = f"{quote(name)[1:-1]}{self._variant}"
        if EXPECTED in name and stage != self._stage:
            # A stage that is expected to take long is named at its beginning.
            self._spoken = -HEARTBEAT
        self._stage = stage
        self._beat(stage)

    def tick(self) -> None:
        if self._stage:
            self._beat(f"still {self._stage}")

    def _beat(self, said: str) -> None:
        if (now := self._clock()) - self._spoken >= HEARTBEAT:
            self._spoken = now
            say(filled(f"after {duration(now - self._begun)}: {said}", "  "), err=True)

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        if of == 1 or not ran.fresh:
            return
        result = result_line(ran.figures, ran.knows)
        said = f": {result}" if result else ""
        title = quote(_titled(variant), max(20, WIDTH - len(f"[{number}/{of}] {said}")))[1:-1]
        self._waiting.append(f"[{number}/{of}] {title}{said}")
        # A run that ends soon prints its results alone.
        if self._clock() - self._begun >= SOON:
            self._spoken = self._clock()
            for line in self._waiting:
                say(filled(line, "  "), err=True)
            self._waiting.clear()


class StageTimes(ProgressLines):
    """Print a line for each finished variant: its number of stages of each kind, and their seconds."""

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        took = [
            f"{quote(title)[1:-1]} {sum(seconds):.2f} s" + (f" ({len(seconds)})" if len(seconds) > 1 else "")
            for title, seconds in ran.took.items()
        ]
        say(filled(f"{quote(variant, 80)[1:-1]}: {', '.join(took) or 'there already'}", "  "), err=True)


class Screen(Progress):
    """Show the running stages at the foot of a terminal, drawn by the caller with news."""

    def __init__(self, live: Display, clock: Clock = time.monotonic) -> None:
        self._live, self._clock = live, clock
        self._begun, self._drawn = clock(), 0.0
        self._at_work: dict[int, tuple[str, str]] = {}
        self._number = self._of = self._done = self._fresh = 0
        self._last: str | None = None

    def begin(self, variant: str, number: int, of: int) -> None:
        self._of = of
        self._at_work[number] = quote(variant, 80)[1:-1], "reading"
        self.turn(number)

    def turn(self, number: int) -> None:
        self._number = number

    def stage(self, name: str) -> None:
        title, _ = self._at_work.get(self._number, ("", ""))
        self._at_work[self._number] = title, quote(name)[1:-1]
        self.tick()

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        self._at_work.pop(number, None)
        self._done += 1
        self._fresh += ran.fresh
        result = result_line(ran.figures, ran.knows)
        if result is not None:
            self._last = f"{quote(variant, 80)[1:-1]}: {result}"
        self.tick()

    def without(self, variant: str, number: int, of: int) -> None:
        self._at_work.pop(number, None)
        self._done += 1
        self._last = f"{quote(variant, 80)[1:-1]}: no release"
        self.tick()

    def tick(self) -> None:
        from rich.text import Text

        now = self._clock()
        if now - self._drawn >= OFTEN:
            self._drawn = now
            self._live.update(Text("\n".join(self.lines()), no_wrap=True, overflow="ellipsis"), refresh=True)

    def lines(self) -> list[str]:
        spent = self._clock() - self._begun
        # Stored variants take no time, so that they are no measure of the others.
        left = time_left(spent, self._fresh, self._of - self._done)
        head = [f"{self._done} of {self._of} done", *([left] if left else []), f"{spent:.0f} s"]
        at_work = [f"  {number} {title}: {name}" for number, (title, name) in sorted(self._at_work.items())]
        more = [f"  and {len(at_work) - MOST} more"] if len(at_work) > MOST else []
        return [" · ".join(head), *at_work[:MOST], *more, *([f"last: {self._last}"] if self._last else [])]
