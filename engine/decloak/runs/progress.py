"""What a run tells of how far it is, to whoever listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from decloak.runs.plan import Plan
from decloak.store.results import PooledFigure

__all__ = ["Progress", "RunVariant", "Teller"]


@dataclass(frozen=True)
class RunVariant:
    """One variant and repetition as it ran; `fresh` when anything had to be done for it."""

    run: int
    name: str
    repetition: int
    seed: int
    fresh: bool
    figures: Mapping[tuple[str, str], PooledFigure]
    notes: tuple[str, ...]
    knows: Mapping[str, str] = field(default_factory=dict)
    """The step of the ladder that each attack stands on."""

    @property
    def measures(self) -> dict[tuple[str, str], float | None]:
        return {key: figure.value for key, figure in self.figures.items()}


class Progress:
    """Told what a run is doing; this one says nothing."""

    def begin(self, variant: str, number: int, of: int) -> None:
        """A variant begins."""

    def turn(self, number: int) -> None:
        """What is told next is of the variant of this number, which has begun before."""

    def stage(self, name: str) -> None:
        """A stage of it begins."""

    def done(self, variant: str, number: int, of: int, ran: RunVariant) -> None:
        """A variant is done."""

    def without(self, variant: str, number: int, of: int) -> None:
        """A variant is passed over: there is no release."""

    def tick(self) -> None:
        """Nothing has happened for a while."""


class Teller:
    """Tells a listener what is done, each variant begun once."""

    def __init__(self, planned: Sequence[Plan], listener: Progress) -> None:
        self._numbers = {id(plan): number for number, plan in enumerate(planned, 1)}
        self._listener = listener
        self._begun: set[int] = set()
        self._last = 0
        self.tick = listener.tick

    def turn(self, plan: Plan) -> None:
        """Come to speak of a variant."""
        number = self._numbers[id(plan)]
        if number not in self._begun:
            self._begun.add(number)
            self._listener.begin(plan.variant.title, number, len(self._numbers))
        elif number != self._last:
            self._listener.turn(number)
        self._last = number

    def tell(self, plan: Plan, text: str) -> None:
        """Tell what stage of a variant is being worked on."""
        self.turn(plan)
        self._listener.stage(text)

    def done(self, plan: Plan, ran: RunVariant) -> None:
        """Tell what came of a variant."""
        self._listener.done(plan.variant.title, self._numbers[id(plan)], len(self._numbers), ran)

    def without(self, plan: Plan) -> None:
        """Tell that a variant is passed over."""
        self._listener.without(plan.variant.title, self._numbers[id(plan)], len(self._numbers))
