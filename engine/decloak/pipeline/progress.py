"""Progress of a run, reported to a listener."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from decloak.pipeline.plan import Plan
from decloak.store.results import PooledFigure

EXPECTED = ", expected to take "
"""The words between the title of a long stage and its estimated time."""


def duration(seconds: float) -> str:
    """Seconds in a round number of the unit that fits.

    >>> duration(0.2), duration(42.1), duration(150), duration(9000)
    ('about 1 s', 'about 42 s', 'about 2 min', 'about 2 h')
    """
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {max(1.0, seconds):.0f} s"


@dataclass(frozen=True)
class RunVariant:
    """One variant and repetition as it ran; `fresh` if anything had to be computed for it."""

    run: int
    name: str
    repetition: int
    seed: int
    fresh: bool
    figures: Mapping[tuple[str, str], PooledFigure]
    notes: tuple[str, ...]
    knows: Mapping[str, str] = field(default_factory=dict)
    """The knowledge level of each attack."""
    took: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """The seconds of the stages that were computed, by title."""

    @property
    def measures(self) -> dict[tuple[str, str], float | None]:
        return {key: figure.value for key, figure in self.figures.items()}


class Progress:
    """A listener to the progress of a run; this one ignores it."""

    def begin(self, variant: str, number: int, of: int) -> None:
        """Note that `variant` begins: `number` of all variants `of` the run."""

    def turn(self, number: int) -> None:
        """Note that the next stages are of the variant `number`, which has begun before."""

    def stage(self, name: str) -> None:
        """Note that the stage `name` begins."""

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        """Note that `variant`, `number` `of` all, is finished, with its results `ran`."""

    def without(self, variant: str, number: int, of: int) -> None:
        """Note that `variant`, `number` `of` all, has no release."""

    def tick(self) -> None:
        """Note that nothing has happened for a while."""


class ProgressReporter:
    """Reports to a listener which variants begin, go on and end; each begins once."""

    def __init__(self, planned: Sequence[Plan], listener: Progress) -> None:
        self._numbers = {id(plan): number for number, plan in enumerate(planned, 1)}
        self._listener = listener
        self._begun: set[int] = set()
        self._last = 0
        self.tick = listener.tick

    def turn(self, plan: Plan) -> None:
        """Report that what follows is about the variant of `plan`."""
        number = self._numbers[id(plan)]
        if number not in self._begun:
            self._begun.add(number)
            self._listener.begin(plan.variant.title, number, len(self._numbers))
        # Variants take turns where several processes work.
        elif number != self._last:
            self._listener.turn(number)
        self._last = number

    def report(self, plan: Plan, text: str) -> None:
        """Report the stage of `plan` that is being computed, or how far it is, as `text`."""
        self.turn(plan)
        self._listener.stage(text)

    def finished(self, plan: Plan, ran: RunVariant) -> None:
        """Report that the run of `plan` is finished, as `ran`."""
        self._listener.done(plan.variant.title, self._numbers[id(plan)], len(self._numbers), ran)

    def no_release(self, plan: Plan) -> None:
        """Report that there is no release for `plan`."""
        self._listener.without(plan.variant.title, self._numbers[id(plan)], len(self._numbers))
